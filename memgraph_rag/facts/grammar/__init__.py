"""English rules that read attribute and value out of a clause.

Open ``statements.py`` first: it tries the frames and the parse in their order. This room never knows a memory.
"""
