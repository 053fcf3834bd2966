"""What is stored, for people who look: documents by name, lists of documents, the surroundings of a node.

Open ``neighbourhood.py`` for what surrounds a node, ``document_reading.py`` for documents and lists. This room never
changes a memory.
"""
