"""Optional derived parts of the graph, a module for each layer: text in, rows out.

Open ``entities.py`` first: the smallest layer. ``points.py`` and ``relations.py`` ask a language model; ``library`` is
a layer over all documents of a memory. This room never sees a database.
"""
