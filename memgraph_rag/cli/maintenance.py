"""``memgraph-rag export``, ``import``, ``purge`` and ``reembed``: upkeep of a store.

It knows no engine. Invariant: what a document says is the same before and after.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph_rag.cli import json_output, render
from memgraph_rag.cli.options import Json, Place, SessionOf, UserOf
from memgraph_rag.cli.progress import Bars
from memgraph_rag.display import show
from memgraph_rag.errors import StoreError

if TYPE_CHECKING:
    from memgraph_rag.types import Matrix

__all__ = ["export_file", "import_file", "purge", "reembed"]

_File = Annotated[
    Path, typer.Argument(help="JSON Lines; what 'memgraph-rag export' writes. '-' for standard output, or input.")
]
_STREAM = Path("-")


def export_file(
    place: Place, file: _File, user: UserOf = None, session: SessionOf = None, as_json: Json = False
) -> None:
    """Write all documents of the namespace, or of a user, with all that was built of them, into one file."""
    if file == _STREAM and as_json:
        raise typer.BadParameter("standard output can take the archive alone", param_hint="--json")
    with place.stored() as memory:
        write = partial(memory.maintenance.export_to, user=user, session=session)
        number = _to_stdout(write) if file == _STREAM else write(file)
    if file == _STREAM:
        return
    if as_json:
        json_output.write_json({"file": str(file), "documents": number})
    else:
        render.to_stdout().print(render.label(f"exported   {file}  documents: {number}"), markup=False, soft_wrap=True)


def _to_stdout(write: Callable[[Path], int]) -> int:
    """Nothing is printed of an archive that cannot be written whole."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "archive.jsonl"
        number = write(path)
        with path.open("rb") as written:
            shutil.copyfileobj(written, typer.get_binary_stream("stdout"))
    return number


def import_file(
    place: Place,
    file: _File,
    bulk: Annotated[bool, typer.Option("--bulk", help="Into an empty Neo4j database, by neo4j-admin.")] = False,
    files: Annotated[
        Path | None, typer.Option("--files", help="With --bulk: write the files for neo4j-admin there, and stop.")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(help="With --bulk: the folder of 'neo4j start', if one was named.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Store the documents of an exported file; no model is used. Other documents of the same keys are replaced.

    With --bulk a local server is stopped, its empty database made from files, and started again.
    """
    source = Path("/dev/stdin") if file == _STREAM else file
    if bulk:
        from memgraph_rag.cli.bulk_import import import_in_bulk

        import_in_bulk(place, source, files=files, home=home, as_json=as_json)
        return
    if files or home:
        raise typer.BadParameter("goes with --bulk only", param_hint="--files" if files else "--home")
    with place.open() as memory:
        receipts = [receipt.as_dict() for receipt in memory.maintenance.import_from(source)]
    if as_json:
        json_output.write_json({"receipts": receipts})
        return
    for form in receipts:
        render.to_stdout().print(render.receipt_line(form), soft_wrap=True)


def purge(place: Place, as_json: Json = False) -> None:
    """Rewrite an embedded file so that not a byte of what was forgotten or replaced is left in it."""
    with place.stored() as memory:
        store = memory.settings.store
        memory.maintenance.purge()
    if as_json:
        json_output.write_json({"store": store, "purged": True})
    else:
        render.to_stdout().print(render.label(f"purged     {store}"), markup=False, soft_wrap=True)


def reembed(place: Place, as_json: Json = False) -> None:
    """Embed everything in the store anew, by the embedder that --embedder names. Until then the old ones serve.

    All namespaces of the store are embedded. From then on the store takes the new embedder only.
    """
    if place.embedder is None:
        raise typer.BadParameter("name the embedder that the store shall have", param_hint="--embedder")
    place.check_file()
    wanted = place.settings().embedder
    with Bars() as bars, place.stored(embedder=_Stored(place), progress=bars) as memory:
        number = memory.maintenance.reembed(wanted)
        schema = memory.status()["schema"]
    result = {"embedder": schema["embedder"], "dimension": schema["dimension"], "documents": number}
    if as_json:
        json_output.write_json(result)
    else:
        line = f"embedded   by {result['embedder']} ({result['dimension']} dimensions)  documents: {number}"
        render.to_stdout().print(render.plain(line), markup=False, soft_wrap=True)


class _Stored:
    """The embedder that a store has, by name: it is opened to get another, and nothing is embedded by this one."""

    def __init__(self, place: Place) -> None:
        from memgraph_rag.open_memory import open_settled

        settings = place.settings()
        store = open_settled(settings, read_only=True)
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
