"""The systems of papers: one folder for each system, a plug-in that an entry point of this distribution names.

Open ``raptor`` first: it has a layer and two strategies in three modules. Each folder has a page, ``README.md``.
Invariant: no other package imports a system, and no system imports another system.
"""
