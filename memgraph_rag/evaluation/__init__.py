"""The scorecard: ask a memory questions with known answers and evidence, and report scores and costs.

Open ``runs.py`` first: it asks the questions. ``dataset.py`` reads a set, ``scores.py`` computes scores from outcomes,
``report.py`` formats tables. This room uses the public API only. Invariant: a stored outcome is never changed.
"""
