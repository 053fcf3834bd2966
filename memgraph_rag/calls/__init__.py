"""What each public call passes first: its arguments are checked, its scope is resolved, its record is logged.

Open ``validation.py`` for a refused argument, ``scopes.py`` for what a user, session or time comes to in a store,
``document_lookup.py`` for which document a name means. This room knows the store only through its contract, and never
calls a model.
"""
