"""Soft clusters of vectors: UMAP, then a Gaussian mixture, of all vectors first and of each cluster's again.

It knows no text and no graph; ``umap-learn`` and ``scikit-learn`` do the mathematics. Invariant: the same vectors in
the same order give the same clusters, however many cores there are.

Source: RAPTOR (arXiv 2401.18059), section 3, "Clustering Algorithm"; what the paper leaves open is as in its released
code (``raptor/cluster_utils.py``): its seeds, its order of clusters, and that BIC is compared for 1 … min(50, n) - 1
components. That code gives UMAP no seed, so that it builds another tree each time; here UMAP has the mixture's.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from inspect import signature
from math import isqrt
from threading import Lock
from typing import Any

import numpy as np

from memgraph_rag.errors import SettingsError
from memgraph_rag.types import Matrix

__all__ = ["Clustering", "require_clustering", "soft_clusters"]

Cluster = tuple[int, ...]
"""Places of vectors, sorted."""

_PACKAGES = {"umap": "umap-learn", "sklearn": "scikit-learn"}

_EIGENVECTORS = Lock()


@dataclass(frozen=True, slots=True)
class Clustering:
    """The constants of the clustering; the defaults are the paper's and its code's.

    Attributes:
        dimensions: to which UMAP reduces; so many vectors and one are a cluster without it.
        threshold: a vector belongs to each component whose probability is above it.
        most_components: fewer than so many components are tried.
        local_neighbours: of a vector within a cluster; among all n vectors it has ⌊√(n - 1)⌋.
        seed: of UMAP and of the choice of the number of components.
    """

    dimensions: int = 10
    threshold: float = 0.1
    most_components: int = 50
    local_neighbours: int = 10
    seed: int = 224


def require_clustering() -> None:
    """Refuse to cluster without the packages that do it, before anything is built.

    Raises:
        SettingsError: umap-learn or scikit-learn is not installed.
    """
    missing = [package for module, package in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise SettingsError(
            f"Expected the packages umap-learn and scikit-learn for the layer clusters, got no {missing[0]}. "
            'Install them: pip install "memgraph_rag[clusters]", or leave the layer out.',
            layer="clusters",
            package=missing[0],
        )


def soft_clusters(vectors: Matrix, constants: Clustering | None = None) -> list[Cluster]:
    """The clusters of the rows of a matrix, by global and then by local component.

    A row may be in several clusters, or in none where it is in no component by more than the threshold. The same
    members are not given twice.

    Args:
        vectors: (n, d) float32, no two rows alike.

    Source: RAPTOR, section 3. Cost: a mixture for each number of components, O(n) each.
    """
    constants = constants or Clustering()
    everything = tuple(range(len(vectors)))
    if len(vectors) <= constants.dimensions + 1:
        return [everything] if everything else []
    clusters: dict[Cluster, None] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of seeds that turn threads off, of mixtures that did not settle
        with _one_thread(), _seeded_eigenvectors(constants.seed):
            for members in _components(vectors, isqrt(len(vectors) - 1), constants):
                for local in _local(vectors[list(members)], constants):
                    clusters[tuple(members[place] for place in local)] = None
    return list(clusters)


def _local(vectors: Matrix, constants: Clustering) -> list[Cluster]:
    """The clusters within one global cluster."""
    if len(vectors) <= constants.dimensions + 1:
        return [tuple(range(len(vectors)))]
    return _components(vectors, constants.local_neighbours, constants)


def _components(vectors: Matrix, neighbours: int, constants: Clustering) -> list[Cluster]:
    """The members of each component of a mixture over the reduced vectors; components without members are left out."""
    import umap

    reduced: Matrix = umap.UMAP(
        n_neighbors=neighbours,
        n_components=min(constants.dimensions, len(vectors) - 2),
        metric="cosine",
        random_state=constants.seed,
        n_jobs=1,
    ).fit_transform(vectors)
    if not np.isfinite(reduced).all():
        return [tuple(range(len(vectors)))]
    probabilities = _probabilities(reduced, constants)
    memberships = [np.flatnonzero(column > constants.threshold).tolist() for column in probabilities.T]
    return [tuple(members) for members in memberships if members]


def _probabilities(reduced: Matrix, constants: Clustering) -> Matrix:
    """(n, c) probabilities of the rows in the mixture of the lowest BIC; of equally low ones the smallest."""
    counts = range(1, min(constants.most_components, len(reduced)))
    criteria = {count: _bic(reduced, count, constants.seed) for count in counts}
    best = min(counts, key=lambda count: (criteria[count], count))
    return _mixture(best, seed=0).fit(reduced).predict_proba(reduced)


def _bic(reduced: Matrix, components: int, seed: int) -> float:
    """The Bayesian information criterion of a mixture; infinite where it cannot be fitted."""
    try:
        return float(_mixture(components, seed).fit(reduced).bic(reduced))
    except ValueError:  # components on one point: no covariance
        return float("inf")


def _mixture(components: int, seed: int) -> Any:
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(n_components=components, random_state=seed)


@contextmanager
def _seeded_eigenvectors(seed: int) -> Iterator[None]:
    """From scipy 1.17 on ``eigsh`` takes a seed for where it has to begin anew, which UMAP does not give.

    It has to for a very regular graph, as of vectors that are all equally far from each other; the clusters of such
    would be others each time. Everything else comes out as without it.
    """
    import scipy.sparse.linalg as linalg

    unseeded = linalg.eigsh
    if "rng" not in signature(unseeded).parameters:
        yield
        return
    with _EIGENVECTORS:
        linalg.eigsh = partial(unseeded, rng=seed)
        try:
            yield
        finally:
            linalg.eigsh = unseeded


def _one_thread() -> Any:
    """Sums of floats depend on how many threads share them, and so would the clusters."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
