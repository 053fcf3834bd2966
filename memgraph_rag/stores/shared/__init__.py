"""What both engines share: statements, rows, checks, reads and writes, over a connection that the engine gives.

Open ``stored_graph.py`` first, then ``graph_reads.py`` and ``graph_writes.py``. This room never imports a driver.
"""
