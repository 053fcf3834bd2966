"""A memory as a file of JSON Lines: from any store into any other, exactly.

The first line says what it is; each further one holds a document with all that was built of it or, behind these, an
overview of several; the last one says how many there were. It knows records and no database. Invariants: every line is
checked, by its hash, by its form and by whether it can be stored (whoever changes a line can hash it again), before
anything of the file is stored; ids are not in it but made again, so that a document may go into another namespace;
numbers come back bit for bit (embeddings as float32 in base64).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import from_json
from typing_extensions import TypedDict

from memgraph_rag.contracts import Embedder, GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, MemgraphRagError, SchemaMismatch
from memgraph_rag.maintenance import archive_overviews
from memgraph_rag.maintenance.file_replacement import replacement
from memgraph_rag.stores import open_place
from memgraph_rag.stores.layer_rows import KINDS, ArchivedRows
from memgraph_rag.stores.layer_rows.archived import Ids, Number, Packed, Places, Scalar, pack, unpack
from memgraph_rag.stores.shared.document_reader import iterate_graphs
from memgraph_rag.types import DocumentGraph, DocumentRecord, OverviewRows, Segment

__all__ = ["MAX_LINE_BYTES", "Archive", "export_documents", "same", "write"]

T = TypeVar("T")

MAX_LINE_BYTES = 2**30
"""Of a document with all that was built of it."""

_FORMAT = "memgraph_rag archive"
_VERSION = 1
_MARK = f'"{_FORMAT}"'.encode()
_SHORT_LINE_BYTES = 2**16  # of a line that holds no document
_MOST_SPOOLED_BYTES = 2**36  # of what comes through a pipe; the disk's room is less, as a rule
_ROW_BEGINS = re.compile(rb'\{"sha256":"[0-9a-f]{64}","(?:document|overview)":\{')
_ROW_LINE = re.compile(rb'\{"sha256":"([0-9a-f]{64})","(document|overview)":(\{.*\})\}')


class _Record(TypedDict):
    """A document's record without its id."""

    key: str
    title: str
    source: str
    sha256: str
    added_at: str
    characters: Number
    segments: Number
    layers: list[str]
    model: str
    metadata: dict[str, Scalar]
    recognizer: str
    echoes: Number


class _Encoded(ArchivedRows):
    """A document by names, places and numbers, without an id: one line of an archive."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # pyright: ignore[reportGeneralTypeIssues]

    record: _Record
    segments: list[tuple[Number, str, Number, Number, Number, str, str, bool]]
    segment_embeddings: Packed


_FORM = TypeAdapter(_Encoded)


def export_documents(
    store: GraphStore, path: Path, embedder: Embedder, *, document_ids: Sequence[str] | None = None
) -> int:
    """Write all documents of a namespace, or those of these ids, into an archive; how many. Raises as ``write`` does.

    Raises:
        DocumentError: the file belongs to an open store.
    """
    if (place := open_place(path)) is not None:
        raise DocumentError(
            f"Expected a new file, or an archive to replace, got {show(path)}, which holds something else: it belongs "
            f"to the open store {show(place)}. Name another file.",
            path=path,
        )
    version = store.version()  # before anything is read
    ids = store.document_ids() if document_ids is None else sorted(document_ids)
    overviews = archive_overviews.encode_all(store, document_ids if document_ids is None else ids, as_of=version)
    graphs = iterate_graphs(store, ids)
    return write(path, graphs, embedder=embedder.name, dimension=embedder.dimension, overviews=overviews)


def write(
    path: Path,
    graphs: Iterable[DocumentGraph],
    *,
    embedder: str,
    dimension: int,
    overviews: Iterable[Mapping[str, Any]] = (),
) -> int:
    """Write documents, one at a time, then overviews; how many documents.

    The file is there whole or not at all, for its owner alone.

    Raises:
        DocumentError: it cannot be written, or holds something else than an archive; a document is too long for one.
    """
    head = {"format": _FORMAT, "version": _VERSION, "embedder": embedder, "dimension": dimension}
    with replacement(path, kind="an archive", mark=b'"format":' + _MARK, error=DocumentError) as file:
        return _write_lines(file, head, graphs, overviews)


def _write_lines(
    file: BinaryIO, head: Mapping[str, Any], graphs: Iterable[DocumentGraph], overviews: Iterable[Mapping[str, Any]]
) -> int:
    numbers, hashes = Counter[str](), hashlib.sha256()
    file.write(_json(head) + b"\n")
    documents = (("document", graph.document.key, _encoded(graph)) for graph in graphs)
    for kind, key, row in chain(documents, (("overview", row["key"], row) for row in overviews)):
        encoded = _json(row)
        own = hashlib.sha256(encoded).hexdigest()
        line = b'{"sha256":"%s","%s":%s}\n' % (own.encode(), kind.encode(), encoded)
        if len(line) > MAX_LINE_BYTES:
            raise DocumentError(
                f"Expected documents of at most {MAX_LINE_BYTES:,} bytes in an archive, got {len(line):,} for "
                f"{show(key)}. Add it in parts.",
                key=key,
            )
        hashes.update(own.encode())
        numbers[kind] += 1
        file.write(line)
    file.write(_json(_foot(numbers, hashes.hexdigest())) + b"\n")
    return numbers["document"]


def _foot(numbers: Mapping[str, int], sha256: str) -> dict[str, Any]:
    """The last line; it names overviews only where there are some, so that older versions can read the others."""
    overviews = {"overviews": numbers["overview"]} if numbers["overview"] else {}
    return {"documents": numbers["document"], **overviews, "sha256": sha256}


class Archive:
    """An archive to read, which may come through a pipe: it is then kept in a private file that has no name.

    Its file is opened once: what was verified is what is read. It closes when nobody holds it any more.

    Raises:
        DocumentError: it cannot be read, or is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _readable(path), path.open("rb") as file:
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            self._descriptor = os.dup(file.fileno()) if is_regular else self._spooled(file)
        weakref.finalize(self, os.close, self._descriptor)

    def _spooled(self, stream: BinaryIO) -> int:
        """The descriptor of a copy of what can be read once only."""
        number = 0
        with tempfile.TemporaryFile() as copy:
            for line in self._of(stream):
                number += len(line) + 1
                if number > _MOST_SPOOLED_BYTES:
                    raise DocumentError(
                        f"Expected an archive of at most {_MOST_SPOOLED_BYTES:,} bytes through a pipe, got more: "
                        f"{show(self._path)}. Write it to a file first.",
                        path=self._path,
                    )
                copy.write(line + b"\n")
            copy.flush()
            return os.dup(copy.fileno())

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return os.fstat(self._descriptor).st_size

    def verify(self, *, embedder: str, dimension: int, check: Callable[[DocumentGraph], None]) -> int:
        """How many documents it holds, after every line of it was checked.

        Args:
            check: refuses a document that could not be stored, with the ids that it has in the namespace "".

        Raises:
            DocumentError: it is no archive, of a newer version, cut off, or damaged.
            SchemaMismatch: it was made with another embedder.
        """
        with closing(archive_overviews.ArchivedIds()) as known:
            return self._verify(known, embedder=embedder, dimension=dimension, check=check)

    def _verify(
        self,
        known: archive_overviews.ArchivedIds,
        *,
        embedder: str,
        dimension: int,
        check: Callable[[DocumentGraph], None],
    ) -> int:
        numbers, hashes, foot = Counter[str](), hashlib.sha256(), None
        for place, line in enumerate(self._lines(), 1):
            match = _ROW_LINE.fullmatch(line)
            if place == 1:
                _check_head(self._path, _parsed(self._path, place, line), embedder, dimension)
            elif match and foot is None:
                own, kind, row = match.groups()
                if own.decode() != hashlib.sha256(row).hexdigest():
                    raise _damaged(self._path, place, "its hash is another")
                if kind == b"overview":
                    _check(self._path, place, _overview(self._path, place, row, ""), known.check)
                elif numbers["overview"]:
                    raise _damaged(self._path, place, "its document stands behind overviews")
                else:
                    graph = _document(self._path, place, row, "")
                    _check(self._path, place, graph, check)
                    if known.has_document(graph.document.id):
                        raise _damaged(self._path, place, "its document comes twice")
                    known.add(graph)
                hashes.update(own)
                numbers[kind.decode()] += 1
            elif foot is None:
                foot = _parsed(self._path, place, line)
            else:
                raise _damaged(self._path, place, "it stands behind the end")
        if foot != _foot(numbers, hashes.hexdigest()):
            raise _damaged(self._path, numbers.total() + 2, "the end is missing, or documents are")
        return numbers["document"]

    def read(self, *, namespace: str) -> Iterator[DocumentGraph]:
        """The documents of an archive that was verified, with the ids that they have in this namespace."""
        for place, line in enumerate(self._lines(), 1):
            match = _ROW_LINE.fullmatch(line)
            if match and match[2] == b"document":
                yield _document(self._path, place, match[3], namespace)

    def read_overviews(self, *, namespace: str) -> Iterator[OverviewRows]:
        """The overviews likewise, the lowest level first."""
        for place, line in enumerate(self._lines(), 1):
            match = _ROW_LINE.fullmatch(line)
            if match and match[2] == b"overview":
                yield _overview(self._path, place, match[3], namespace)

    def _lines(self) -> Iterator[bytes]:
        with _readable(self._path), os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            yield from self._of(file)

    def _of(self, file: BinaryIO) -> Iterator[bytes]:
        """The lines of a file, of bounded length each: only what begins as a document may be long."""
        place = 0
        while line := file.readline(_SHORT_LINE_BYTES):
            place += 1
            if place == 1 and _MARK not in line:
                raise _damaged(self._path, place, "it does not say that this is an archive")
            if len(line) == _SHORT_LINE_BYTES and _ROW_BEGINS.match(line):
                line += file.readline(MAX_LINE_BYTES - len(line))
            if not line.endswith(b"\n") and len(line) in (_SHORT_LINE_BYTES, MAX_LINE_BYTES):
                raise _damaged(self._path, place, f"it is longer than {len(line):,} bytes")
            yield line.removesuffix(b"\n")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise DocumentError(f"Expected an archive that can be read, got {show(exc)}: {show(path)}.", path=path) from exc


def same(graph: DocumentGraph, other: DocumentGraph) -> bool:
    """Whether two documents of one namespace are the same, number for number."""
    return _encoded(graph) == _encoded(other)


def _parsed(path: Path, place: int, line: bytes) -> dict[str, Any]:
    try:
        parsed = from_json(line, allow_inf_nan=False)  # refuses what is nested too deep
    except ValueError as exc:
        raise _damaged(path, place, "it is no JSON") from exc
    if not isinstance(parsed, dict):
        raise _damaged(path, place, "it is no JSON object")
    return parsed


def _document(path: Path, place: int, text: bytes, namespace: str) -> DocumentGraph:
    try:
        return _decoded(_FORM.validate_json(text), namespace)
    except (ValueError, IndexError) as exc:
        raise _damaged(path, place, "what it holds is no document") from exc


def _overview(path: Path, place: int, text: bytes, namespace: str) -> OverviewRows:
    try:
        return archive_overviews.decode(archive_overviews.OVERVIEW_FORM.validate_json(text), namespace)
    except (ValueError, IndexError) as exc:
        raise _damaged(path, place, "what it holds is no overview") from exc


def _check(path: Path, place: int, row: T, check: Callable[[T], None]) -> None:
    try:
        check(row)
    except MemgraphRagError as exc:
        raise _damaged(path, place, f"what it holds cannot be stored: {exc}") from exc


def _check_head(path: Path, head: Mapping[str, Any], embedder: str, dimension: int) -> None:
    if head.get("format") != _FORMAT or head.get("version") != _VERSION:
        raise DocumentError(
            f"Expected an archive of version {_VERSION}, got {show(head.get('format'))} of version "
            f"{show(head.get('version'))}: {show(path)}. 'memgraph-rag export' makes one.",
            path=path,
        )
    written_by = head.get("embedder"), head.get("dimension")
    if written_by != (embedder, dimension):
        raise SchemaMismatch(
            f"Expected an archive of the embedder {embedder} ({dimension} dimensions), got one of "
            f"{show(written_by[0])} ({show(written_by[1])}): {show(path)}. Use that embedder, or add the documents "
            "themselves.",
            expected=written_by[0],
            came=embedder,
        )


def _damaged(path: Path, place: int, what: str) -> DocumentError:
    return DocumentError(
        f"Expected an archive as it was written, got a damaged line {place} ({what}): {show(path)}. Nothing was "
        "stored; take another copy.",
        path=path,
        line=place,
    )


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


# ── one document ─────────────────────────────────────────────────────────────────────────────────────────


def _encoded(graph: DocumentGraph) -> dict[str, Any]:
    """The document in the form of ``_Encoded``."""
    places = Places(graph)
    encoded: dict[str, Any] = {
        "record": {name: value for name, value in asdict(graph.document).items() if name != "id"},
        "segments": [[getattr(item, name) for name in _SEGMENT] for item in graph.segments],
        "segment_embeddings": pack(graph.segment_embeddings),
    }
    for kind in KINDS:
        encoded |= kind.encode(graph, places)
    return encoded


_SEGMENT = tuple(field.name for field in fields(Segment) if field.name not in ("id", "document_id"))


def _decoded(encoded: _Encoded, namespace: str) -> DocumentGraph:
    record: dict[str, Any] = {**encoded["record"], "layers": tuple(encoded["record"]["layers"])}
    ids = Ids(namespace, record["key"])
    segments: list[dict[str, Any]] = [dict(zip(_SEGMENT, row, strict=True)) for row in encoded["segments"]]
    layer_rows: dict[str, Any] = {}
    for kind in KINDS:
        layer_rows |= kind.decode(encoded, ids)
    return DocumentGraph(
        document=DocumentRecord(id=ids.document, **record),
        segments=tuple(
            Segment(id=ids.node(0, segment_fields["index"]), document_id=ids.document, **segment_fields)
            for segment_fields in segments
        ),
        segment_embeddings=unpack(encoded["segment_embeddings"]),
        **layer_rows,
    )
