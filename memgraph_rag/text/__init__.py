"""Texts and places in them: loading, splitting, citations.

Open ``loading.py`` first: it turns what a user gives into a document. ``splitting.py`` cuts a document into segments,
``citations.py`` finds the sentences that an answer rests on. This room never knows a model or a database.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
