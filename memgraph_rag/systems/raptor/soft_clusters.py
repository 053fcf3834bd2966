"""Soft clusters of vectors: UMAP and a Gaussian mixture, first for all vectors, then within each cluster.

It works on vectors only; ``umap-learn`` and ``scikit-learn`` do the mathematics. Invariant: the same vectors in the
same order give the same clusters, on any number of cores.

Source: RAPTOR (arXiv 2401.18059), section 3, "Clustering Algorithm". Open points follow the released code
(``raptor/cluster_utils.py``): its seeds, its order of clusters, and BIC compared for 1 … min(50, n) - 1 components. The
released code gives UMAP no seed and builds a different tree each time; this module gives UMAP the mixture's seed.
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

Cluster = tuple[int, ...]
"""Row numbers of vectors, ascending."""

_PACKAGES = {"umap": "umap-learn", "sklearn": "scikit-learn"}

_EIGENVECTORS = Lock()


@dataclass(frozen=True, slots=True)
class Clustering:
    """The constants of the clustering. The defaults are those of the paper and its code.

    Attributes:
        dimensions: UMAP reduces vectors to this many dimensions. Up to dimensions + 1 vectors form one cluster.
        threshold: a vector belongs to each component with a probability above the threshold.
        most_components: the mixtures that are compared have fewer components than this.
        local_neighbours: UMAP's neighbours of a vector within a cluster; among all n vectors they are ⌊√(n - 1)⌋.
        seed: seed of UMAP and of the mixtures that are compared.
    """

    dimensions: int = 10
    threshold: float = 0.1
    most_components: int = 50
    local_neighbours: int = 10
    seed: int = 224


def require_clustering() -> None:
    """Check, before anything is built, that the packages for clustering are installed.

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
    """Return the clusters of a matrix's rows, ordered by global and then by local component.

    A row may be in several clusters. A row whose probabilities are all at most the threshold is in no cluster. No two
    clusters have the same members.

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
        warnings.simplefilter("ignore")  # UMAP warns that a seed turns threads off, mixtures that they did not converge
        with _limit_to_one_thread(), _seed_eigenvectors(constants.seed):
            for members in _components(vectors, isqrt(len(vectors) - 1), constants):
                for local in _cluster_local(vectors[list(members)], constants):
                    clusters[tuple(members[place] for place in local)] = None
    return list(clusters)


def _cluster_local(vectors: Matrix, constants: Clustering) -> list[Cluster]:
    """Return the clusters within one global cluster, as row numbers of ``vectors``."""
    if len(vectors) <= constants.dimensions + 1:
        return [tuple(range(len(vectors)))]
    return _components(vectors, constants.local_neighbours, constants)


def _components(vectors: Matrix, neighbours: int, constants: Clustering) -> list[Cluster]:
    """Reduce the vectors, fit a mixture, and return the members of each component that has members."""
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
    """Return (n, c) probabilities of the rows in the mixture with the lowest BIC, the smallest one if equal."""
    counts = range(1, min(constants.most_components, len(reduced)))
    criteria = {count: _bic(reduced, count, constants.seed) for count in counts}
    best = min(counts, key=lambda count: (criteria[count], count))
    return _mixture(best, seed=0).fit(reduced).predict_proba(reduced)


def _bic(reduced: Matrix, components: int, seed: int) -> float:
    """Return the Bayesian information criterion of a mixture, or infinity if the mixture cannot be fitted."""
    try:
        return float(_mixture(components, seed).fit(reduced).bic(reduced))
    except ValueError:  # components on one point: no covariance
        return float("inf")


def _mixture(components: int, seed: int) -> Any:
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(n_components=components, random_state=seed)


@contextmanager
def _seed_eigenvectors(seed: int) -> Iterator[None]:
    """Give scipy's ``eigsh`` a seed for its restarts, which UMAP does not pass (scipy 1.17 and later).

    ``eigsh`` restarts for very regular graphs, such as those of equidistant vectors. Without a seed, the clusters of
    such vectors would differ each time. Results of other graphs do not change.
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


def _limit_to_one_thread() -> Any:
    """Limit numeric libraries to one thread, because sums of floats, and so clusters, depend on the thread count."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
