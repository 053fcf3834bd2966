"""The statements, rows, checks, reads and writes that both engines share, over a connection of the engine.

Read ``stored_graph.py`` first, then ``graph_reads.py`` and ``graph_writes.py``. This room never imports a driver.
"""
