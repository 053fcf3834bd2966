"""Test vectors in 8 bits against the floats that they were made from."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph_rag.search.vectors import EXACT, RowVectors


def units(count: int, seed: int = 0, dimension: int = 64) -> np.ndarray:
    matrix = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3 * EXACT))
@settings(max_examples=20)
def test_best_products_are_those_of_floats(seed: int, count: int) -> None:
    matrix, (vector,) = units(count, seed), units(1, seed + 1)
    exact, products = matrix @ vector, RowVectors.encode(matrix) @ vector
    best = np.argsort(-exact)[: EXACT // 2]
    np.testing.assert_allclose(products[best], exact[best], atol=2e-5)
    np.testing.assert_allclose(products, exact, atol=0.01)


def test_rows_are_read_back_whatever_they_hold() -> None:
    matrix = np.concatenate([units(5), np.zeros((1, 64), np.float32)])
    vectors = RowVectors.encode(matrix)
    np.testing.assert_allclose(vectors[np.arange(6)], matrix, atol=1e-5)
    np.testing.assert_allclose(vectors[2], matrix[2], atol=1e-5)


def test_appended_rows_leave_selections_as_they_are() -> None:
    matrix = units(40)
    vectors = RowVectors.encode(matrix[:8])
    before = vectors.select(np.arange(8))
    for row in matrix[8:]:
        vectors.append(row[None])
    np.testing.assert_allclose(vectors[np.arange(40)], matrix, atol=1e-5)
    assert (len(before), len(vectors)) == (8, 40)
    assert not RowVectors.restore(before.arrays).select(np.array([0, 2])).shares_memory(vectors)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 899), max_size=9))
@settings(max_examples=20)
def test_selected_runs_have_the_products_of_copied_rows(seed: int, dropped: list[int]) -> None:
    vectors = RowVectors.encode(units(900, seed))
    rows, (vector,) = np.delete(np.arange(900), dropped), units(1, seed + 1)
    selected = vectors.select(rows)
    copied = RowVectors.restore(selected.arrays)
    vectors.append(units(400))
    np.testing.assert_allclose(selected @ vector, copied @ vector, atol=1e-6)
    np.testing.assert_array_equal(selected[np.arange(5)], copied[np.arange(5)])


def test_few_gaps_cost_no_copy() -> None:
    vectors = RowVectors.encode(units(900))
    assert vectors.select(np.delete(np.arange(900), [7, 200])).shares_memory(vectors)
