"""Models around models: replies checked, tokens counted and limited.

Open ``forwarding.py`` first: the base that passes on what a wrapper does not change.
"""
