"""Ladybug: the store in one file of the embedded database.

Read ``store.py`` first. ``file.py`` holds the connection, and ``lock.py`` the lock of the file.
"""
