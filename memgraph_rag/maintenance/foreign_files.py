"""Write documents and their graph in forms that other programs read: JSON Lines, Markdown, GraphML, Parquet, Obsidian.

These files cannot be imported as archives can: they hold no layers beyond names and relations. Invariants: one group of
documents at a time is in memory, and all names; the file or folder appears as a whole, and replaces only an empty file
or folder, or a file that is an export of the same form.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Literal
from xml.sax.saxutils import escape, quoteattr

from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.lexical.names import normalise
from memgraph_rag.maintenance.file_replacement import replace_file
from memgraph_rag.stores.shared.document_reader import iterate_graphs
from memgraph_rag.stores.shared.parquet_tables import ParquetTables
from memgraph_rag.types import DocumentGraph, DocumentRecord, as_line

ForeignForm = Literal["jsonl", "markdown", "graphml", "parquet", "obsidian"]

_MOST_FILE_NAME, _MOST_NAME_BYTES = 100, 200  # a file system takes 255 bytes, with a number and the suffix
_MOST_LINKS = 40  # names below a note, the most frequent first
_UNSAFE = re.compile(r"[^\w .,()&+'-]+|^\.+|[. ]+\Z")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_GRAPHML_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- written by memgraph_rag -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
"""
_GRAPHML_KEYS = {
    "kind": "all",
    "name": "node",
    "text": "node",
    "time": "node",
    "speaker": "node",
    "description": "edge",
}


def write_foreign_files(store: GraphStore, path: Path, form: ForeignForm, document_ids: Sequence[str] | None) -> int:
    """Write documents in one of ``FOREIGN_FORMS`` into a file or a folder, sorted by id, and return their number.

    Args:
        document_ids: the documents; all by default.

    Raises:
        DocumentError: the path holds something else, or cannot be written.
    """
    ids = sorted(store.document_ids() if document_ids is None else document_ids)
    return _WRITERS[form](store, path, ids)


def _write_jsonl(store: GraphStore, path: Path, ids: Sequence[str]) -> int:
    with replace_file(path, kind="an export", mark=b'{"document_id": "', error=DocumentError) as file:
        return _write_parts(
            file, (f"{json.dumps(_plain(graph), ensure_ascii=False)}\n" for graph in iterate_graphs(store, ids))
        )


def _write_parts(file: BinaryIO, parts: Iterable[str]) -> int:
    """Write the parts, and return their number."""
    return sum(1 for part in parts if file.write(part.encode("utf-8", "replace")) >= 0)


def _plain(graph: DocumentGraph) -> dict[str, Any]:
    """Return a document as JSON: its text, its turns, and the names and relations that were found in it."""
    record, names = graph.document, _names(graph)
    described = {"key": record.key, "title": record.title, "source": record.source, "added_at": record.added_at}
    turns = [{"speaker": each.speaker, "time": each.time, "text": each.text} for each in graph.segments if each.speaker]
    relations = [
        {"source": names[each.source_id], "target": names[each.target_id], "description": each.description}
        for each in graph.relations
    ]
    return {
        "document_id": record.id,
        **described,
        "metadata": dict(record.metadata),
        "text": _text(graph),
        "turns": turns,
        "entities": sorted(set(names.values())),
        "relations": relations,
    }


def _text(graph: DocumentGraph) -> str:
    return "".join(segment.text for segment in graph.segments)


def _names(graph: DocumentGraph) -> dict[str, str]:
    """Return the most frequent surface of each entity of a document, by id."""
    surfaces: dict[str, Counter[str]] = {}
    for mention in graph.mentions:
        surfaces.setdefault(mention.entity_id, Counter())[as_line(mention.surface)] += 1
    return {entity: counts.most_common(1)[0][0] for entity, counts in surfaces.items()}


# ── notes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _write_notes(store: GraphStore, path: Path, ids: Sequence[str], *, has_links: bool) -> int:
    """Write a note for each document; with links, each note ends with the names in it, as links to their notes."""
    file_names = _file_names(store.documents(list(ids)))
    by_name = {normalise(Path(name).stem): Path(name).stem for name in file_names.values()}
    number = 0
    with _new_folder(path) as folder:
        for graph in iterate_graphs(store, ids):
            name = file_names[graph.document.id]
            links = _links(graph, by_name, Path(name).stem) if has_links else ""
            (folder / name).write_text(f"{_front_matter(graph.document)}{_text(graph)}{links}", "utf-8", "replace")
            number += 1
    return number


def _file_names(records: Iterable[DocumentRecord]) -> dict[str, str]:
    """Return a file name for each document by its id, from its title or key; equal names get a number."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for record in records:
        stem = _UNSAFE.sub("_", record.title or record.key)[:_MOST_FILE_NAME]
        stem = stem.encode()[:_MOST_NAME_BYTES].decode(errors="ignore").strip(" .") or "note"
        name = next(name for n in count(1) if (name := stem if n == 1 else f"{stem} {n}").casefold() not in taken)
        taken.add(name.casefold())
        names[record.id] = f"{name}.md"
    return names


def _front_matter(record: DocumentRecord) -> str:
    """Return the metadata as YAML, whose values are JSON."""
    fields = {"title": record.title, "key": record.key, "added": record.added_at, **record.metadata}
    lines = [f"{json.dumps(as_line(name))}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", "", ""])


def _links(graph: DocumentGraph, by_name: dict[str, str], own: str) -> str:
    counts = Counter(mention.entity_id for mention in graph.mentions)
    names = _names(graph)
    links = []
    for entity, _ in counts.most_common(_MOST_LINKS):
        name = re.sub(r"[\[\]|#^]", " ", names[entity]).strip()
        note = by_name.get(normalise(name), name)
        if name and note != own:
            links.append(f"[[{note}]]" if note == name else f"[[{note}|{name}]]")
    return f"\n\n---\n{' '.join(links)}\n" if links else ""


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Yield a scratch folder, and rename it to ``path`` at the end."""
    try:
        target = path.resolve()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise DocumentError(
                f"Expected a new or empty folder, got {show(path)}, which holds something. Name another.", path=path
            )
        with tempfile.TemporaryDirectory(".part", ".", target.parent, ignore_cleanup_errors=True) as scratch:
            inner = Path(scratch) / "export"
            inner.mkdir(mode=0o700)
            yield inner
            os.replace(inner, target)  # noqa: PTH105 - Path.replace says no more
    except OSError as exc:
        raise DocumentError(
            f"Expected a folder that can be written, got {show(exc)}. Name another folder.", path=path
        ) from exc


# ── graphs ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _write_graphml(store: GraphStore, path: Path, ids: Sequence[str]) -> int:
    with replace_file(path, kind="an export", mark=b"written by memgraph_rag", error=DocumentError) as file:
        keys = [
            f'<key id="{name}" for="{owner}" attr.name="{name}" attr.type="string"/>\n'
            for name, owner in _GRAPHML_KEYS.items()
        ]
        _write_parts(file, [_GRAPHML_HEAD, *keys, '<graph edgedefault="directed">\n'])
        known: set[str] = set()
        number = _write_parts(file, ("".join(_graph_elements(graph, known)) for graph in iterate_graphs(store, ids)))
        _write_parts(file, ["</graph>\n</graphml>\n"])
    return number


def _graph_elements(graph: DocumentGraph, known: set[str]) -> Iterator[str]:
    """Yield the nodes and edges of a document. Add its entities to ``known``, and leave out those that were there."""
    record = graph.document
    yield _node(record.id, kind="Document", name=record.title or record.key)
    for segment in graph.segments:
        yield _node(segment.id, kind="Segment", text=segment.text, time=segment.time, speaker=segment.speaker)
        yield _edge(record.id, segment.id, kind="HAS_SEGMENT")
    for entity, name in _names(graph).items():
        if entity not in known:
            known.add(entity)
            yield _node(entity, kind="Entity", name=name)
    for source, target in sorted({(mention.segment_id, mention.entity_id) for mention in graph.mentions}):
        yield _edge(source, target, kind="MENTIONS")
    for each in graph.relations:
        yield _edge(each.source_id, each.target_id, kind="RELATION", description=each.description)


def _node(node_id: str, **values: str) -> str:
    return f"<node id={quoteattr(node_id)}>{_data(values)}</node>\n"


def _edge(source: str, target: str, **values: str) -> str:
    return f"<edge source={quoteattr(source)} target={quoteattr(target)}>{_data(values)}</edge>\n"


def _data(values: dict[str, str]) -> str:
    return "".join(
        f'<data key="{name}">{escape(_NO_XML.sub(" ", value))}</data>' for name, value in values.items() if value
    )


def _write_parquet(store: GraphStore, path: Path, ids: Sequence[str]) -> int:
    number = 0
    with _new_folder(path) as folder, ParquetTables(folder) as tables:
        for graph in iterate_graphs(store, ids):
            for table, rows in _tables(graph).items():
                tables.write(table, rows)
            number += 1
    return number


def _tables(graph: DocumentGraph) -> dict[str, list[dict[str, Any]]]:
    record = graph.document
    described = {name: getattr(record, name) for name in ("id", "key", "title", "source", "added_at")}
    return {
        "documents": [{**described, "metadata": json.dumps(dict(record.metadata)), "text": _text(graph)}],
        "segments": [
            {
                **{name: getattr(each, name) for name in ("id", "document_id", "index", "text", "start", "end")},
                **{name: getattr(each, name) for name in ("speaker", "time")},
                "embedding": vector.tolist(),
            }
            for each, vector in zip(graph.segments, graph.segment_embeddings, strict=True)
        ],
        "mentions": [
            {name: getattr(each, name) for name in ("entity_id", "normal", "kind", "surface", "segment_id")}
            for each in graph.mentions
        ],
        "relations": [
            {name: getattr(each, name) for name in ("id", "source_id", "target_id", "description", "segment_id")}
            for each in graph.relations
        ],
    }


_WRITERS: dict[ForeignForm, Callable[[GraphStore, Path, Sequence[str]], int]] = {
    "jsonl": _write_jsonl,
    "markdown": partial(_write_notes, has_links=False),
    "graphml": _write_graphml,
    "parquet": _write_parquet,
    "obsidian": partial(_write_notes, has_links=True),
}
FOREIGN_FORMS: Sequence[ForeignForm] = tuple(_WRITERS)
"""The names of the forms."""
