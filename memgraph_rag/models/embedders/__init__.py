"""Embedders, which turn texts into vectors, with sentence-transformers or on a server.

Open ``embedder.py`` first. This room does not know where the texts come from.
"""
