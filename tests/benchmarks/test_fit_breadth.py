"""The fit of what tells questions about a whole, by the packaged embedder and the questions that come with it."""

from __future__ import annotations

import re

import fit_breadth
import pytest


@pytest.mark.slow
def test_vectors_tell_held_back_questions_better_than_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert fit_breadth.main([]) == 0
    rows = re.findall(r"\| held back: (\w+) \| 120 \| ([\d.]+) .*?\| ([\d.]+) .*?\|", capsys.readouterr().out)
    told = {kind: (float(by_rules), float(by_fit)) for kind, by_rules, by_fit in rows}
    assert told["whole"][1] > told["whole"][0] + 40
    assert told["passage"][1] < 10
