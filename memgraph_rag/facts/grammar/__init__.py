"""English rules that read attribute and value from a clause.

Read ``statements.py`` first: it tries the rules in their order. The package knows no memory.
"""
