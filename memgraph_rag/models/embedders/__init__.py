"""Embedders, which turn texts into vectors, with sentence-transformers or on a server.

Open ``embedder.py`` first. This room does not know where the texts come from.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
