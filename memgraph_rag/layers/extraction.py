"""Write the prompts that ask a model for names and relations, and parse its replies.

The module knows no segment; ``grounding.py`` checks whether a text contains what the model says. Invariants: parsing
raises nothing, whatever the reply is; complete parts of a reply are kept, incomplete parts are counted.

Source: QRMeM, prompts of entity and relation extraction (their intent, in our words).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic_core import from_json

from memgraph_rag.layers.surfaces import words
from memgraph_rag.lexical.names import LONGEST_NAME
from memgraph_rag.types import Prompt, as_line

_MOST_NAMES = 8  # of one segment; twice as many of a single one
_MOST_RELATIONS = 12  # of one segment
_LONGEST_DESCRIPTION = 200
_NAME = {"type": "string", "minLength": 1, "maxLength": 120}

_TRIPLE = {
    "type": "array",
    "prefixItems": [_NAME, _NAME, {"type": "string", "minLength": 1, "maxLength": _LONGEST_DESCRIPTION}],
    "items": False,
    "minItems": 3,
    "maxItems": 3,
}

_FORM = (
    'Answer in this form:\n{"names": ["Mary Smith", "Leeds"], '
    '"relations": [["Mary Smith", "Leeds", "Mary Smith was born in Leeds."]]}'
)

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
_LONGEST_BACKGROUND = 600
_MOST_USELESS = 3  # useless relations in a row
_MOST_PAIRS = 2  # pairs of names with the same sentence
_PRONOUNS = frozenset({"it", "he", "she", "they"})
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


Triple = tuple[str, str, str]
"""(name, other name, a sentence that holds both names)."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The usable names and relations of a reply."""

    names: tuple[str, ...] = ()
    relations: tuple[Triple, ...] = ()


@cache
def reply_schema(segments: int) -> Mapping[str, Any]:
    """Return the JSON schema of a reply about this many segments. All lengths are bounded.

    Lists replace objects, whose keys would cost tokens each time.
    """
    most_names, most_relations = _find_limits(segments)
    return {
        "type": "object",
        "properties": {
            "names": {"type": "array", "items": _NAME, "maxItems": most_names},
            "relations": {"type": "array", "items": _TRIPLE, "maxItems": most_relations},
        },
        "required": ["names", "relations"],
        "additionalProperties": False,
    }


def _find_limits(segments: int) -> tuple[int, int]:
    """Return the most names and the most relations of a reply. A small model repeats names until the limit."""
    return _MOST_NAMES * max(segments, 2), _MOST_RELATIONS * segments


def task(title: str) -> str:
    """Return the task that asks for names and relations in a text with that title, which may be empty."""
    return write_background(as_line(title)[:_LONGEST_TITLE]) + _TASK


def write_directed_task(background: str, questions: Sequence[str]) -> str:
    """Return the task that asks for names and relations that help to answer the questions.

    Args:
        background: as for ``write_background``.
    """
    return write_background(background) + _DIRECTED_TASK + " ".join(map(as_line, questions))


def write_background(background: str) -> str:
    """Return a line with the title or summary of a text, because "it" often means the title; empty without one.

    A long text is cut after 600 characters. The line ends with a newline.
    """
    line = as_line(background)
    return f"The text is from: {line[:_LONGEST_BACKGROUND]}\n" if line else ""


def parse_extraction(text: str, *, segments: int = 1) -> tuple[Extraction, Counter[str]]:
    """Return the names and relations in a reply, and counts of its problems. A truncated reply gives complete parts.

    An unreadable reply gives no names and relations. Repeated and unusable parts are left out, and so are names and
    relations beyond the limits of ``reply_schema``. A reply that reaches a limit is counted, because the schema may
    have ended its list. A relation counts only if its sentence holds both names; its first name replaces a pronoun.

    Args:
        segments: how many segments the reply is about.

    >>> parse_extraction('{"names": ["Ann", "Tom"], "relations": [["Ann", "Tom", "She met Tom."], ["Tom", "An')
    (Extraction(names=('Ann', 'Tom'), relations=(('Ann', 'Tom', 'Ann met Tom.'),)), Counter({'relations cut off': 1}))
    """
    notes: Counter[str] = Counter()
    fields = read_reply(text, "relations", notes)
    names = [clean(name) if isinstance(name, str) else "" for name in as_list(fields.get("names"))]
    usable = [name for name in dict.fromkeys(names) if 0 < len(name) <= LONGEST_NAME]
    notes["no name"] += sum(not 0 < len(name) <= LONGEST_NAME for name in names)
    notes["repeated name"] += len(names) - len(set(names))
    listed = as_list(fields.get("relations"))
    if listed and notes["relations cut off"] and not _is_triple(listed[-1]):
        listed = listed[:-1]
    relations = [relation for relation in _check_relations(listed, notes) if relation is not None]
    most_names, most_relations = _find_limits(segments)
    notes["name or relation beyond the limit"] += max(len(usable) - most_names, 0)
    notes["name or relation beyond the limit"] += max(len(relations) - most_relations, 0)
    notes["reply at the limit of names or relations"] += len(names) == most_names or len(listed) == most_relations
    return Extraction(tuple(usable[:most_names]), tuple(relations[:most_relations])), +notes


def goes_in_circles(prompt: Prompt, text: str) -> bool:  # noqa: ARG001 - the signature that ``generate`` calls
    """Return whether the last three relations of a reply are useless, so that generation should stop.

    Useless are repeated and too long relations, and sentences without the two names. Incomplete relations do not count.
    False for fewer than three relations. The prompt does not matter.
    """
    notes: Counter[str] = Counter()
    listed = [item for item in as_list(read_reply(text, "relations", notes).get("relations")) if _is_triple(item)]
    last = list(_check_relations(listed, notes))[-_MOST_USELESS:]
    return len(last) == _MOST_USELESS and not any(last)


def _check_relations(listed: Sequence[Any], notes: Counter[str]) -> Iterator[Triple | None]:
    """Yield the relation of each item if it is a new sentence with two names, else None; count the reasons."""
    pairs: set[tuple[frozenset[str], str]] = set()
    times: Counter[str] = Counter()
    for item in listed:
        usable = None
        if not _is_triple(item):
            notes["relation without two names and a sentence"] += 1
        else:
            subject, object_name, description = map(clean, item)
            sentence = _sentence(subject, object_name, description)
            known = description.casefold()
            pair = frozenset((subject.casefold(), object_name.casefold())), known
            times[known] += 1
            if pair in pairs or times[known] > _MOST_PAIRS:
                notes["repeated relation"] += 1
            elif len(description) >= _LONGEST_DESCRIPTION:
                notes["relation too long"] += 1  # or truncated
            elif not sentence:
                notes["sentence without the two names"] += 1
            else:
                usable = subject, object_name, sentence
            pairs.add(pair)
        yield usable


def _sentence(subject: str, object_name: str, description: str) -> str:
    """Return a description that holds both names, with the first name in place of a pronoun; empty if that fails."""
    first, _, rest = description.partition(" ")
    if not holds_name(description, subject) and first.casefold() in _PRONOUNS and rest:
        description = f"{subject} {rest}"
    elif not holds_name(description, subject) and holds_name(description, object_name) and description[:1].islower():
        description = f"{subject} {description}"  # "was founded by …"
    if not (holds_name(description, subject) and holds_name(description, object_name)):
        return ""
    longer, shorter = sorted((subject.casefold(), object_name.casefold()), key=len, reverse=True)
    if shorter != longer and shorter in longer and not holds_name(description.casefold().replace(longer, " "), shorter):
        return ""  # "Sims", but the description holds only "Sims Museum"
    return description


def holds_name(description: str, name: str) -> bool:
    """Return whether a description holds at least half of the words of a name, articles left out."""
    name_words = words(name) - {"the", "a", "an"}
    return 2 * len(name_words & words(description)) >= len(name_words) > 0


def strings(text: str, key: str) -> tuple[list[str], Counter[str]]:
    """Return the non-empty strings of the list under ``key`` in a reply, and counts of what is wrong with the reply.

    Each string is on one line. Repeated strings are kept. Items that are no strings are left out and not counted.
    """
    notes: Counter[str] = Counter()
    listed = (clean(item) for item in as_list(read_reply(text, key, notes).get(key)) if isinstance(item, str))
    return [item for item in listed if item], notes


def read_reply(text: str, what: str, notes: Counter[str]) -> dict[str, Any]:
    """Return the JSON object of a reply, complete or truncated; empty if there is none.

    Problems are counted in ``notes``; ``what`` names the content in these notes.
    """
    encoded = text.encode("utf-8", "replace")
    try:
        parsed = from_json(encoded)
    except ValueError:
        notes[f"{what} cut off"] += 1
        try:
            parsed = from_json(encoded, allow_partial=True)
        except ValueError:
            parsed = None
    if isinstance(parsed, dict):
        return parsed
    del notes[f"{what} cut off"]
    notes["unreadable reply"] += 1
    return {}


def as_list(value: object) -> list[Any]:
    """Return a list unchanged, and an empty list for any other value."""
    return value if isinstance(value, list) else []


def _is_triple(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) and part.strip() for part in value)


def clean(text: str) -> str:
    """Return the text on one line, with a space for each character that a store refuses."""
    return as_line(_UNREADABLE.sub(" ", text))
