"""The systems of papers: a folder each, plug-ins that the entry points of this distribution name.

Invariant: no room imports a system, and no system imports another one.
"""
