"""Readers of what other programs keep: sessions of coding agents, exports of chats.

Open ``agent_session`` first for coding agents. Each format is a module with a function that yields sessions. The room
knows files, and no store. Invariant: a line that has another form is passed over, never an error.
"""
