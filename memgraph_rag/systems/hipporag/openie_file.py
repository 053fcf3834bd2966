"""Read an OpenIE file, which holds triples that HippoRAG 1 or 2, or another program, has extracted.

The module knows no language model and no layer. Invariants: a triple that cannot be used is counted; a faulty file
raises ``DocumentError``; no code from a file is run.

Source: HippoRAG (``openie_results_ner_*.json``, releases 1 and 2). A passage of the file belongs to the document with
its key or its text.
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

from memgraph_rag.contracts import SplitDocument
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.layers.extraction import Extraction, Triple, as_list, clean
from memgraph_rag.lexical.names import LONGEST_NAME
from memgraph_rag.types import make_id

NOT_NAMED = "document that the OpenIE file does not name"
"""The note on the receipt of a document without a passage."""

_MOST_BYTES = 512 * 2**20
_MOST_TRIPLES = 4_096  # of one passage
_LONGEST = 1_000  # characters of a triple as a sentence
_FORM = (
    'Give HippoRAG\'s {"docs": [{"passage": …, "extracted_entities": […], "extracted_triples": [[…, …, …]]}]}, or a '
    'line of JSON for each passage: {"doc_id": …, "entities": […], "triples": [[…, …, …]]}.'
)


@dataclass(frozen=True, slots=True)
class Passage:
    """The names and triples of one passage, and counts of its unreadable parts."""

    said: Extraction
    notes: Counter[str]


class OpenIEFile:
    """The passages of an OpenIE file, by the keys and the texts of their documents.

    A document gets the passage with its key (``doc_id`` or ``idx``), or the passage whose text equals the document's
    text, or its title and text on two lines.

    Args:
        path: HippoRAG's JSON file, or JSON lines with ``doc_id``, ``entities`` and ``triples``.

    Raises:
        DocumentError: the file is missing, too large, or has another content.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._by_key: dict[str, Passage] = {}
        self._by_text: dict[str, Passage] = {}
        for row in _read_rows(Path(path)):
            passage = _parse_passage(row)
            for key in (row.get("doc_id"), row.get("idx")):
                if isinstance(key, (str, int)) and not isinstance(key, bool):
                    self._by_key[str(key)] = passage
            text = row.get("passage")
            if isinstance(text, str) and text.strip():
                self._by_text[_text_key(text)] = passage

    def __len__(self) -> int:
        """Return the number of passages in the file."""
        return len({id(passage) for passage in (*self._by_key.values(), *self._by_text.values())})

    def passages(self, documents: Sequence[SplitDocument], *, namespace: str) -> list[Passage | None]:
        """Return the passage of each document, in order; None for a document that the file does not name."""
        by_id = {make_id(namespace, "document", key): passage for key, passage in self._by_key.items()}
        return [by_id.get(document.id) or self._find_by_text(document) for document in documents]

    def _find_by_text(self, document: SplitDocument) -> Passage | None:
        text = "".join(segment.text for segment in document.segments)
        texts = (f"{document.title}\n{text}", text)
        return next((self._by_text[key] for key in map(_text_key, texts) if key in self._by_text), None)


def _text_key(text: str) -> str:
    return sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()


# ── reading the file ─────────────────────────────────────────────────────────────────────────────────────────


def _read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the passages' objects, each with a list of triples."""
    text = _read_text(path)
    rows = _parse_document(text, path)
    numbered = enumerate(_parse_lines(text, path) if rows is None else rows, 1)
    for number, row in numbered:
        if not isinstance(row, dict) or not isinstance(_get_triples(cast("dict[str, Any]", row)), list):
            raise _make_error(path, f"passage {number} without a list of triples", passage=number)
        yield cast("dict[str, Any]", row)


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            raise _make_error(path, "no such file" if not path.exists() else "no regular file")
        if path.stat().st_size > _MOST_BYTES:
            raise _make_error(path, f"more than {_MOST_BYTES // 2**20} MiB")
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise _make_error(path, f"{type(error).__name__}: {show(error)}") from error
    if not text.strip():
        raise _make_error(path, "an empty file")
    return text


def _parse_document(text: str, path: Path) -> list[Any] | None:
    """Return the passages if the text is one JSON document; None if it is not, so that it may be JSON lines."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(parsed, dict) and "docs" in parsed:
        parsed = cast("dict[str, Any]", parsed)["docs"]
    elif isinstance(parsed, dict):
        parsed = [parsed]
    if not isinstance(parsed, list):
        raise _make_error(path, f"a {type(parsed).__name__}")
    return cast("list[Any]", parsed)


def _parse_lines(text: str, path: Path) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _make_error(path, f"line {number} that is no JSON ({show(error)})", line=number) from error


def _make_error(path: Path, what: str, **data: Any) -> DocumentError:
    return DocumentError(f"Expected an OpenIE file at {show(path)}, got {what}. {_FORM}", path=str(path), **data)


def _get_triples(row: Mapping[str, Any]) -> object:
    return row.get("extracted_triples", row.get("triples"))


def _parse_passage(row: Mapping[str, Any]) -> Passage:
    """Return the usable names and triples of a passage."""
    notes: Counter[str] = Counter()
    listed = as_list(_get_triples(row))
    relations = [triple for item in listed[:_MOST_TRIPLES] if (triple := _parse_triple(item)) is not None]
    notes["triple that is none"] += min(len(listed), _MOST_TRIPLES) - len(relations)
    notes["triple beyond the limit"] += max(len(listed) - _MOST_TRIPLES, 0)
    entities = as_list(row.get("extracted_entities", row.get("entities")))[:_MOST_TRIPLES]
    names = [clean(name) for name in entities if isinstance(name, str)]
    usable = (name for name in dict.fromkeys(names) if 0 < len(name) <= LONGEST_NAME)
    return Passage(Extraction(tuple(usable), tuple(dict.fromkeys(relations))), +notes)


def _parse_triple(item: object) -> Triple | None:
    """Return (name, name, the triple as a line); None for anything but three usable strings."""
    parts = [clean(part) for part in as_list(item) if isinstance(part, str)]
    if len(parts) != 3 or len(as_list(item)) != 3 or not all(parts):
        return None
    subject, _, object_name = parts
    line = " ".join(parts)
    is_usable = max(len(subject), len(object_name)) <= LONGEST_NAME and len(line) <= _LONGEST
    return (subject, object_name, line) if is_usable else None
