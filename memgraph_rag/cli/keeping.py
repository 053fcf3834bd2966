"""``memgraph-rag export``, ``import`` and ``purge``: upkeep of a store.

It knows no engine. Invariant: what a document says is the same before and after.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memgraph_rag.cli import forms
from memgraph_rag.cli.place import Json, Place

__all__ = ["export_file", "import_file", "purge"]

_File = Annotated[Path, typer.Argument(help="JSON Lines; what 'memgraph-rag export' writes.")]


def export_file(place: Place, file: _File, as_json: Json = False) -> None:
    """Write all documents of the namespace, with all that was built of them, into one file."""
    from memgraph_rag.cli import render

    with place.open() as memory:
        number = memory.export_to(file)
    if as_json:
        forms.write_json({"file": str(file), "documents": number})
    else:
        render.to_stdout().print(render.plain(f"exported   {file}  documents: {number}"), markup=False, soft_wrap=True)


def import_file(place: Place, file: _File, as_json: Json = False) -> None:
    """Store the documents of an exported file; no model is used. Documents of the same keys are replaced."""
    from memgraph_rag.cli import render

    with place.open() as memory:
        receipts = [forms.receipt_form(receipt) for receipt in memory.import_from(file)]
    if as_json:
        forms.write_json({"receipts": receipts})
        return
    for form in receipts:
        render.to_stdout().print(render.receipt_line(form), soft_wrap=True)


def purge(place: Place, as_json: Json = False) -> None:
    """Rewrite an embedded file so that not a byte of what was forgotten or replaced is left in it."""
    from memgraph_rag.cli import render

    with place.open() as memory:
        store = memory.settings.store
        memory.purge()
    if as_json:
        forms.write_json({"store": store, "purged": True})
    else:
        render.to_stdout().print(render.plain(f"purged     {store}"), markup=False, soft_wrap=True)
