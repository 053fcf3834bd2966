"""Write the prompts that ask a model for elements (entities, relations, claims), and parse its replies.

The module knows no segment; ``elements.py`` checks whether a text contains what the model says. Invariants: parsing
raises nothing, whatever the reply is; complete records of a reply are kept, unusable ones are counted; a name is in
capitals and holds neither separator of a title.

Source: GraphRAG (arXiv 2404.16130), section 3.1.2 and appendix E.1; the stages of the released code, in our words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from memgraph_rag.layers.extraction import as_list, clean, read_reply
from memgraph_rag.types import Annotation, Prompt

ENTITY, RELATION, CLAIM = "entity", "relation", "claim"
"""The kinds of the annotations."""

STILL_MISSING = "Are entities or relations of the text above still missing? Reply with one letter, Y or N."

_LONGEST_NAME = 120
_MOST_RECORDS = 32  # of one list of a reply
_MOST_REPEATED = 3  # records in a row
_UNRATED = 1.0  # the strength of a relation without a number, as released
_NO_OBJECT = "NONE"
_SEPARATORS = re.compile("[→⊢]")
_CLAIM_FIELDS = ("subject", "object", "type", "status", "start", "end", "description", "quote")

_NAME = {"type": "string", "minLength": 1, "maxLength": _LONGEST_NAME}
_TEXT = {"type": "string", "minLength": 1, "maxLength": 400}

_TASK = (
    "List the entities in the text above that are of these types: {types}. For each give its name as it stands in the "
    "text, its type, and a description of all that the text says about it. Then list each pair of these entities that "
    "the text clearly relates: both names, a sentence that explains how they are related, and a number from 1 to 10 "
    'for how strong the relation is. Answer in this form:\n{{"entities": [["Mary Smith", "person", "Mary Smith is a '
    'teacher who moved to Leeds."], ["Leeds", "geo", "Leeds is the town of Mary Smith."]], "relations": [["Mary '
    'Smith", "Leeds", "Mary Smith moved to Leeds to teach.", 7]]}}'
)
_GLEANING = (
    "\nThese were listed already: {names}.\nMany entities and relations were missed. List only the missing ones, of "
    "the same types and in the same form."
)
_CLAIMS_TASK = (
    "List the claims that the text above makes about entities of these types: {types}. Wanted are any claims or facts "
    "that could be relevant to information discovery. For each claim give its subject, its object or NONE, its kind in "
    "a few words, TRUE, FALSE or SUSPECTED, the first and the last day (2015-01-31) or NONE, a description with the "
    "reasons for it, and the words of the text that state "
    'it. Answer in this form:\n{{"claims": [["Acme", "Leeds", "fraud", "SUSPECTED", "2015-01-31", "NONE", "Acme is '
    'suspected of fraud in Leeds.", "Leeds suspects Acme"]]}}'
)

EXAMPLE_NAMES = frozenset({"MARY SMITH", "LEEDS", "ACME"})
"""The names in the examples of the requests, which a small model copies."""


def _records(*items: Mapping[str, Any]) -> dict[str, Any]:
    record = {"type": "array", "prefixItems": items, "items": False, "minItems": len(items), "maxItems": len(items)}
    return {"type": "array", "items": record, "maxItems": _MOST_RECORDS}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def elements_schema(types: Sequence[str]) -> Mapping[str, Any]:
    """Return the JSON schema of a reply with entities of these types, and relations. All lengths are bounded."""
    strength = {"type": "integer", "minimum": 1, "maximum": 10}
    return _object(
        {
            "entities": _records(_NAME, {"enum": list(types)}, _TEXT),
            "relations": _records(_NAME, _NAME, _TEXT, strength),
        }
    )


CLAIMS_SCHEMA: Mapping[str, Any] = _object(
    {"claims": _records(_NAME, _NAME, _NAME, {"enum": ["TRUE", "FALSE", "SUSPECTED"]}, _NAME, _NAME, _TEXT, _TEXT)}
)
"""The JSON schema of a reply with claims."""


def elements_task(types: Sequence[str]) -> str:
    """Return the task that asks for entities of these types, and for their relations."""
    return _TASK.format(types=", ".join(types))


def gleaning_task(types: Sequence[str], found: Sequence[Annotation]) -> str:
    """Return the task that asks for elements of these types that are not among those that were ``found``."""
    names = dict.fromkeys(str(item.properties["name"]) for item in found if item.kind == ENTITY)
    return elements_task(types) + _GLEANING.format(names="; ".join(names) or "none")


def claims_task(types: Sequence[str]) -> str:
    """Return the part of a prompt that asks for claims about entities of these types."""
    return _CLAIMS_TASK.format(types=", ".join(types))


def parse_elements(text: str) -> tuple[list[Annotation], Counter[str]]:
    """Return the entities, then the relations of a reply, and counts of what is wrong with it.

    An entity has the properties ``name`` and ``type``, a relation ``source``, ``target`` and ``strength``. The text is
    the description. A strength that is no number counts as 1. A relation of a name to itself is left out.

    >>> reply = '{"entities": [["Ann", "person", "Ann is a pilot."]], "relations": [["Ann", "Leeds", "Ann flew to Le'
    >>> [(item.kind, item.text) for item in parse_elements(reply)[0]]
    [('entity', 'Ann is a pilot.')]
    """
    notes: Counter[str] = Counter()
    fields = read_reply(text, "elements", notes)
    found: list[Annotation] = []
    for item in as_list(fields.get("entities")):
        parts = _strings(item, 3)
        if parts is None or not (name := _name(parts[0])):
            notes["entity without a name, a type and a description"] += 1
        else:
            found.append(Annotation(parts[2], (), ENTITY, {"name": name, "type": parts[1].upper()}))
    for item in as_list(fields.get("relations")):
        parts = _strings(item[:3] if isinstance(item, list) else item, 3)
        source, target = map(_name, parts[:2]) if parts else ("", "")
        if parts is None or not source or not target:
            notes["relation without two names and a description"] += 1
        elif source == target:
            notes["relation of one name"] += 1
        else:
            strength = _strength(item[3:], notes)
            found.append(Annotation(parts[2], (), RELATION, {"source": source, "target": target, "strength": strength}))
    return found, +notes


def parse_claims(text: str) -> tuple[list[Annotation], Counter[str]]:
    """Return the claims of a reply, and counts of what is wrong with it. All fields but the text are properties."""
    notes: Counter[str] = Counter()
    found: list[Annotation] = []
    for item in as_list(read_reply(text, "claims", notes).get("claims")):
        parts = _strings(item, len(_CLAIM_FIELDS))
        fields: dict[str, str] = dict(zip(_CLAIM_FIELDS, parts or (), strict=False))
        if parts is None or not _name(fields["subject"]):
            notes["claim that is incomplete"] += 1
            continue
        fields |= {name: _name(fields[name]) or _NO_OBJECT for name in ("subject", "object", "type")}
        found.append(Annotation(fields.pop("description"), (), CLAIM, fields))
    return found, +notes


def repeats_itself(prompt: Prompt, text: str) -> bool:  # noqa: ARG001 - the signature that ``generate`` calls
    """Return whether the model writes the same entities, relations or claims again, so that generation should stop.

    This is so if each of the last three records occurs earlier in its list: the relations, or the entities of a reply
    without relations, or else the claims.
    """
    fields = read_reply(text, "elements", Counter())
    for key in ("relations", "entities", "claims"):
        if records := as_list(fields.get(key)):
            last, before = records[-_MOST_REPEATED:], records[:-_MOST_REPEATED]
            return len(last) == _MOST_REPEATED and all(record in before for record in last)
    return False


def _strings(item: object, count: int) -> list[str] | None:
    """Return the cleaned strings of a record; None if it does not have ``count`` strings that say something."""
    if not isinstance(item, list) or len(item) != count or not all(isinstance(part, str) for part in item):
        return None
    parts = list(map(clean, item))
    return parts if all(parts) else None


def _name(text: str) -> str:
    """Return a name in capitals, as released; empty if it is too long."""
    name = clean(_SEPARATORS.sub(" ", text)).upper()
    return name if len(name) <= _LONGEST_NAME else ""


def _strength(rest: Sequence[object], notes: Counter[str]) -> float:
    try:
        strength = float(str(rest[-1])) if rest else math.nan
    except ValueError:
        strength = math.nan
    if math.isfinite(strength) and strength > 0:
        return strength
    notes["relation without a strength"] += 1
    return _UNRATED
