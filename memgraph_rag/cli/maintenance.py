"""The commands that maintain a store: ``memgraph-rag export``, ``purge`` and ``reembed``.

They know no database engine. Invariant: a command does not change the texts of stored documents.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memgraph_rag.cli import render
from memgraph_rag.cli.options import Json, Place, SessionOf, UserOf
from memgraph_rag.cli.progress import Bars
from memgraph_rag.display import show
from memgraph_rag.errors import StoreError

if TYPE_CHECKING:
    from memgraph_rag.types import Matrix

_File = Annotated[Path, typer.Argument(help="Archive in JSON Lines, or what --format names; '-' is standard output.")]
_STREAM = Path("-")


def export_file(
    place: Place,
    file: _File,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="jsonl, graphml (files), markdown, obsidian, parquet (folders); by default an archive."
        ),
    ] = None,
    user: UserOf = None,
    session: SessionOf = None,
    as_json: Json = False,
) -> None:
    """Export all documents of the namespace, or of one user, as an archive or in a form that other programs read.

    An archive holds all layers, and 'import' reads it. An existing file is replaced if it is an export of the same form
    or empty, and refused otherwise.
    """
    if file == _STREAM and as_json:
        raise typer.BadParameter("standard output can take the archive alone", param_hint="--json")
    if file == _STREAM and form not in (None, "jsonl", "graphml"):
        raise typer.BadParameter("name a folder for this form", param_hint="FILE")
    with place.open_existing() as memory:
        maintenance = memory.maintenance
        export = maintenance.export_to if form is None else partial(maintenance.export_files, form=cast("Any", form))
        write = partial(export, user=user, session=session)
        number = _to_stdout(write) if file == _STREAM else write(file)
    if file == _STREAM:
        return
    result = {"file": str(file), "documents": number}
    render.write_result(result, f"exported   {file}  documents: {number}", as_json=as_json)


def _to_stdout(write: Callable[[Path], int]) -> int:
    """Write the archive to standard output and return the number of documents.

    The archive is written into a temporary file first, so that an error prints no incomplete archive.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "archive.jsonl"
        number = write(path)
        with path.open("rb") as written:
            shutil.copyfileobj(written, typer.get_binary_stream("stdout"))
    return number


def purge(place: Place, as_json: Json = False) -> None:
    """Rewrite an embedded file so that it holds no byte of forgotten or replaced documents.

    All namespaces of the file are rewritten. The disk must have room for a second copy. A Neo4j server is refused.
    """
    with place.open_existing() as memory:
        store = memory.settings.store
        memory.maintenance.purge()
    render.write_result({"store": store, "purged": True}, f"purged     {store}", as_json=as_json)


def reembed(place: Place, as_json: Json = False) -> None:
    """Embed all documents of the store again with --embedder. Searches use the old embeddings until it is done.

    All namespaces of the store are embedded. Afterwards the store accepts only the new embedder.
    """
    if place.embedder is None:
        raise typer.BadParameter("name the new embedder of the store", param_hint="--embedder")
    place.check_file()
    wanted = place.settings().embedder
    with Bars() as bars, place.open_existing(embedder=_StoredEmbedder(place), progress=bars) as memory:
        number = memory.maintenance.reembed(wanted)
        schema = memory.status()["schema"]
    result = {"embedder": schema["embedder"], "dimension": schema["dimension"], "documents": number}
    line = f"embedded   by {result['embedder']} ({result['dimension']} dimensions)  documents: {number}"
    render.write_result(result, line, as_json=as_json)


class _StoredEmbedder:
    """The name and dimension of a store's present embedder.

    The store is opened with it only to replace it, so ``embed`` is never called.

    Raises:
        StoreError: the store is empty.
    """

    def __init__(self, place: Place) -> None:
        from memgraph_rag.open_memory import open_configured_store

        settings = place.settings()
        store = open_configured_store(settings, read_only=True)
        try:
            schema = store.schema
        finally:
            store.close()
        if not schema:
            raise StoreError(
                f"Expected a store with documents to embed anew, got an empty one: {show(settings.store)}."
            )
        self.name: str = schema["embedder"]
        self.dimension: int = schema["dimension"]

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise NotImplementedError

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        raise NotImplementedError
