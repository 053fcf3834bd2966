"""Extraction: how a model is asked for names and relations, and what of its reply is of any use.

It knows no segment: whether a text holds what the model says is for ``grounding.py``. Invariants: whatever a reply is,
reading it raises nothing; what is complete in it is kept, what is not is counted.

Source: QRMeM, prompts of entity and relation extraction (intent; the words are ours).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from memgraph_rag.names import LONGEST_NAME
from memgraph_rag.types import Prompt, as_line

__all__ = ["SCHEMA", "Said", "directed_task", "goes_in_circles", "said", "task"]

_MOST_NAMES = 24  # of one batch
_MOST_RELATIONS = 16
_LONGEST_DESCRIPTION = 300
_NAME = {"type": "string", "minLength": 1, "maxLength": 80}

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "items": _NAME, "maxItems": _MOST_NAMES},
        "relations": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [_NAME, _NAME, {"type": "string", "minLength": 1, "maxLength": _LONGEST_DESCRIPTION}],
                "items": False,
                "minItems": 3,
                "maxItems": 3,
            },
            "maxItems": _MOST_RELATIONS,
        },
    },
    "required": ["names", "relations"],
    "additionalProperties": False,
}
"""Lists of lists, not of objects: their keys would be written again and again. All lists and strings are bounded."""

_FORM = 'Answer in this form:\n{"names": ["...", "..."], "relations": [["name", "other name", "sentence"], ...]}'

_TASK = (
    "List the names of people, places, organizations, works, events and dates that stand in the text above, spelled "
    "as there. Then tell how pairs of them are related, each pair with one complete sentence that holds both names. "
    f"{_FORM}"
)
_DIRECTED_TASK = (
    "List the names in the text above that bear on the question below, spelled as in the text. Then tell what the text "
    "says about pairs of them that helps to answer it, each pair with one complete sentence that holds both names. "
    f"{_FORM}\n\nQuestion: "
)

_LONGEST_TITLE = 100
_MOST_REPETITIONS = 3
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Said:
    """What is usable of a reply: names, and triples of name, other name and sentence."""

    names: tuple[str, ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()


def task(title: str) -> str:
    """What is asked about any text of that title (perhaps empty)."""
    return _about(title) + _TASK


def directed_task(title: str, question: str) -> str:
    """What is asked where a question has to be answered."""
    return _about(title) + _DIRECTED_TASK + as_line(question)


def _about(title: str) -> str:
    """The background that costs next to nothing: "it" is often what the title names."""
    line = as_line(title)
    return f"The text is from: {line[:_LONGEST_TITLE]}\n" if line else ""


def said(text: str) -> tuple[Said, Counter[str]]:
    """What a reply says, and what is odd about it, counted; of one that was cut, what is complete.

    >>> said('{"names": ["Ann", "Tom"], "relations": [["Ann", "Tom", "Ann met Tom."], ["Tom", "An')
    (Said(names=('Ann', 'Tom'), relations=(('Ann', 'Tom', 'Ann met Tom.'),)), Counter({'relations cut off': 1}))
    """
    notes: Counter[str] = Counter()
    told = _read(text, notes)
    names = [_clean(name) for name in _listed(told.get("names")) if isinstance(name, str)]
    listed = _listed(told.get("relations"))
    triples = [tuple(map(_clean, triple)) for triple in listed if _is_triple(triple)]
    was_cut = bool(notes["relations cut off"] and listed and not _is_triple(listed[-1]))
    notes["relation without two names and a sentence"] += len(listed) - len(triples) - was_cut
    relations = list(dict.fromkeys(triple for triple in triples if len(triple[2]) <= _LONGEST_DESCRIPTION))
    notes["relation too long"] += sum(len(triple[2]) > _LONGEST_DESCRIPTION for triple in triples)
    notes["repeated relation"] += len(triples) - notes["relation too long"] - len(relations)
    notes["name or relation beyond the limit"] += max(len(names) - _MOST_NAMES, 0)
    notes["name or relation beyond the limit"] += max(len(relations) - _MOST_RELATIONS, 0)
    kept = dict.fromkeys(name for name in names[:_MOST_NAMES] if 0 < len(name) <= LONGEST_NAME)
    return Said(tuple(kept), tuple(relations[:_MOST_RELATIONS])), +notes  # type: ignore[arg-type]


def goes_in_circles(prompt: Prompt, text: str) -> bool:  # noqa: ARG001 - what ``generate`` calls it with
    """Whether a reply repeats itself, so that more of it would be worthless."""
    _, notes = said(text)
    return notes["repeated relation"] >= _MOST_REPETITIONS


def _read(text: str, notes: Counter[str]) -> dict[str, Any]:
    """The object that a reply is, or the beginning of one."""
    encoded = text.encode("utf-8", "replace")
    try:
        told = from_json(encoded)
    except ValueError:
        notes["relations cut off"] += 1
        try:
            told = from_json(encoded, allow_partial=True)
        except ValueError:
            told = None
    if isinstance(told, dict):
        return told
    del notes["relations cut off"]
    notes["unreadable reply"] += 1
    return {}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_triple(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) and part.strip() for part in value)


def _clean(text: str) -> str:
    """On one line, without what no store takes."""
    return as_line(_UNREADABLE.sub(" ", text))
