"""Checks whether ``add`` could have stored an archived document.

It knows no store; ``stores.shared.write_checks`` checks the rules of stores. Invariant: the text and the metadata of a
document that passes go through ``text.loading`` unchanged, and its layers are consistent.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.lexical import timestamps
from memgraph_rag.stores.layer_rows import KINDS, RELATIONS, list_layers
from memgraph_rag.text.loading import load
from memgraph_rag.text.session_pages import is_page, is_page_key
from memgraph_rag.types import Document, DocumentGraph, Turn, is_storable

_NAME_CHARACTERS = 4096  # the longest name of a model, which may be a path
_ROUNDING = 1e-3  # tolerance of the sum of weights
_SPECIAL_TOKENS = 8
_ECHO = "echo"


def check_as_added(graph: DocumentGraph) -> None:
    """Check a document of an archive.

    Raises:
        DocumentError: ``add`` would have refused the document, or would have stored it in another form.
    """
    document = _document(graph)
    if load(document) != document:
        raise _refusal_error(graph, "text, title, source, metadata, speakers and times in the form that add stores")
    broken = next((rule for rule, holds in _rules(graph) if not holds), None)
    if broken is not None:
        raise _refusal_error(graph, broken)


def _document(graph: DocumentGraph) -> Document:
    """Return the document that the user added, as far as it is stored. Each segment is a turn with speaker and time.

    Sessions of older versions stored milliseconds, which ``timestamps`` writes as microseconds.
    """
    record = graph.document
    turns = tuple(
        Turn(segment.start, segment.end, segment.speaker, timestamps.read(segment.time) or segment.time)
        for segment in graph.segments
    )
    text = "".join(segment.text for segment in graph.segments)
    return Document(text, record.key, record.title, record.source, dict(record.metadata), turns)


def _rules(graph: DocumentGraph) -> Iterator[tuple[str, bool]]:
    """Yield each rule as words for a message, and whether the document follows it."""
    record, mentions = graph.document, graph.mentions
    names = (record.model, record.recognizer, *record.layers, *(mention.kind for mention in mentions))
    texts = [text for kind in KINDS for text in kind.texts(graph)]
    weights: dict[str, float] = defaultdict(float)
    for edge in graph.summarizes:
        weights[edge.source_id] += edge.weight
    echo = record.metadata.get(_ECHO)
    yield "a time of adding in UTC", timestamps.read(record.added_at) == record.added_at[:-6] + "+00:00"
    yield "a SHA-256", len(record.sha256) == 64 and set(record.sha256) <= set("0123456789abcdef")
    yield "short names of models, recognizers and layers", all(len(item) <= _NAME_CHARACTERS for item in names)
    yield "names of models, recognizers and layers that can be printed", all(item.isprintable() for item in names)
    yield "the turns of a session under a session's key", not is_page_key(record.key) or is_page(record, graph.segments)
    yield "text without NUL", all(map(is_storable, texts))
    yield "the layers of its rows", list_layers(graph) - {RELATIONS.layer} <= {*record.layers}
    yield "each mention once", len(set(mentions)) == len(mentions)
    yield (
        "segments of no more tokens than bytes",
        all(item.tokens <= len(item.text.encode()) + _SPECIAL_TOKENS for item in graph.segments),
    )
    yield "weights of a point that sum to 1", all(math.isclose(sum_, 1, abs_tol=_ROUNDING) for sum_ in weights.values())
    yield "echoes as the metadata say", not isinstance(echo, bool) or all(item.echo is echo for item in graph.segments)


def _refusal_error(graph: DocumentGraph, expected: str) -> DocumentError:
    key = graph.document.key
    return DocumentError(f"Expected {expected} in document {show(key)}, got others. Add the document itself.", key=key)
