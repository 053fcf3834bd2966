"""Test PageRank against igraph on real graphs, and against a plain solution of its equation on any graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import igraph
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from tables import table

from memgraph_rag.lexical.capitalised_names import capitalised
from memgraph_rag.search.pagerank import pagerank

DATA = Path(__file__).parents[2] / "benchmarks" / "data"
Edge = tuple[str, str]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text("utf-8").splitlines())


def triples() -> list[Edge]:
    """Return triples that GPT-3.5 extracted from passages of MuSiQue."""
    rows = lines(DATA / "musique_tune" / "openie_gpt35.jsonl")
    triples = [triple for row in rows for triple in row["triples"] if len(triple) == 3]
    return [(first, last) for first, _, last in triples if first != last]


def co_mentions(name: str) -> list[Edge]:
    """Return pairs of capitalised names in one paragraph."""
    pairs: list[Edge] = []
    for row in lines(DATA / name / "docs.jsonl"):
        names = sorted({row["text"][start:end] for start, end in capitalised(row["text"][:2_000])})
        pairs += combinations(names, 2)
    return pairs


GRAPHS = ["triples of musique_tune", "2wiki", "2wiki_hipporag", "hotpotqa", "musique"]


@table("name", GRAPHS)
def test_pagerank_equals_igraph_on_a_real_graph(name: str) -> None:
    edges = triples() if name == GRAPHS[0] else co_mentions(name)
    numbers = {end: number for number, end in enumerate(sorted({end for edge in edges for end in edge}))}
    size = len(numbers) + 3  # three without an edge
    weights = np.random.default_rng(len(edges)).uniform(0.5, 2, len(edges))
    pairs = [(numbers[first], numbers[second]) for first, second in edges]
    reset = np.zeros(size)
    reset[[0, 1, size // 2, size - 1]] = [1, 0.25, 0.5, 0.1]
    assert size > 500

    expected = igraph.Graph(n=size, edges=pairs).personalized_pagerank(
        damping=0.5, reset=reset.tolist(), weights=weights.tolist(), directed=False, implementation="prpack"
    )

    mass = pagerank(adjacency(size, pairs, weights), reset, damping=0.5)
    np.testing.assert_allclose(mass, expected, atol=1e-8)
    assert mass.sum() == pytest.approx(1)


def adjacency(size: int, pairs: list[tuple[int, int]], weights: np.ndarray) -> Any:
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    one_way = sparse.csr_matrix((weights, (first, second)), shape=(size, size))
    return aslinearoperator((one_way + one_way.T).tocsr())


@given(
    st.integers(1, 8).flatmap(
        lambda size: st.tuples(
            st.just(size),
            st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=12),
            st.lists(st.integers(0, 5), min_size=size, max_size=size),
        )
    ),
    st.sampled_from([0.0, 0.1, 0.5, 0.9]),
)
@settings(max_examples=60, deadline=None)
def test_pagerank_solves_its_equation(graph: tuple[int, list[tuple[int, int]], list[int]], damping: float) -> None:
    size, pairs, given_reset = graph
    pairs = [(first, second) for first, second in pairs if first != second]
    reset = np.array(given_reset, float)

    mass = pagerank(adjacency(size, pairs, np.ones(len(pairs))), reset, damping=damping)

    if not reset.any():
        assert not mass.any()
        return
    start, dense = reset / reset.sum(), np.zeros((size, size))
    for first, second in pairs:
        dense[first, second] += 1
        dense[second, first] += 1
    steps = np.array([row / row.sum() if row.any() else start for row in dense])
    expected = np.linalg.solve(np.eye(size) - damping * steps.T, (1 - damping) * start)
    np.testing.assert_allclose(mass, expected, atol=1e-9)
