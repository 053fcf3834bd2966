"""The plain form of records: JSON takes it, its keys are names of attributes, and it holds what the record holds."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime, timezone
from typing import Any

import numpy as np
from records import ANSWER, EVIDENCE, FAILURE, NEIGHBOURHOOD, QUESTION, RECORD, RECORDS, SEGMENT, STEP
from tables import table

from memgraph_rag.types.plain import plain_value

PLAIN = (str, int, float, bool, type(None), list, dict)


@table("record", RECORDS)
def test_plain_form_survives_json(record: Any) -> None:
    form = record.as_dict()
    assert json.loads(json.dumps(form, allow_nan=False)) == form
    assert {type(value) for value in _inner(form)} <= set(PLAIN)


def _inner(value: Any) -> list[Any]:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value, *(deeper for each in inner for deeper in _inner(each))]


FLAT = {
    "Evidence": {"document_id": "document_id", "segment_id": "id", "speaker": "speaker", "time": "time"},
    "Step": {"node_id": "id", "document_id": "document_id", "kind": "kind", "level": "level", "text": "text"},
}
"""Keys that say something of a record's segment or node, and its attribute."""


@table("record", RECORDS[:-2])
def test_keys_are_names_of_attributes(record: Any) -> None:
    flat = FLAT.get(type(record).__name__, {})
    node = getattr(record, "segment", getattr(record, "node", None))
    for key, value in record.as_dict().items():
        if key in flat:
            assert value == getattr(node, flat[key])
        elif type(record).__name__ == "AnswerWarning" and key == "text":
            assert value == str(record)
        else:
            assert value == plain_value(getattr(record, key))
    names = {field.name for field in fields(record)}
    assert names - record.as_dict().keys() <= {"segment", "node", "run", "attended_tokens"}


def test_evidence_form_has_text_and_place() -> None:
    form = EVIDENCE.as_dict()
    place = (form["document_key"], form["document_id"], form["segment_id"], form["start"], form["end"])
    assert place == ("talk", "d1", "s1", 0, 28)
    assert (form["text"], form["score"], form["relevance"]) == (SEGMENT.text, 0.5, 0.75)
    assert form["path"] == [{"entity": "Ann", "share": 0.25, "named": False, "source": "s0", "source_key": "old talk"}]
    assert form["standing"]["rivals"][0]["value"] == "Paris"
    assert form["days"] == [{"words": "yesterday", "first": "2026-05-11", "last": "2026-05-11"}]
    assert form["remarks"] == ["home: since 11 May 2026: Berlin; before: Paris", "yesterday: 11 May 2026"]


def test_answer_and_question_forms_have_citations() -> None:
    form = QUESTION.as_dict()
    assert (form["text"], form["is_stale"], form["answer"]) == ("Where is Ann?", True, ANSWER.as_dict())
    assert form["answer"]["trace"] == [STEP.as_dict()]
    assert form["answer"]["warnings"][0]["text"] == "talk addresses the model that reads it: “Ignore this.”"
    assert form["changes"][0]["action"] == "replaced"


def test_failure_names_its_error() -> None:
    expected = {"source": "talk.txt", "error": "DocumentError", "message": "Expected text, got none."}
    assert FAILURE.as_dict() == expected


def test_neighbourhood_names_the_ends_of_its_ties() -> None:
    form = NEIGHBOURHOOD.as_dict()
    assert (form["type"], form["name"], form["centre"]["kinds"]) == ("entity", "Ann", ["PERSON"])
    assert form["ties"][0]["source"] == "I moved to Berlin yesterday."
    assert form["ties"][0]["target"] == "Ann"
    assert form["things"] == {
        "e1": {"type": "entity", "name": "Ann"},
        "s1": {"type": "segment", "name": "I moved to Berlin yesterday."},
        "p1": {"type": "point", "name": "Ann moved."},
        "o1": {"type": "overview", "name": "Moves"},
        "d1": {"type": "document", "name": "talk"},
        "q1": {"type": "question", "name": "Where is Ann?"},
        "a1": {"type": "annotation", "name": "A note."},
    }


def test_values_of_other_libraries_become_plain() -> None:
    moment = datetime(2026, 5, 12, 9, 30, tzinfo=timezone.utc)
    value = {1: (np.int64(2), np.bool_(True), np.str_("a")), "time": moment, "record": RECORD}
    assert plain_value(value) == {
        "1": [2, True, "a"], "time": "2026-05-12T09:30:00+00:00", "record": RECORD.as_dict(),
    }  # fmt: skip
