"""The language model in this process: it writes, reads nodes into its KV cache, and measures its attention.

Read ``reference.py`` first: it has the same computations, plain and slow, on one page. Then read ``language_model.py``
(load, write), ``session.py`` (read) and ``attention.py`` (measure). ``shared_writing`` and ``shared_batches`` join the
work of several threads, and ``cuda`` replays passes on a GPU. This room does not know a graph or a database.
"""
