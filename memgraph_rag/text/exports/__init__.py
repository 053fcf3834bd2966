"""Exports of other programs, read as documents: chats and mail, a module each.

Open ``formats.py`` first: it recognises an export and yields its conversations. ``export_files.py`` reads archives and
folders within limits, and ``conversations.py`` turns messages into documents. This room never knows a model or a store.
"""
