"""Texts and places in them: loading, splitting, citations.

Open ``loading.py`` first: it turns what a user gives into a document. ``splitting.py`` cuts a document into segments,
``citations.py`` finds the sentences that an answer rests on. This room never knows a model or a database.
"""
