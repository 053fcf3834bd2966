"""How a question is answered: choose a strategy, read, decide whether to answer, write, cite.

Open ``answer.py`` first: it is the one loop that runs a strategy within its limits. ``refusal`` finds reasons not to
answer, ``evidence`` gathers the segments that an answer may cite, ``update_graph`` extracts what a question lacks.
This room reads one snapshot of the graph a question. It never writes, except what ``keep_trace`` and a learning
question ask for.
"""
