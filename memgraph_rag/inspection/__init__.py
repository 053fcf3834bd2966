"""Reads a memory for people: documents by name, lists of documents, the neighbourhood of a node.

Open ``neighbourhood.py`` for the nodes around a node, and ``document_reading.py`` for documents and lists. This room
never changes a memory.
"""
