"""Fitting the curve of relevance: it finds the curve that made the data, and a whole run with fakes."""

from __future__ import annotations

from pathlib import Path

import fit_relevance
import numpy as np
import pytest
from memories import fakes

from memgraph_rag.types import RelevanceCurve


def test_the_curve_that_made_the_data_is_found() -> None:
    rng = np.random.default_rng(1)
    curve = RelevanceCurve(half=0.5, slope=8.0)
    cosines = rng.uniform(-0.1, 0.9, 4000)
    pairs = np.stack([cosines, rng.random(4000) < [curve.read(cosine) for cosine in cosines]], axis=1).astype(float)
    fitted = fit_relevance.fit(pairs)
    assert fitted.half == pytest.approx(0.5, abs=0.03)
    assert fitted.slope == pytest.approx(8.0, abs=1.0)

    cells = [float(cell.split()[0]) for cell in fit_relevance.told(pairs, fitted)]
    number, share, area, brier, of_one_share = cells[:5]
    assert (number, share) == (4000, pytest.approx(100 * pairs[:, 1].mean(), abs=0.5))
    assert area > 0.85
    assert brier < 0.7 * of_one_share


def test_folders_become_a_curve_and_rows(paragraphs: Path, talk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit_relevance.main([str(paragraphs), "--held-out", str(talk)], **fakes()) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("half ")
    assert [line.split(" | ")[0] for line in printed[-2:]] == ["| paragraphs", "| talk (held out)"]
    assert fit_relevance.main([str(paragraphs / "none")], **fakes()) == 1
