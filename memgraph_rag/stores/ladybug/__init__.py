"""Ladybug: the store in one file of the embedded database.

Read ``store.py`` first. ``file.py`` holds the connection, and ``lock.py`` the lock of the file.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
