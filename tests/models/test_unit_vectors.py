"""Embedders of users' own need not give rows of length 1; the store holds no others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from memories import options

from memgraph_rag import Memory
from memgraph_rag.errors import ModelError
from memgraph_rag.models.embedders.unit_vectors import units
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.types import Matrix


class Scaled(FakeEmbedder):
    """Rows of another length; 0 is none at all."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self._factor = factor

    def embed(self, texts: Sequence[str]) -> Matrix:
        return super().embed(texts) * np.float32(self._factor)


def test_rows_of_length_1_stay_bit_for_bit() -> None:
    rows = FakeEmbedder().embed(["A red fox.", "It rained for nine days.", "Ann"])
    assert units(rows).tobytes() == rows.tobytes()
    np.testing.assert_allclose(units(rows * 7), rows, atol=1e-6)
    assert units(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_rows_without_direction_stay() -> None:
    rows = np.array([[0, 0], [np.nan, 1], [np.inf, 1], [3, 4]], np.float32)
    np.testing.assert_array_equal(units(rows)[:3], rows[:3])


@pytest.mark.parametrize("factor", [1e-6, 0.996, 1.0, 1000.0])
def test_embedder_of_other_lengths_finds_the_same(tmp_path: Path, factor: float) -> None:
    scores = []
    for name, embedder in (("usual", FakeEmbedder()), ("scaled", Scaled(factor))):
        with Memory(tmp_path / f"{name}.lbug", **options(embedder=embedder, layers=("entities",))) as memory:
            memory.add("Ann found a red fox in the barn.", key="fox")
            memory.add("It rained for nine days.", key="rain")
            scores.append(
                [(evidence.document_key, evidence.score) for evidence in memory.search("red fox", mode="vector")]
            )
            assert memory.maintenance.examine() == []
            memory.maintenance.export_to(tmp_path / f"{name}.jsonl")
    assert [key for key, _ in scores[0]] == [key for key, _ in scores[1]]
    np.testing.assert_allclose([score for _, score in scores[0]], [score for _, score in scores[1]], atol=1e-5)


def test_an_embedder_of_zeros_is_refused(tmp_path: Path) -> None:
    with (
        Memory(tmp_path / "notes.lbug", **options(embedder=Scaled(0.0), layers=("entities",))) as memory,
        pytest.raises(ModelError, match="not all 0"),
    ):
        memory.add("Ann found a red fox.")
