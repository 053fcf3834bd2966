"""English rules that read attribute and value from a clause.

Read ``statements.py`` first: it tries the frames and the parse in their order. The package knows no memory.
"""
