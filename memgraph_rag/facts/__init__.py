"""Facts about users: read from turns, used to order search results and to remark on segments.

Read ``statements.py`` first: it reads a clause by plain English forms. ``layer`` stores what it reads as annotations.
``fact_search`` is the search of a memory; ``fact_index`` keeps the facts of a namespace in memory and decides which
hold; ``holding`` and ``likeness`` order results by it; ``wishes`` finds instructions; ``remarks`` tells the reading
model which statements no longer hold. The package never calls a language model.
"""
