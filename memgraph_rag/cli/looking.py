"""``memgraph-rag search``, ``show``, ``documents`` and ``status``: what the memory holds.

It changes nothing and needs no language model. Invariant: what a table shows is in the JSON form too.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memgraph_rag.cli import forms
from memgraph_rag.cli.place import Json, Place
from memgraph_rag.errors import DocumentNotFound

if TYPE_CHECKING:
    from memgraph_rag import Memory, Settings
    from memgraph_rag.types import MetadataValue

__all__ = ["documents", "search", "show", "status"]


def search(
    place: Place,
    query: Annotated[str, typer.Argument(help="Words, or a sentence.")],
    k: Annotated[int, typer.Option("--k", "-k", help="How many segments.")] = 10,
    mode: Annotated[str, typer.Option(help="graph, hybrid, keywords or vector.")] = "graph",
    document: Annotated[list[str] | None, typer.Option(help="Search only this one (key or id); repeatable.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Only documents with this metadata; repeatable.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="Only what is not older: 2024-05-01 or 2024-05-01T10:00.")] = None,
    until: Annotated[str | None, typer.Option(help="Only what is older.")] = None,
    as_json: Json = False,
) -> None:
    """Find the passages that bear on a query, without asking the language model."""
    from memgraph_rag.cli import render

    with place.open() as memory:
        found = memory.search(
            query,
            k=k,
            mode=mode,  # pyright: ignore[reportArgumentType]
            documents=document or None,
            where=_metadata(where) if where else None,
            since=since,
            until=until,
        )
    shown = [forms.evidence_form(evidence) for evidence in found]
    if as_json:
        forms.write_json(shown)
        return
    out = render.to_stdout()
    for rank, form in enumerate(shown, 1):
        out.print(render.evidence_lines(rank, form), soft_wrap=True)
    if not shown:
        render.to_stderr().print("Nothing was found.")


def _metadata(pairs: list[str]) -> dict[str, MetadataValue]:
    """NAME=VALUE as metadata: a number or a truth value where it reads as one in JSON, else text."""
    metadata: dict[str, MetadataValue] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not name or not sign:
            raise typer.BadParameter(f"expected NAME=VALUE, got {pair!r}", param_hint="--where")
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = value
        metadata[name] = parsed if isinstance(parsed, (int, float, bool)) else value
    return metadata


def show(
    place: Place,
    name: Annotated[str, typer.Argument(metavar="ID", help="Key or id of a document, or id of a node.")],
    as_json: Json = False,
) -> None:
    """Show one document, or one node with its text and where it lies."""
    from memgraph_rag.cli import render

    with place.open() as memory:
        form = _find(memory, name)
    if as_json:
        forms.write_json(form)
        return
    out, text = render.to_stdout(), form.pop("text", None)
    out.print(render.facts(form))
    if text is not None:
        out.print()
        out.print(render.plain(text), markup=False, soft_wrap=True)


def _find(memory: Memory, name: str) -> dict[str, Any]:
    """The form of the document or node of that name."""
    records = memory.documents()
    for record in records:
        if name in (record.id, record.key):
            return {"type": "document", **forms.document_form(record)}
    node = memory.get(name)
    if node is None:
        raise DocumentNotFound(
            f"Expected the key or id of a document, or the id of a node, in namespace {memory.namespace!r}, got "
            f"{name!r}. 'memgraph-rag documents' lists documents, 'memgraph-rag search' and 'ask --json' tell nodes.",
            key=name,
        )
    keys = {record.id: record.key for record in records}
    return {"type": "node", **forms.node_form(node, keys.get(node.document_id, ""))}


def documents(place: Place, as_json: Json = False) -> None:
    """List the documents."""
    from memgraph_rag.cli import render

    with place.open() as memory:
        held = [forms.document_form(record) for record in memory.documents()]
    if as_json:
        forms.write_json(held)
        return
    columns = ("key", "title", "characters", "segments", "layers", "model", "added_at")
    rows = ([", ".join(form[name]) if name == "layers" else form[name] for name in columns] for form in held)
    render.to_stdout().print(render.table(columns, rows))
    if not held:
        render.to_stderr().print("No document yet. Add one: memgraph-rag add FILE")


def status(place: Place, as_json: Json = False) -> None:
    """Count what is stored, by label and relationship type; tell store, schema, models and which layers are built."""
    from memgraph_rag.cli import render

    with place.open() as memory:
        stats, held = memory.stats(), memory.documents()
        form = {
            "counts": stats["counts"],
            "schema_version": stats["schema"].get("version"),
            "models": {
                "language_model": _language_model(place.settings()),
                **_embedder(stats["schema"]),
                "recognizer": memory.recognizer.name,
            },
            "documents": [{"key": record.key, "layers": list(record.layers)} for record in held],
            "store": memory.settings.store,
            "namespace": memory.namespace,
            "echoes": sum(record.echoes for record in held),
        }
    if as_json:
        forms.write_json(form)
        return
    out = render.to_stdout()
    about = {"store": form["store"], "namespace": form["namespace"], "schema": form["schema_version"]}
    about |= {"echoes": f"segments that are no evidence: {form['echoes']}" if form["echoes"] else ""}
    out.print(render.facts({**about, **form["models"]}))
    out.print()
    out.print(render.table(("what", "how many"), sorted(form["counts"].items())))
    out.print()
    built = Counter(", ".join(["segments", *document["layers"]]) for document in form["documents"])
    out.print(render.table(("documents", "have"), [(number, layers) for layers, number in built.most_common()]))


def _embedder(schema: dict[str, Any]) -> dict[str, Any]:
    return {"embedder": schema.get("embedder"), "dimension": schema.get("dimension")}


def _language_model(settings: Settings) -> str | None:
    """The model that a question would be put to; None where none is installed. Loads nothing."""
    from memgraph_rag.models.catalogue import CATALOGUE

    if settings.model != "auto":
        return settings.model
    return next((model.name for model in CATALOGUE.values() if model.part_paths() is not None), None)
