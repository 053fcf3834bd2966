"""The benchmarks are scripts that stand beside their own modules; here they are found in the same way."""

from __future__ import annotations

import sys
from pathlib import Path

from question_folders import paragraphs, talk

__all__ = ["paragraphs", "talk"]

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

if (BENCHMARKS / "retrieval.py").is_file():
    sys.path.insert(0, str(BENCHMARKS))
else:  # in a source distribution, which has only the model that tests compare with
    collect_ignore_glob = ["test_*.py"]
