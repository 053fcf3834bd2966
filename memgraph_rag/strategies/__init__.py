"""The strategies, by which ``ask`` reads a memory.

Open ``walk.py`` first: the default. This room never opens a store or a model: the reading context gives a strategy
its graph, its search and its reading session. Invariant: the rest of the library knows a strategy only through the
table of ``known_strategies`` and the contract; users may bring their own.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
