"""Where the small sample of the evaluation sets is; its README.md says what it holds and how it was drawn."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DATA", "DATA_HELP", "TEXT"]

DATA = Path(__file__).with_name("data")
"""The sample."""

TEXT = DATA / "alice_11.txt"
"""A whole book in the public domain, Alice's Adventures in Wonderland."""

DATA_HELP = "folders of a question set; benchmarks/data has samples of 20 questions, its README.md names the full sets"
