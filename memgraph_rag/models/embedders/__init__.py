"""Embedders: texts to vectors, with sentence-transformers or by a server.

Open ``embedder.py`` first. This room never knows what the texts are.
"""
