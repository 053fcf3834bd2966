"""The layer ``library``: overviews over the documents of a memory.

Read ``library.py`` first; it holds the layer. ``tree`` decides which documents each overview covers, and ``shelf``
holds the documents' vectors and texts.
"""
