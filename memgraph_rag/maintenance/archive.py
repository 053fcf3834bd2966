"""Writes and reads archives: files of JSON Lines that move documents from one store into another.

The first line names the format. Each further line holds a document with its layers; after all documents, each line
holds an overview. The last line holds the numbers of both. This module knows no database. Invariants: each line is
checked by its hash, its form and whether a store accepts it (an attacker can hash a changed line again), before any
line is stored. An archive holds no ids; they are computed again, so that a document can go into another namespace.
Numbers are equal bit for bit (embeddings are float32 in base64).
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
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import from_json
from typing_extensions import NotRequired, TypedDict

from memgraph_rag.contracts import Embedder, GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, MemgraphRagError, SchemaMismatch
from memgraph_rag.maintenance import archive_overviews
from memgraph_rag.maintenance.file_replacement import replace_file
from memgraph_rag.stores.layer_rows import KINDS, ArchivedRows
from memgraph_rag.stores.layer_rows.archived import Ids, Number, Packed, Places, Scalar, pack, unpack
from memgraph_rag.stores.shared.document_reader import DOCUMENTS_TOGETHER, iterate_graphs
from memgraph_rag.types import DocumentGraph, DocumentRecord, OverviewRows, Segment

T = TypeVar("T")

MAX_LINE_BYTES = 2**30
"""The largest length of the line of a document with its layers."""

_FORMAT = "memgraph_rag archive"
_VERSION = 1
_MARK = f'"{_FORMAT}"'.encode()
_SHORT_LINE_BYTES = 2**16  # the largest length of a line without a document
_MOST_SPOOLED_BYTES = 2**36  # the largest size of an archive from a pipe; most disks have less space
_OVERVIEWS_TOGETHER = 500
_ROW_BEGINS = re.compile(rb'\{"sha256":"[0-9a-f]{64}","(?:document|overview)":\{')
_ROW_LINE = re.compile(rb'\{"sha256":"([0-9a-f]{64})","(document|overview)":(\{.*\})\}')


class _Record(TypedDict):
    """The record of a document without its id."""

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
    language: NotRequired[str]  # absent in archives of older versions


class _Encoded(ArchivedRows):
    """A document as one line of an archive: names and positions replace ids."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # pyright: ignore[reportGeneralTypeIssues]

    record: _Record
    segments: list[tuple[Number, str, Number, Number, Number, str, str, bool]]
    segment_embeddings: Packed


_FORM = TypeAdapter(_Encoded)


def export_documents(
    store: GraphStore, path: Path, embedder: Embedder, *, document_ids: Sequence[str] | None = None
) -> int:
    """Write documents of a namespace, sorted by id, into an archive, and return their number.

    The overviews that depend on no other documents follow. Documents that do not exist are left out.

    Args:
        document_ids: the documents to write. The default is all documents.

    Raises:
        DocumentError: as ``write`` does.
    """
    version = store.version()  # read before all data
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
    """Write documents, one at a time, then overviews, into an archive; return the number of documents.

    The file is replaced in one step at the end. Only its owner can read it.

    Raises:
        DocumentError: the file cannot be written or is not an archive, or a document is too long for an archive.
    """
    head = {"format": _FORMAT, "version": _VERSION, "embedder": embedder, "dimension": dimension}
    with replace_file(path, kind="an archive", mark=b'"format":' + _MARK, error=DocumentError) as file:
        return _write_lines(file, head, graphs, overviews)


def _write_lines(
    file: BinaryIO, head: Mapping[str, Any], graphs: Iterable[DocumentGraph], overviews: Iterable[Mapping[str, Any]]
) -> int:
    numbers, hashes = Counter[str](), hashlib.sha256()
    file.write(_json(head) + b"\n")
    documents = (("document", graph.document.key, _encode_document(graph)) for graph in graphs)
    for kind, key, row in chain(documents, (("overview", row["key"], row) for row in overviews)):
        encoded = _json(row)
        own = hashlib.sha256(encoded).hexdigest()
        line = b'{"sha256":"%s","%s":%s}\n' % (own.encode(), kind.encode(), encoded)
        if len(line) > MAX_LINE_BYTES:
            raise DocumentError(
                f"Expected documents of at most {MAX_LINE_BYTES:,} bytes in an archive, got {len(line):,} for "
                f"{show(key)}. Add the document in parts.",
                key=key,
            )
        hashes.update(own.encode())
        numbers[kind] += 1
        file.write(line)
    file.write(_json(_write_foot(numbers, hashes.hexdigest())) + b"\n")
    return numbers["document"]


def _write_foot(numbers: Mapping[str, int], sha256: str) -> dict[str, Any]:
    """Return the last line. It counts overviews only if there are some, so that older versions can read the archive."""
    overviews = {"overviews": numbers["overview"]} if numbers["overview"] else {}
    return {"documents": numbers["document"], **overviews, "sha256": sha256}


class Archive:
    """An open archive. The content of a pipe is first copied into a private file without a name.

    The file is opened once, so the verified content is the content that is read. The file closes when the object is
    garbage collected.

    Raises:
        DocumentError: the file cannot be read, or is not an archive.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _convert_os_errors(path), path.open("rb") as file:
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            self._descriptor = os.dup(file.fileno()) if is_regular else self._copy_pipe(file)
        weakref.finalize(self, os.close, self._descriptor)

    def _copy_pipe(self, stream: BinaryIO) -> int:
        """Copy the lines of a pipe into a file without a name, and return its descriptor."""
        number = 0
        with tempfile.TemporaryFile() as copy:
            for line in self._read_lines(stream):
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
        """The size of the archive in bytes."""
        return os.fstat(self._descriptor).st_size

    def verify(self, *, embedder: str, dimension: int, check: Callable[[DocumentGraph], None]) -> int:
        """Check every line, and return the number of documents.

        Args:
            check: raises an error for a document that cannot be stored. It gets each document with the ids of the
                namespace "".

        Raises:
            DocumentError: the file is not an archive, is of a newer version, is cut off, or is damaged.
            SchemaMismatch: another embedder made the embeddings of the archive.
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
                _check_head(self._path, _parse_line(self._path, place, line), embedder, dimension)
            elif match and foot is None:
                own, kind, row = match.groups()
                if own.decode() != hashlib.sha256(row).hexdigest():
                    raise _damage_error(self._path, place, "its hash differs")
                if kind == b"overview":
                    _check(self._path, place, _parse_overview(self._path, place, row, ""), known.check)
                elif numbers["overview"]:
                    raise _damage_error(self._path, place, "its document comes after overviews")
                else:
                    graph = _parse_document(self._path, place, row, "")
                    _check(self._path, place, graph, check)
                    if known.has_document(graph.document.id):
                        raise _damage_error(self._path, place, "its document comes twice")
                    known.add(graph)
                hashes.update(own)
                numbers[kind.decode()] += 1
            elif foot is None:
                foot = _parse_line(self._path, place, line)
            else:
                raise _damage_error(self._path, place, "it comes after the end")
        if foot != _write_foot(numbers, hashes.hexdigest()):
            raise _damage_error(self._path, numbers.total() + 2, "the end or some documents are missing")
        return numbers["document"]

    def read(self, *, namespace: str) -> Iterator[list[DocumentGraph]]:
        """Yield the documents of a verified archive in groups, in its order, with the ids of a namespace."""
        graphs = self._parse_rows(b"document", _parse_document, namespace)
        return iter(lambda: list(islice(graphs, DOCUMENTS_TOGETHER)), [])

    def read_overviews(self, *, namespace: str) -> Iterator[OverviewRows]:
        """Yield the overviews of a verified archive in groups, the lowest level first, with the ids of a namespace."""
        overviews = self._parse_rows(b"overview", _parse_overview, namespace)
        groups = iter(lambda: list(islice(overviews, _OVERVIEWS_TOGETHER)), [])
        return map(archive_overviews.join_overviews, groups)

    def _parse_rows(self, kind: bytes, parse: Callable[[Path, int, bytes, str], T], namespace: str) -> Iterator[T]:
        for place, line in enumerate(self._lines(), 1):
            match = _ROW_LINE.fullmatch(line)
            if match and match[2] == kind:
                yield parse(self._path, place, match[3], namespace)

    def _lines(self) -> Iterator[bytes]:
        with _convert_os_errors(self._path), os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            yield from self._read_lines(file)

    def _read_lines(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield the lines of a file without their ends. Only the line of a document or an overview may be long."""
        place = 0
        while line := file.readline(_SHORT_LINE_BYTES):
            place += 1
            if place == 1 and _MARK not in line:
                raise _damage_error(self._path, place, "it does not name the format of an archive")
            if len(line) == _SHORT_LINE_BYTES and _ROW_BEGINS.match(line):
                line += file.readline(MAX_LINE_BYTES - len(line))
            if not line.endswith(b"\n") and len(line) in (_SHORT_LINE_BYTES, MAX_LINE_BYTES):
                raise _damage_error(self._path, place, f"it is longer than {len(line):,} bytes")
            yield line.removesuffix(b"\n")


@contextmanager
def _convert_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise DocumentError(
            f"Expected an archive that can be read, got {show(exc)}: {show(path)}. Name another file.", path=path
        ) from exc


def are_equal(graph: DocumentGraph, other: DocumentGraph) -> bool:
    """Return whether two documents of one namespace and all their rows are equal."""
    return _encode_document(graph) == _encode_document(other)


def _parse_line(path: Path, place: int, line: bytes) -> dict[str, Any]:
    try:
        parsed = from_json(line, allow_inf_nan=False)  # raises ValueError for too deep nesting
    except ValueError as exc:
        raise _damage_error(path, place, "it is not JSON") from exc
    if not isinstance(parsed, dict):
        raise _damage_error(path, place, "it is not a JSON object")
    return parsed


def _parse_document(path: Path, place: int, text: bytes, namespace: str) -> DocumentGraph:
    try:
        return _decode_document(_FORM.validate_json(text), namespace)
    except (ValueError, IndexError) as exc:
        raise _damage_error(path, place, "its content is not a document") from exc


def _parse_overview(path: Path, place: int, text: bytes, namespace: str) -> OverviewRows:
    try:
        return archive_overviews.decode(archive_overviews.OVERVIEW_FORM.validate_json(text), namespace)
    except (ValueError, IndexError) as exc:
        raise _damage_error(path, place, "its content is not an overview") from exc


def _check(path: Path, place: int, row: T, check: Callable[[T], None]) -> None:
    try:
        check(row)
    except MemgraphRagError as exc:
        raise _damage_error(path, place, f"its content cannot be stored: {exc}") from exc


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
            f"Expected an archive of the embedder {embedder} ({dimension} dimensions), got an archive of "
            f"{show(written_by[0])} ({show(written_by[1])}): {show(path)}. Use that embedder, or add the documents "
            "themselves.",
            expected=written_by[0],
            came=embedder,
        )


def _damage_error(path: Path, place: int, what: str) -> DocumentError:
    return DocumentError(
        f"Expected an archive as it was written, got a damaged line {place} ({what}): {show(path)}. Nothing was "
        "stored; take another copy.",
        path=path,
        line=place,
    )


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


# ── one document ─────────────────────────────────────────────────────────────────────────────────────────


def _encode_document(graph: DocumentGraph) -> dict[str, Any]:
    """Return a document in the form of ``_Encoded``."""
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


def _decode_document(encoded: _Encoded, namespace: str) -> DocumentGraph:
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
