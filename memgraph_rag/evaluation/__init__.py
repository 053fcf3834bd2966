"""The scorecard: questions with known answers and evidence, asked of a memory, scored, with what they cost.

Open ``runs.py`` first: it asks the questions. ``dataset.py`` reads a set, ``scores.py`` computes from outcomes,
``report.py`` prints. This room uses the public API only. Invariant: an outcome is kept as it was measured.
"""
