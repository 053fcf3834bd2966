"""Words and sentences: names, dates, tokens, keyword scores, spelling, and what short replies of a model name.

Open ``names.py`` for how the graph compares names, ``bm25.py`` for keyword scores, ``tokenize.py`` for words.
This room never knows a model, a graph or a database.
"""
