"""What the console shows of a thing, read from a memory: its neighbourhood, a document whole, a question with its walk.

It knows ``Memory`` and the plain forms of ``results``, and neither a server nor a page. Invariant: each reading changes
nothing, and needs no model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memgraph_rag.display import show
from memgraph_rag.errors import QuestionNotFound
from memgraph_rag.server.console.results import (
    Graph,
    GraphNode,
    KeptLine,
    KeptQuestions,
    WalkedQuestion,
    WholeDocument,
)
from memgraph_rag.types import (
    Annotation,
    DocumentRecord,
    InformationPoint,
    Question,
    Section,
    Segment,
    Thing,
    get_type,
    shorten,
)
from memgraph_rag.types.inspection import Neighbourhood
from memgraph_rag.types.plain import plain_value

if TYPE_CHECKING:
    from memgraph_rag import Memory

_MOST_NAMES = 20_000
_TEXT = 600  # characters of a node's text in a graph
_MOST_CHARACTERS = 400_000  # of the documents inside a page; a page with more is slow to open

_FACTS = {
    "document": ("characters", "segments"),
    "entity": ("kinds",),
    "segment": ("speaker", "time"),
    "point": ("layer", "level", "index"),
    "overview": ("layer", "level"),
    "annotation": ("layer", "kind"),
    "section": ("index", "level"),
    "question": ("asked_at",),
}
"""The fields that tell people more of a node than its name and text do."""


def read_around(neighbourhood: Neighbourhood) -> Graph:
    """Return a neighbourhood with the ids of its nodes, so that a program can walk on from any of them."""
    form = neighbourhood.as_dict()
    nodes = [
        GraphNode(
            id=node_id, text=shorten(getattr(thing, "text", ""), _TEXT), facts=_facts(thing), **form["things"][node_id]
        )
        for node_id, thing in neighbourhood.things.items()
    ]
    edges, left_out = list(neighbourhood.ties), dict(neighbourhood.left_out)
    return Graph(centre=neighbourhood.centre.id, nodes=nodes, edges=edges, left_out=left_out)


def _facts(thing: Thing) -> dict[str, Any]:
    fields = {name: plain_value(getattr(thing, name)) for name in _FACTS[get_type(thing)]}
    properties = dict(thing.properties) if isinstance(thing, Annotation) else {}
    return {name: value for name, value in {**fields, **properties}.items() if value not in ("", [])}


def read_document(memory: Memory, name: str) -> WholeDocument:
    """Return a document with its text, and the segments, outline, points, names and relations in it."""
    (record,) = memory.documents(documents=[name])
    around = memory.around(record.id, kind="document", most=_MOST_NAMES)
    things, form = list(around.things.values()), around.as_dict()
    segments = sorted((each for each in things if isinstance(each, Segment)), key=lambda each: each.start)
    points = [each for each in things if isinstance(each, InformationPoint)]
    points.sort(key=lambda point: (point.layer, -point.level, point.index))  # the highest level of a layer first
    sections = sorted((each for each in things if isinstance(each, Section)), key=lambda each: each.index)
    return WholeDocument.model_validate(
        {
            "record": record.as_dict(),
            "text": memory.get(record.id).text,
            "segments": plain_value(segments),
            "sections": plain_value(sections),
            "points": plain_value(points),
            "names": form["mentions"],
            "relations": [tie for tie in form["ties"] if tie["kind"] == "RELATES_TO"],
            "left_out": form["left_out"],
        }
    )


def list_questions(memory: Memory) -> KeptQuestions:
    """Return the kept questions, newest first."""
    return KeptQuestions(questions=[_make_kept_line(kept) for kept in memory.questions()])


def _make_kept_line(kept: Question) -> KeptLine:
    return KeptLine(
        id=kept.id,
        text=kept.text,
        asked_at=kept.asked_at,
        is_stale=kept.is_stale,
        abstained=kept.answer.abstained,
        answer=shorten(kept.answer.text, _TEXT),
    )


def find_question(memory: Memory, name: str) -> Question:
    """Return the kept question with an id or a text.

    Raises:
        QuestionNotFound: no kept question has this id or text.
    """
    if kept := memory.questions(name):
        return kept[0]
    raise QuestionNotFound(f"Expected the id or text of a kept question, got {show(name)}. Name another question.")


def read_question(memory: Memory, name: str) -> WalkedQuestion:
    """Return a kept question with its answer and all that was read for it, in order.

    Raises:
        QuestionNotFound: no kept question has this id or text.
    """
    form = find_question(memory, name).as_dict()
    trace = form["answer"]["trace"]
    read = sorted({step["document_id"] for step in trace} - {""})
    keys = {record.id: record.key for record in memory.documents(documents=read)}
    steps = [{**step, "document_key": keys.get(step["document_id"], "")} for step in trace]
    return WalkedQuestion.model_validate({**form, "answer": {**form["answer"], "trace": steps}})


def read_inside(memory: Memory, neighbourhood: Neighbourhood) -> dict[str, Any]:
    """Return the results of all operations that a page about a neighbourhood calls, to be inside the page.

    ``results`` has them by operation and id, ``names`` the id of each name, ``links`` the addresses of the pages, the
    first of which is opened. Of large documents only the first fit, but the centre is always whole.
    """
    centre = neighbourhood.centre
    around = f"#/graph?name={centre.id}"
    results: dict[str, dict[str, Any]] = {"around": {centre.id: read_around(neighbourhood)}}
    links = {"graph": around}
    if isinstance(centre, Question):
        results["question"] = {centre.id: read_question(memory, centre.id)}
        results["questions"] = {"": KeptQuestions(questions=[_make_kept_line(centre)])}
        links = {"ask": f"#/ask/{centre.id}", "graph": around}
    records = [thing for thing in neighbourhood.things.values() if isinstance(thing, DocumentRecord)]
    room, shown = _MOST_CHARACTERS, list[DocumentRecord]()
    for record in records:
        room -= record.characters
        if record is centre or room >= 0:
            shown.append(record)
    results["document"] = {record.id: read_document(memory, record.id) for record in shown}
    if isinstance(centre, DocumentRecord):
        links = {"documents": f"#/documents/{centre.id}", "graph": around}
    return {
        "results": {
            operation: {name: result.model_dump(mode="json") for name, result in by_name.items()}
            for operation, by_name in results.items()
        },
        "names": {record.key: record.id for record in shown},
        "links": links,
    }
