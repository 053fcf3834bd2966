"""One of each record that leaves the process, every field of it filled."""

from __future__ import annotations

from datetime import date

import numpy as np

from memgraph_rag.errors import DocumentError
from memgraph_rag.types import (
    Action,
    Annotation,
    Answer,
    AnswerWarning,
    Carrier,
    Change,
    Citation,
    DocumentRecord,
    Entity,
    Evidence,
    Failure,
    Finding,
    InformationPoint,
    Mention,
    Neighbourhood,
    Overview,
    Part,
    Question,
    Receipt,
    RelativeDays,
    Rival,
    Segment,
    Span,
    Standing,
    Step,
    StopReason,
    Tie,
    Usage,
    WarningKind,
)

USAGE = Usage(10, 2, 1, 0.25)
SEGMENT = Segment("s1", "d1", 0, "I moved to Berlin yesterday.", 0, 28, 6, "Ann", "2026-05-12T09:30:00")
POINT = InformationPoint("p1", "d1", 1, 0, "Ann moved.", 3)
FINDING = Finding("One.", (Span("s1", 0, 4),))
OVERVIEW = Overview("o1", "library", "hash", 1, "Moves", "People move.", 3, ("d1",), ("e1",), (FINDING,), 7.5)
ENTITY = Entity("e1", "ann", "Ann", ("PERSON",))
RECORD = DocumentRecord(
    "d1", "talk", "A talk", "/home/ann/talk.txt", "0a", "2026-05-12T10:00:00+00:00", 28, 1, ("entities",), "model",
    {"date": "2026-05-12", "pages": 2, "read": True}, "recognizer", 1,
)  # fmt: skip
STANDING = Standing("holds", "home", "Berlin", "Ann", "2026-05-11", "", (Rival("s0", "Paris", "In Paris.", "2023"),), 2)
EVIDENCE = Evidence(
    SEGMENT, "talk", np.float32(0.5), {"graph": 1}, (Carrier("Ann", np.float64(0.25), False, "s0", "old talk"),), 0.75,
    STANDING, (SEGMENT,), (RelativeDays("yesterday", date(2026, 5, 11), date(2026, 5, 11)),),
)  # fmt: skip
STEP = Step(SEGMENT, 1.0, np.float32(0.5), 0.75, StopReason.ANSWERABLE, {"entry": np.float32(1.0)}, "by", "why", ("a",))
CITATION = Citation("d1", "talk", "s1", 0, 28, "I moved to Berlin yesterday.", 0.5)
WARNING = AnswerWarning(WarningKind.ADDRESSES_MODEL, "Ignore this.", "talk")
PART = Part("Who is Ann?", "Ann Lee", (CITATION,))
ANSWER = Answer(
    "Where is Ann?", "In Berlin.", False, StopReason.ANSWERABLE, (CITATION,), (STEP,), USAGE, "walk", "model",
    (WARNING,), "Berlin", (PART,),
)  # fmt: skip
CHANGE = Change("d1", "talk", Action.REPLACED, "2026-05-13T10:00:00+00:00", 1)
QUESTION = Question("q1", "2026-05-12T10:00:00+00:00", ANSWER, (CHANGE,))
RECEIPT = Receipt("d1", "talk", Action.REPLACED, {"Segment": 1}, {"no time": 1}, USAGE, 1, 2, 3, ("copy",))
FAILURE = Failure("talk.txt", DocumentError("Expected text, got none."))
NOTE = Annotation("A note.", ("s1",), "kind", {"weight": 0.5}, "a1", "d1", "notes", 0)
NEIGHBOURHOOD = Neighbourhood(
    ENTITY,
    {thing.id: thing for thing in (ENTITY, SEGMENT, POINT, OVERVIEW, RECORD, QUESTION, NOTE)},
    (Tie("MENTIONS", "s1", "e1", 2.0, "Ann", 1), Tie("HAS_SEGMENT", "d1", "s1")),
    (SEGMENT,),
    (Mention("e1", "ann", "PERSON", "Ann", "s1", 0, 3),),
    {"passages": 3},
)

RECORDS = (
    USAGE, SEGMENT, POINT, OVERVIEW, ENTITY, RECORD, STANDING, EVIDENCE, STEP, CITATION, PART, WARNING, ANSWER, CHANGE,
    QUESTION, RECEIPT, FAILURE, NEIGHBOURHOOD,
)  # fmt: skip
