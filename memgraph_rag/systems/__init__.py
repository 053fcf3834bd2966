"""The systems of papers: a folder for each, plug-ins that the entry points of this distribution name.

Open ``raptor`` first: a layer and two strategies in three modules. Each folder has a page, ``README.md``. Invariant: no
room imports a system, and no system imports another one.
"""
