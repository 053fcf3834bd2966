"""The scorecard: questions with known answers and evidence, asked of a memory, scored, with what they cost.

It uses the public API only. Invariant: what was measured once is kept as it came, and scores are computed from that.
"""
