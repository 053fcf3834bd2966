"""How a document comes in: load, plan, cut into segments, build the layers, write.

Open ``ingest.py`` first: it joins the stages, a module each (``sources``, ``planning``, ``segmenting``,
``graph_building``, ``layer_building``, ``graph_writing``). A build pool runs the model work here or on a Ray cluster.
This room never answers a question, and never calls a model inside a transaction.
"""
