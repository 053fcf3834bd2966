"""The scorecard: questions with known answers and evidence, asked of a memory, scored, with what they cost.

It uses the public API only. Invariant: an outcome is kept as it was measured, and scores are computed from it.
"""
