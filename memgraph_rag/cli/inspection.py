"""The commands that read the memory: ``search``, ``brief``, ``show``, ``documents``, ``questions`` and ``status``.

They change nothing and need no language model. Invariant: the JSON form holds everything that a table shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import memgraph_rag
from memgraph_rag import maintenance
from memgraph_rag.cli import json_output, render, sanitize
from memgraph_rag.cli.ask import replay
from memgraph_rag.cli.options import Json, Place, SessionOf, UserOf, parse_metadata
from memgraph_rag.errors import DocumentNotFound, SettingsError

if TYPE_CHECKING:
    from memgraph_rag import InformationPoint, Memory, Segment, Settings
    from memgraph_rag.types import Change, Neighbourhood


def search(
    place: Place,
    query: Annotated[str, typer.Argument(help="Words or a sentence to search for.")],
    k: Annotated[int, typer.Option("--k", "-k", help="Maximum number of segments.")] = 10,
    mode: Annotated[
        str,
        typer.Option(help="Search mode: graph, hybrid, keywords, vector; from systems: segments, hipporag, hipporag2."),
    ] = "graph",
    document: Annotated[
        list[str] | None, typer.Option(help="Search only this document (key or id); repeatable.")
    ] = None,
    user: UserOf = None,
    session: SessionOf = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Search only documents with this metadata; repeatable."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Only segments from this day or time on: 2024-05-01, 2024-05-01T10:00.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Only segments before this day or time.")] = None,
    at: Annotated[str | None, typer.Option(help="Ignore everything that was said after this day or time.")] = None,
    min_relevance: Annotated[
        float | None, typer.Option(help="Leave out segments with a lower relevance (0 to 1), for example 0.1.")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Let the language model find the user's turn that says how things are now.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find the passages that are relevant to a query. Without --judge the language model is not used.

    The best comes first. Without --min-relevance, passages that say little about the query fill the list too.
    """
    with place.open_existing() as memory:
        evidence_list = memory.search(
            query,
            k=k,
            mode=mode,
            documents=document or None,
            user=user,
            session=session,
            where=parse_metadata(where, "--where"),
            since=since,
            until=until,
            at=at,
            min_relevance=min_relevance,
            judge=judge,
        )
        is_empty = not evidence_list and not memory.status()["counts"]["Document"]
    shown = [evidence.as_dict() for evidence in evidence_list]
    if as_json:
        json_output.write_json(shown)
        return
    out = render.to_stdout()
    for rank, form in enumerate(shown, 1):
        out.print(render.evidence_lines(rank, form), soft_wrap=True)
    if not shown:
        empty = 'This memory is empty: add documents first, "memgraph-rag add FILE".'
        render.to_stderr().print(empty if is_empty else "Nothing was found.")


def brief(
    place: Place,
    max_tokens: Annotated[int, typer.Option(help="Maximum number of tokens.")] = 600,
    about: Annotated[str | None, typer.Option(help="Only lines about this subject.")] = None,
    user: UserOf = None,
    session: SessionOf = None,
    at: Annotated[str | None, typer.Option(help="Ignore everything that was said after this day or time.")] = None,
    as_json: Json = False,
) -> None:
    """Show what to know before a conversation: what holds, wishes, open ends, decisions, what was spoken of last.

    Each line ends with its source and the characters that it rests on. No language model is used.
    """
    with place.open_existing() as memory:
        written = memory.brief(max_tokens=max_tokens, about=about, user=user, session=session, at=at)
    if as_json:
        json_output.write_json(written.as_dict())
    elif written.lines:
        typer.echo(sanitize.plain(written.text))
    else:
        render.to_stderr().print("Nothing is known.")


def show(
    place: Place,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A document's key, an entity's name, a kept question, a layer of the memory, or any id.",
        ),
    ],
    html: Annotated[
        Path | None, typer.Option(help="Write an HTML page with an interactive graph and the text instead.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="Type of NAME if it is ambiguous: document, entity, question or overview.")
    ] = None,
    most: Annotated[int, typer.Option(help="Maximum number of nodes of each type; the output counts the others.")] = 40,
    as_json: Json = False,
) -> None:
    """Show the graph around a document, an entity, a kept question or an overview, or the text of one node."""
    with place.open_existing() as memory:
        node = _node(memory, name) if kind is None else None
        if node is not None and html is None:
            keys = {record.id: record.key for record in memory.documents()}
            form = {"type": "node", "document_key": keys.get(node.document_id, ""), **node.as_dict()}
            _show_node(form, as_json=as_json)
            return
        # The page of a node is the page of its document.
        neighbourhood = memory.around(node.document_id if node else name, kind=kind, most=most)  # pyright: ignore[reportArgumentType]
        if html is not None:
            _write_page(html, memory, neighbourhood)
    if as_json:
        json_output.write_json(neighbourhood.as_dict())
    elif html is not None:
        typer.echo(sanitize.label(f"written    {html}"))
    else:
        from memgraph_rag.cli.listing import listing

        out = render.to_stdout()
        for line in listing(neighbourhood):
            out.print(line, soft_wrap=True)
        if isinstance(neighbourhood.centre, memgraph_rag.Question):
            replay(neighbourhood.centre.answer.as_dict(), out)


def _node(memory: Memory, name: str) -> Segment | InformationPoint | None:
    """Return the segment or point with this id, or None if the id belongs to another thing or to nothing."""
    try:
        thing = memory.get(name)
    except DocumentNotFound:
        return None
    return thing if isinstance(thing, (memgraph_rag.Segment, memgraph_rag.InformationPoint)) else None


def _show_node(form: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        json_output.write_json(form)
        return
    text = form.pop("text")
    render.to_stdout().print(render.facts(form))
    typer.echo(f"\n{sanitize.plain(text)}")


def _write_page(path: Path, memory: Memory, neighbourhood: Neighbourhood) -> None:
    """Write the page so that only its owner can read it, because it holds text of documents.

    Raises:
        SettingsError: the path holds a file that is not a page of ``memgraph-rag show``, or cannot be written.
    """
    from memgraph_rag.server.console.one_file import MARK, write_page
    from memgraph_rag.server.console.readings import read_inside

    written = write_page(read_inside(memory, neighbourhood)).encode("utf-8", "replace")
    with maintenance.replace_file(path, kind="a page of 'memgraph-rag show'", mark=MARK, error=SettingsError) as file:
        file.write(written)


def questions(place: Place, as_json: Json = False) -> None:
    """List the kept questions, newest first. For a stale question, list the documents that changed since."""
    with place.open_existing() as memory:
        listed = memory.questions()
    if as_json:
        json_output.write_json([question.as_dict() for question in listed])
        return
    rows = [
        [
            question.asked_at,
            question.text,
            question.answer.text,
            question.nodes_read,
            _list_changes(question.changes),
        ]
        for question in listed
    ]
    render.to_stdout().print(render.table(("asked at", "question", "answer", "nodes read", "stale"), rows))
    if not listed:
        render.to_stderr().print('No question is kept. Keep one: memgraph-rag ask --keep-trace "…"')


def _list_changes(changes: Iterable[Change]) -> str:
    return ", ".join(f"{change.document_key} {change.action.value} {change.changed_at}" for change in changes)


def documents(place: Place, as_json: Json = False) -> None:
    """List the documents.

    They are sorted by key.
    """
    with place.open_existing() as memory:
        listed = [record.as_dict() for record in memory.documents()]
    if as_json:
        json_output.write_json(listed)
        return
    columns = ("key", "title", "characters", "segments", "layers", "model", "added_at")
    rows = ([", ".join(form[name]) if name == "layers" else form[name] for name in columns] for form in listed)
    render.to_stdout().print(render.table(columns, rows))
    if not listed:
        render.to_stderr().print("No document yet. Add one: memgraph-rag add FILE")


def status(place: Place, as_json: Json = False) -> None:
    """Count nodes and relationships by type, and show the store, its schema, the models and the built layers."""
    with place.open_existing() as memory:
        stats, records = memory.status(), memory.documents()
        form = {
            "counts": stats["counts"],
            "documents_without": stats.get("documents_without", {}),
            "schema_version": stats["schema"].get("version"),
            "models": {
                "language_model": _language_model(place.settings()),
                **_embedder(stats["schema"]),
                "recognizer": memory.recognizer.name,
            },
            "documents": [{"key": record.key, "layers": list(record.layers)} for record in records],
            "store": memory.settings.store,
            "namespace": memory.namespace,
            "echoes": sum(record.echoes for record in records),
        }
    if as_json:
        json_output.write_json(form)
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
    for layer, number in form["documents_without"].items():
        lacking = f"{number:,} documents are not in it: memgraph-rag deepen" if number else "all documents are in it"
        out.print(render.facts({layer: lacking}))


def _embedder(schema: dict[str, Any]) -> dict[str, Any]:
    return {"embedder": schema.get("embedder"), "dimension": schema.get("dimension")}


def _language_model(settings: Settings) -> str | None:
    """Return the name of the model that answers questions, or None if none is installed. No model is loaded."""
    from memgraph_rag.models.files.catalogue import CATALOGUE

    if settings.model != "auto":
        return settings.model
    return next((model.name for model in CATALOGUE.values() if model.part_paths() is not None), None)
