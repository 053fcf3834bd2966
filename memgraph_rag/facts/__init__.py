"""What holds of a user: from reading a turn to ordering search results and remarking on segments.

Open ``layer.py`` first: it stores as annotations what ``grammar`` reads in a turn. ``fact_search`` is the search of a
memory; ``fact_index`` keeps the facts of a namespace in memory and decides which hold; ``holding`` and ``likeness``
put what holds first; ``wishes`` finds instructions; ``remarks`` tells the reading model what no longer holds.
This room never calls a language model.
"""
