"""Read a vault of notes of Obsidian or Logseq: a folder of Markdown files that link to each other by their names.

Invariant: a note's title is the name by which other notes link to it, which is its file's name; so the layer of
entities joins ``[[name]]`` to the note. Source: Obsidian's help, "Internal links"; Logseq's file names in the form
"triple-lowbar".
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.text.folders import Folder
from memgraph_rag.text.loading import load
from memgraph_rag.types import Document, Failure

_MARKS = (".obsidian", "logseq")  # folders of settings; the second one also holds copies of notes
_NOTES = {".md", ".markdown"}
_SLASH = "___"  # of a name, in a file name of Logseq


def matches(files: ExportFiles) -> bool:
    """Return whether the files are a folder with a vault's settings."""
    return files.path.is_dir() and any((files.path / mark).is_dir() for mark in _MARKS)


def read(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each Markdown note of a vault. Its key is the vault's name and the note's path in it."""
    for path in Folder(files.path):
        inner = path.relative_to(files.path)
        if path.suffix.lower() in _NOTES and inner.parts[0] not in _MARKS:
            try:
                yield load(
                    path,
                    key=f"vault/{files.path.resolve().name}/{inner.as_posix()}",
                    title=path.stem.replace(_SLASH, "/"),
                )
            except MemgraphRagError as error:
                yield Failure(str(path), error)
