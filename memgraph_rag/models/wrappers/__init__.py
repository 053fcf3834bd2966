"""Wrappers of models, which check replies, and count and limit tokens.

Open ``forwarding.py`` first: the base class, which passes on everything that a wrapper does not change.
"""
