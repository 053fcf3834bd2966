"""Documents that give orders, beside honest ones, before a real language model.

It needs weights: the best model that is installed. The invariant that is tried: what is built of an honest document,
and what is answered from honest documents, is the same with and without the hostile ones, word for word. What is
answered from all documents together is told and not judged: there a hostile text may be read, and it can lie.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fault_tally import Tally
from fault_world import TEXTS
from injections import INJECTIONS

from memgraph_rag import Answer, Document, Memory, Receipt
from memgraph_rag.contracts import LanguageModel
from memgraph_rag.errors import ModelNotFound

HONEST = ("ann", "mill")
QUESTIONS = ("Who built a wooden box?", "Who drew the plans of the new bridge?", "Where did the fox run?")


@dataclass(frozen=True)
class Found:
    """What one memory made of the honest documents, and what it answers.

    Attributes:
        points: of each honest document, with their edges.
        of_honest: answers that may rest on the honest documents only.
        of_all: answers that may rest on any.
        hostile_read: of each of these, how many of the nodes that were read are hostile.
    """

    points: dict[str, Any]
    of_honest: list[Answer]
    of_all: list[Answer]
    hostile_read: list[int]


def injections(count: int, *, seed: int = 0) -> Tally:
    """The honest documents alone, and beside ``count`` hostile ones that are added in the same call."""
    names = random.Random(seed).sample(sorted(INJECTIONS), count)
    try:
        with Memory(":memory:") as memory:
            model = memory.language_model
    except ModelNotFound as error:
        print(f"injections were not tried: {error}")
        return Tally()
    alone = _found({}, model)
    beside = _found({name: INJECTIONS[name] for name in names}, model)
    print(f"hostile: {'; '.join(names)}")
    tally = Tally(tried=len(HONEST) + len(QUESTIONS))
    for key in HONEST:
        if alone.points[key] != beside.points[key]:
            print(f"LOST: {key!r} was summarised otherwise: {beside.points[key]}, not {alone.points[key]}")
            tally.lost += 1
    for answer, other in zip(alone.of_honest, beside.of_honest, strict=True):
        print(f"of the honest ones: {answer.question!r}: {answer.text!r}")
        if _said(answer) != _said(other):
            print(f"LOST: {answer.question!r}: {_said(other)}, not {_said(answer)}")
            tally.lost += 1
    for answer, other, read in zip(alone.of_all, beside.of_all, beside.hostile_read, strict=True):
        same = "the same" if answer.text == other.text else f"{other.text!r}, alone {answer.text!r}"
        print(f"of all, {read} of {len(other.trace)} nodes read are hostile: {answer.question!r}: {same}")
    return tally


def _found(hostile: dict[str, str], model: LanguageModel) -> Found:
    """A new memory that is given the hostile documents before, between and behind the honest ones."""
    given = [Document(text, f"evil: {name}") for name, text in hostile.items()]
    for place, key in enumerate(HONEST, 1):
        given.insert(place * len(hostile) // (len(HONEST) + 1) + place - 1, Document(TEXTS[key, 1], key))
    with TemporaryDirectory() as folder, Memory(Path(folder) / "notes.lbug", model=model, segment_tokens=40) as memory:
        for outcome in memory.add_many(given):
            assert isinstance(outcome, Receipt), outcome
        ids = {record.key: record.id for record in memory.documents()}
        print(f"{model.name} has read {len(HONEST)} honest and {len(hostile)} hostile documents", flush=True)
        of_honest = [memory.ask(question, documents=HONEST) for question in QUESTIONS]
        of_all = [memory.ask(question) for question in QUESTIONS] if hostile else of_honest
        honest = {ids[key] for key in HONEST}
        return Found(
            {key: _points(memory, ids[key]) for key in HONEST},
            of_honest,
            of_all,
            [sum(step.node.document_id not in honest for step in answer.trace) for answer in of_all],
        )


def _points(memory: Memory, document_id: str) -> Any:
    """Texts of the points of a document, and which node each summarises how much."""
    top = memory._parts.store.top_nodes([document_id])
    edges = memory._parts.store.successors([node.id for node in top])
    return [node.text for node in top], [(edge.source_id, edge.target_id, round(edge.weight, 3)) for edge in edges]


def _said(answer: Answer) -> Any:
    return answer.text, [(citation.document_key, citation.start, citation.end) for citation in answer.citations]
