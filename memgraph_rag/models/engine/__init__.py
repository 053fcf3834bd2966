"""The language model in this process: it writes, reads nodes into its KV cache, and measures attention meanwhile.

Read ``reference.py`` first: the same computations, plain and slow, on one page. Then ``language_model.py`` (load,
write), ``session.py`` (read) and ``attention.py`` (measure). ``shared_writing`` and ``shared_batches`` join the work of
several threads; ``cuda`` replays passes on a GPU. This room never knows a graph or a database.
"""
