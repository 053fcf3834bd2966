"""The declared schemas take what records' ``as_dict()`` gives; each key that they leave out is named here."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from records import ANSWER, EVIDENCE, NEIGHBOURHOOD, QUESTION, RECEIPT, RECORD

from memgraph_rag.server.results import (
    KeptQuestion,
    Passage,
    Remembered,
    StoredAnswer,
    StoredDocument,
    Surroundings,
)

FOLLOWING = {"layers_to_follow": []}

QUOTE = {"document_id", "segment_id", "score"}
CITED = ("citations", "parts.citations")

SHAPES: list[tuple[type[BaseModel], Any, dict[str, Any], set[str]]] = [
    (
        Passage,
        EVIDENCE,
        {},
        {
            *("document_id", "segment_id", "score", "why", "standing", "days"),
            *("path.share", "path.named", "path.source"),
        },
    ),
    (Remembered, RECEIPT, FOLLOWING, set()),
    (StoredDocument, RECORD, {}, {"source"}),
    (StoredAnswer, ANSWER, {}, {"trace", *(f"{cited}.{name}" for cited in CITED for name in QUOTE)}),
    (KeptQuestion, QUESTION, {}, {"answer.trace", *(f"answer.{cited}.{name}" for cited in CITED for name in QUOTE)}),
    (
        Surroundings,
        NEIGHBOURHOOD,
        {},
        {
            *("centre", "things", "mentions", "ties.source_id", "ties.target_id", "ties.order"),
            *(f"passages.{name}" for name in ("kind", "level", "id", "index", "start", "end", "tokens", "echo")),
        },
    ),
]
"""A schema, a record, what the tool adds, and what it leaves out."""


@pytest.mark.parametrize(("schema", "record", "added", "left_out"), SHAPES, ids=[shape[0].__name__ for shape in SHAPES])
def test_schema_takes_the_plain_form_as_it_is(schema, record, added, left_out) -> None:
    form = {**record.as_dict(), **added}
    result = schema.model_validate(form, strict=True).model_dump(mode="json")
    assert result == _without(form, left_out)


def _without(value: Any, left_out: set[str], path: str = "") -> Any:
    """The value but for the keys at these paths; items of a list have the path of the list."""
    if isinstance(value, list):
        return [_without(item, left_out, path) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {name: f"{path}.{name}".lstrip(".") for name in value}
    return {name: _without(item, left_out, inner[name]) for name, item in value.items() if inner[name] not in left_out}
