"""The first steps of each public call: check its arguments, resolve its scope, log what it did.

Open ``validation.py`` for the checks of arguments, ``scopes.py`` for the documents that a scope selects, and
``document_lookup.py`` for the document that a name means. This room knows the store only through its contract, and
never calls a model.
"""
