"""Ladybug: the store in one file of the embedded database.

Read ``store.py`` first. ``file.py`` holds the connection, ``lock.py`` the lock of the file, and ``log.py`` mends a torn
log. The statements on the graph are in ``cypher``; ``probe`` and ``rewrite`` build theirs from the names of the tables.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
