"""Faster passes on a GPU: CUDA graphs, and attention over rows of unequal length.

Open ``cuda_graphs.py`` first. Each module has a slower twin in the engine that computes the same numbers.
"""
