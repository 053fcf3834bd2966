"""Replaces all embeddings of a store while the store stays in use.

It contains no Cypher. Invariants: the store does not change until all vectors are computed, and then switches to them
in one step. Each vector goes into a scratch file as soon as it is computed, under the hash of its text, so that after
a crash only missing vectors are computed. The scratch file holds no text, and is removed after the switch.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from memgraph_rag.contracts import Embedder, GraphStore, Progress, cosine_scale
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.ingestion.segment_vectors import embed_segments
from memgraph_rag.stores.shared.document_reader import iterate_graphs
from memgraph_rag.types import CONTEXT, DocumentGraph, Matrix

_AT_ONCE = 256
_KEY_BYTES = 16


def reembed(store: GraphStore, embedder: Embedder, *, folder: Path, progress: Progress | None = None) -> int:
    """Replace all embeddings of a store, in all namespaces, and return the number of documents.

    Args:
        folder: the folder of the scratch file, which keeps vectors until the store has them.

    Raises:
        SettingsError: the scratch file cannot be written.
        StoreError: a document is damaged, or other writers change documents too fast.
    """
    vectors = _ScratchVectors(embedder, folder)
    namespaces = [store.bind_namespace(namespace) for namespace in store.namespaces()]
    waiting = [(of_namespace, of_namespace.document_ids()) for of_namespace in namespaces]
    count = sum(len(document_ids) for _, document_ids in waiting)
    graphs = chain.from_iterable(iterate_graphs(of_namespace, document_ids) for of_namespace, document_ids in waiting)
    for done, graph in enumerate(graphs, 1):
        _embed_again(graph, vectors)
        if progress is not None:
            progress("embedding", done, count)
    with ExitStack() as on_failure:
        on_failure.callback(setattr, store, "name_scale", store.name_scale)
        store.name_scale = partial(cosine_scale, embedder)
        store.reembed(
            embedder=embedder.name, dimension=embedder.dimension, again=lambda graph: _embed_again(graph, vectors)
        )
        on_failure.pop_all()
    vectors.path.unlink(missing_ok=True)
    return count


def delete_scratch_files(folder: Path) -> None:
    """Delete the scratch files of interrupted calls of ``reembed``; do nothing if the folder does not exist."""
    for path in folder.glob("*.vectors"):
        path.unlink(missing_ok=True)


def _embed_again(graph: DocumentGraph, vectors: _ScratchVectors) -> DocumentGraph:
    """Return the document with new embeddings of the same texts that were embedded when it was added."""
    normals = {mention.entity_id: mention.normal for mention in graph.mentions}
    context = graph.annotations if CONTEXT in graph.document.layers else None
    (segment_vectors,) = embed_segments(vectors.embed, [(graph.document.title, graph.segments, context)])
    return replace(
        graph,
        segment_embeddings=segment_vectors,
        point_embeddings=vectors.embed([point.text for point in graph.points]),
        relation_embeddings=vectors.embed([relation.description for relation in graph.relations]),
        end_embeddings=vectors.embed([normals[end] for end in graph.ends]),
    )


@contextmanager
def _convert_os_errors(folder: Path) -> Iterator[None]:
    """Convert an ``OSError`` of the block into a ``SettingsError`` about the folder."""
    try:
        yield
    except OSError as exc:
        raise SettingsError(
            f"Expected a folder where new embeddings can be kept, got {show(exc)}: {show(folder)}. Free some space, or "
            "set MEMGRAPH_RAG_CACHE_DIR to a folder that can be written.",
            path=folder,
        ) from exc


class _ScratchVectors:
    """Vectors by the hashes of their texts, in memory and in a scratch file that only its owner can read."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        identity = f"{embedder.name}, {embedder.dimension}"
        self.path = folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.vectors"
        self._row = np.dtype([("key", f"V{_KEY_BYTES}"), ("vector", "<f4", (embedder.dimension,))])
        with _convert_os_errors(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._vectors = {row["key"].tobytes(): row["vector"] for row in self._read()}

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts, (n, d) float32, in order. Compute and keep the missing vectors."""
        keys = [hashlib.sha256(text.encode()).digest()[:_KEY_BYTES] for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        for start in range(0, len(missing), _AT_ONCE):
            self._add(dict(list(missing.items())[start : start + _AT_ONCE]))
        return np.array([self._vectors[key] for key in keys], np.float32).reshape(len(keys), self._embedder.dimension)

    def _add(self, texts: dict[bytes, str]) -> None:
        rows = np.zeros(len(texts), self._row)
        rows["key"] = [np.void(key) for key in texts]
        rows["vector"] = self._embedder.embed(list(texts.values()))
        with _convert_os_errors(self.path.parent):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(rows.tobytes())
        self._vectors |= {key: row["vector"] for key, row in zip(texts, rows, strict=True)}

    def _read(self) -> np.ndarray:
        """Return the rows of the scratch file, one vector each. Cut an incomplete last row off the file."""
        if not self.path.exists():
            return np.zeros(0, self._row)
        whole = self.path.stat().st_size // self._row.itemsize
        os.truncate(self.path, whole * self._row.itemsize)
        return np.fromfile(self.path, self._row)
