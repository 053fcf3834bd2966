"""Relations out of an OpenIE file: triples that somebody has extracted already, as HippoRAG 1 and 2 keep them.

It knows no language model. Invariants: a triple becomes a relation of the segment that holds both of its names, or is
counted; what is wrong with a file is a ``DocumentError`` before anything is built; nothing in a file is ever executed.

Source: HippoRAG (``openie_results_ner_*.json``, releases 1 and 2); its passages are compared with documents here by
their key, or by their text.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from memgraph_rag.contracts import Models, Progress, SplitDocument
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.layers.extraction import Said, Triple, clean, list_of
from memgraph_rag.layers.grounded_relations import Account, relation_rows
from memgraph_rag.lexical.names import LONGEST_NAME
from memgraph_rag.types import LayerRows, make_id

__all__ = ["OpenIE"]

_MOST_BYTES = 512 * 2**20
_MOST_TRIPLES = 4_096  # of one passage
_LONGEST = 1_000  # characters of a triple as a sentence
_FORM = (
    'Give HippoRAG\'s {"docs": [{"passage": …, "extracted_entities": […], "extracted_triples": [[…, …, …]]}]}, or a '
    'line of JSON for each passage: {"doc_id": …, "entities": […], "triples": [[…, …, …]]}.'
)


@dataclass(frozen=True, slots=True)
class _Passage:
    """What a file says of one passage, and what of it cannot be read, counted."""

    said: Said
    notes: Counter[str]


class OpenIE:
    """The layer ``relations``, out of a file in place of a language model: ``Memory(layers=[OpenIE("openie.json")])``.

    A document is the passage of its key (``doc_id`` or ``idx``), or the one whose text is the document's, or is its
    title and text in two lines. Documents that the file does not name get no relations, which their receipt counts. A
    relation says its triple in one line. A triple of which a name stands in no segment of the document is counted.

    Args:
        path: HippoRAG's JSON file, or JSON lines with ``doc_id``, ``entities`` and ``triples``.

    Raises:
        DocumentError: there is no such file, it is too large, or it holds something else.
    """

    name = "relations"
    needs_language = False
    needs_recognizer = True
    requires: Sequence[str] = ("entities",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._by_key: dict[str, _Passage] = {}
        self._by_text: dict[str, _Passage] = {}
        for row in _rows(Path(path)):
            passage = _passage(row)
            for key in (row.get("doc_id"), row.get("idx")):
                if isinstance(key, (str, int)) and not isinstance(key, bool):
                    self._by_key[str(key)] = passage
            text = row.get("passage")
            if isinstance(text, str) and text.strip():
                self._by_text[_text_key(text)] = passage

    def __len__(self) -> int:
        """How many passages it knows."""
        return len({id(passage) for passage in (*self._by_key.values(), *self._by_text.values())})

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,  # noqa: ARG002 - the contract's
    ) -> list[LayerRows]:
        """The relations of each document, with the mentions that they need beyond the recognizer's, in order."""
        by_id = {make_id(namespace, "document", key): passage for key, passage in self._by_key.items()}
        accounts = [_account(document, by_id.get(document.id) or self._by_its_text(document)) for document in documents]
        return relation_rows(documents, accounts, namespace, models)

    def _by_its_text(self, document: SplitDocument) -> _Passage | None:
        text = "".join(segment.text for segment in document.segments)
        texts = (f"{document.title}\n{text}", text)
        return next((self._by_text[key] for key in map(_text_key, texts) if key in self._by_text), None)


def _account(document: SplitDocument, passage: _Passage | None) -> Account:
    """All segments as one batch: a triple goes to the one that bears it out best."""
    if passage is None:
        return Account(document.title, [], [], Counter({"document that the OpenIE file does not name": 1}))
    batch = tuple(segment for segment in document.segments if segment.text.strip())
    return Account(document.title, [batch], [[passage.said]], Counter(passage.notes), least_borne_out=0.0)


def _text_key(text: str) -> str:
    return sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()


# ── reading the file ─────────────────────────────────────────────────────────────────────────────────────────


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of the passages, each with a list of triples."""
    text = _text(path)
    rows = _whole(text, path)
    numbered = enumerate(_lines(text, path) if rows is None else rows, 1)
    for number, row in numbered:
        if not isinstance(row, dict) or not isinstance(_triples(cast("dict[str, Any]", row)), list):
            raise _refused(path, f"passage {number} without a list of triples", passage=number)
        yield cast("dict[str, Any]", row)


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise _refused(path, "no such file" if not path.exists() else "no regular file")
        if path.stat().st_size > _MOST_BYTES:
            raise _refused(path, f"more than {_MOST_BYTES // 2**20} MiB")
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise _refused(path, f"{type(error).__name__}: {show(error)}") from error
    if not text.strip():
        raise _refused(path, "an empty one")
    return text


def _whole(text: str, path: Path) -> list[Any] | None:
    """The passages of one JSON document; None where it is no such document, but perhaps lines."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(parsed, dict) and "docs" in parsed:
        parsed = cast("dict[str, Any]", parsed)["docs"]
    elif isinstance(parsed, dict):
        parsed = [parsed]
    if not isinstance(parsed, list):
        raise _refused(path, f"a {type(parsed).__name__}")
    return cast("list[Any]", parsed)


def _lines(text: str, path: Path) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _refused(path, f"line {number} that is no JSON ({show(error)})", line=number) from error


def _refused(path: Path, what: str, **data: Any) -> DocumentError:
    return DocumentError(f"Expected an OpenIE file at {show(path)}, got {what}. {_FORM}", path=str(path), **data)


def _triples(row: Mapping[str, Any]) -> object:
    return row.get("extracted_triples", row.get("triples"))


def _passage(row: Mapping[str, Any]) -> _Passage:
    """What is usable of a passage's names and triples."""
    notes: Counter[str] = Counter()
    listed = list_of(_triples(row))
    relations = [triple for item in listed[:_MOST_TRIPLES] if (triple := _triple(item)) is not None]
    notes["triple that is none"] += min(len(listed), _MOST_TRIPLES) - len(relations)
    notes["triple beyond the limit"] += max(len(listed) - _MOST_TRIPLES, 0)
    entities = list_of(row.get("extracted_entities", row.get("entities")))[:_MOST_TRIPLES]
    names = [clean(name) for name in entities if isinstance(name, str)]
    usable = (name for name in dict.fromkeys(names) if 0 < len(name) <= LONGEST_NAME)
    return _Passage(Said(tuple(usable), tuple(dict.fromkeys(relations))), +notes)


def _triple(item: object) -> Triple | None:
    """Two names, and the triple as a line; None where it is none."""
    parts = [clean(part) for part in list_of(item) if isinstance(part, str)]
    if len(parts) != 3 or len(list_of(item)) != 3 or not all(parts):
        return None
    subject, _, object_name = parts
    line = " ".join(parts)
    is_usable = max(len(subject), len(object_name)) <= LONGEST_NAME and len(line) <= _LONGEST
    return (subject, object_name, line) if is_usable else None
