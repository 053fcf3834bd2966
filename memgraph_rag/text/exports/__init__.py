"""Exports of other programs, read as documents: chats, mail, notes and sessions of coding agents, a module each.

Open ``formats.py`` first: it recognises an export and yields its conversations. ``export_files.py`` reads archives and
folders within limits, ``conversations.py`` turns messages into documents, and ``agent_session.py`` is the common form
of the coding agents' sessions. This room never knows a model or a store.
"""
