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
from plain_pagerank import personalised_pagerank
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from tables import table

from memgraph_rag.lexical.capitalised_names import find_capitalised
from memgraph_rag.lexical.text_table import TextList
from memgraph_rag.search.graph import rank_places
from memgraph_rag.search.pagerank import pagerank, segment_entity_masses, solve_pagerank
from memgraph_rag.search.segment_index import RowIds, View, row_edges
from memgraph_rag.search.vectors import RowVectors

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
        names = sorted({row["text"][start:end] for start, end in find_capitalised(row["text"][:2_000])})
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
@settings(max_examples=60)
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


def view_of(incidence: np.ndarray) -> View:
    """Return a view of segments with these edges, each a document of its own."""
    count = len(incidence)
    rows, none = np.arange(count), np.full(count, -1)
    ids = RowIds(TextList(f"{row:08}" for row in rows), rows.astype(np.uint64), rows)
    vectors = RowVectors.encode(np.ones((count, 1), np.float32))
    return View(rows, ids, vectors, none, none, np.ones(count, np.int64), sparse.csr_matrix(incidence))


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.floats(0.5, 8.0))
@settings(max_examples=60)
def test_solved_pagerank_keeps_the_best_of_the_plain_steps(seed: int, count: int, edges: float) -> None:
    rng = np.random.default_rng(seed)
    entities = 2 * count
    drawn = rng.choice([1.0, 4.0], (count, entities), p=[0.8, 0.2])
    view = view_of(
        drawn * (rng.random((count, entities)) < edges * rng.zipf(1.6, entities).clip(1, 20) / 20 / entities * 8)
    )
    reset = np.exp(3 * rng.standard_normal(count))
    seeds = {int(column): 0.1 for column in rng.choice(entities, 2) if view.edge_counts[column]}
    reset *= (1 - sum(seeds.values())) / reset.sum()
    of_entities = np.zeros(entities)
    of_entities[[*seeds]] = [*seeds.values()]
    damping = rng.choice([0.3, 0.7], count)

    expected, on_entities = personalised_pagerank(view, reset, of_entities, damping=damping, iterations=80)
    masses = solve_pagerank(view, reset, seeds, damping=damping)

    np.testing.assert_allclose(masses, expected, atol=1e-5)
    first = rank_places(expected, view, count=50)
    assert (np.diff(masses[first]) <= 1e-5).all()
    assert set(rank_places(masses, view, count=60)) >= set(first[:40])
    entity_masses = segment_entity_masses(view, masses, range(count), seeds, damping=damping)
    for place, found in enumerate(entity_masses):
        np.testing.assert_allclose(found, on_entities[row_edges(view.incidence, place)[0]], atol=1e-5)


def test_rare_seed_reaches_its_segment() -> None:
    view = view_of(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    damping = np.full(2, 0.7)
    expected, _ = personalised_pagerank(view, np.zeros(2), np.array([1.0, 0, 0]), damping=damping, iterations=80)
    np.testing.assert_allclose(solve_pagerank(view, np.zeros(2), {0: 1.0}, damping=damping), expected, atol=1e-5)
