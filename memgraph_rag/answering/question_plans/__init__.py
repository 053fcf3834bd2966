"""Question plans: a question is taken apart by code, its parts are searched and read, and code puts them together.

Open ``comparison.py`` first. Invariant: a plan holds only words of the question, of names in it, and of values that the
model copied from what it read.
"""
