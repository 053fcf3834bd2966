"""Layer ``library``: overviews over the documents of a memory.

Open ``library.py`` first: the layer. ``tree`` decides which documents are under which overview, ``shelf`` holds what
the builder knows, ``prose`` asks a language model for the texts.
"""
