"""Soft clusters against a plain reference, written after RAPTOR's released code, on real documents."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tables import table

from memgraph_rag.models.embedders.embedder import SentenceEmbedder
from memgraph_rag.models.files.catalogue import MINILM, find_embedder
from memgraph_rag.systems.raptor.soft_clusters import Clustering, soft_clusters
from memgraph_rag.text.splitting import split
from memgraph_rag.types import Matrix, as_line

DATA = Path(__file__).parents[3] / "benchmarks" / "data"
DOCUMENTS = [("qasper", 0), ("qasper", 1), ("quality", 0), ("quality", 1), ("fairytaleqa", 1)]

fits_umap = pytest.mark.full("fits UMAP, of which the first time takes as long as a hundred other tests")


def reduced(vectors: Matrix, dimensions: int, neighbours: int) -> Matrix:
    import umap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reducer = umap.UMAP(
            n_neighbors=neighbours, n_components=dimensions, metric="cosine", random_state=224, n_jobs=1
        )
        return reducer.fit_transform(vectors)


def labels_of(vectors: Matrix) -> tuple[list[list[int]], int]:
    """For each row its components with a probability above 0.1, and how many components there are."""
    from sklearn.mixture import GaussianMixture

    criteria = [
        GaussianMixture(n_components=count, random_state=224).fit(vectors).bic(vectors)
        for count in range(1, min(50, len(vectors)))
    ]
    best = int(np.argmin(criteria)) + 1
    probabilities = GaussianMixture(n_components=best, random_state=0).fit(vectors).predict_proba(vectors)
    return [[place for place in range(best) if row[place] > 0.1] for row in probabilities], best


def reference(vectors: Matrix) -> list[list[int]]:
    """The labels of each row: label by label, row by row, as the released code goes about it, but by place."""
    everything: list[list[int]] = [[] for _ in vectors]
    label = 0
    of_rows, components = labels_of(reduced(vectors, 10, int((len(vectors) - 1) ** 0.5)))
    for component in range(components):
        members = [place for place, labels in enumerate(of_rows) if component in labels]
        if not members:
            continue
        inner, inner_components = [[0] for _ in members], 1
        if len(members) > 11:
            inner, inner_components = labels_of(reduced(vectors[members], 10, 10))
        for place, labels in zip(members, inner, strict=True):
            everything[place] += [label + inner_label for inner_label in labels]
        label += inner_components
    return everything


@pytest.fixture(scope="module")
def vectors_of() -> Callable[[tuple[str, int]], Matrix]:
    """The segments of a document, 12 to 40, embedded."""
    name, folder = find_embedder(MINILM, cache_dir=Path())
    embedder = SentenceEmbedder(folder, name=name, device="cpu")

    def embedded(document: tuple[str, int]) -> Matrix:
        folder_name, place = document
        text = json.loads((DATA / folder_name / "docs.jsonl").read_text().splitlines()[place])["text"]
        spans = split(text, count_tokens=embedder.count_tokens, max_tokens=300)
        return embedder.embed([as_line(text[span.start : span.end]) for span in spans])

    return embedded


@pytest.mark.slow
@fits_umap
@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_memberships_are_those_of_the_released_code(vectors_of, document) -> None:
    vectors = vectors_of(document)
    assert len(vectors) >= 12
    labels = reference(vectors)
    expected = [
        tuple(place for place, of_place in enumerate(labels) if label in of_place)
        for label in range(max(map(max, filter(None, labels))) + 1)
    ]
    assert soft_clusters(vectors) == [members for members in expected if members]


@fits_umap
def test_the_same_vectors_give_the_same_clusters() -> None:
    vectors = np.random.default_rng(3).normal(size=(40, 16)).astype(np.float32)
    first = soft_clusters(vectors)
    assert soft_clusters(vectors.copy()) == first
    assert {place for members in first for place in members} == set(range(40))


@fits_umap
def test_equally_far_vectors_give_the_same_clusters_each_time() -> None:
    vectors = (np.eye(15, 16) + 0.5).astype(np.float32)
    assert len({str(soft_clusters(vectors)) for _ in range(4)}) == 1


@table("count", [0, 1, 2, 3, 11])
def test_few_vectors_are_one_cluster_without_umap(count) -> None:
    vectors = np.eye(max(count, 1), 16, dtype=np.float32)[:count]
    assert soft_clusters(vectors) == ([tuple(range(count))] if count else [])


@fits_umap
def test_vectors_that_lie_on_a_few_places_are_clustered() -> None:
    places = np.eye(2, 16, dtype=np.float32)
    vectors = np.concatenate([places + 1e-6 * number for number in range(10)])
    clusters = soft_clusters(vectors, Clustering(dimensions=3))
    assert set(range(20)) >= {place for members in clusters for place in members}
    assert all(members for members in clusters)


@fits_umap
def test_a_vector_below_the_threshold_everywhere_is_in_no_cluster(monkeypatch) -> None:
    shares = np.full((12, 20), 0.05)
    shares[:11, 0] = 0.5
    monkeypatch.setattr("memgraph_rag.systems.raptor.soft_clusters._probabilities", lambda *_: shares)
    vectors = np.random.default_rng(1).normal(size=(12, 16)).astype(np.float32)
    assert soft_clusters(vectors) == [tuple(range(11))]
