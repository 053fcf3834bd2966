"""Adds documents: load, plan, cut into segments, build the layers, write.

Open ``ingest.py`` first: it connects the stages, each of which is a module (``sources``, ``planning``, ``segmenting``,
``graph_building``, ``layer_building``, ``graph_writing``). A build pool runs the models here or on a Ray cluster.
This room never answers a question, and never calls a model inside a transaction.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
