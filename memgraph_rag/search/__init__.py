"""Search for segments without a language model: a graph reader in, evidence out.

Open ``segments.py`` first: all modes. ``graph.py`` is the default mode, ``ranking.py`` orders its candidates,
``index.py`` is the part of a namespace that is kept in memory. This room never reads a fact or a setting.
"""
