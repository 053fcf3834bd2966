"""Reads a memory for people: documents by name, lists of documents, the neighbourhood of a node, a map of all.

Open ``neighbourhood.py`` for the nodes around a node, ``document_reading.py`` for documents and lists, and
``memory_map.py`` for the map. This room never changes a memory.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
