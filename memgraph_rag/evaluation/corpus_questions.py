"""Questions about a whole corpus, asked from a language model: for folders that have no questions.

It knows a model and documents, no memory. Invariant: no two questions are equal but for case and white space.

Source: From Local to Global (GraphRAG), algorithm 1: from a description of the corpus the model names people who would
use it, tasks of each of them, and questions for each task that need an understanding of the whole. The paper gives the
description by hand and takes 5, 5 and 5; here it is the titles and first sentences of documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.errors import ModelError
from memgraph_rag.evaluation.dataset import Question
from memgraph_rag.types import Document, Prompt

_DESCRIPTION_TOKENS = 1024
_LONGEST = 200  # characters of a first sentence, and of an item of a reply
_TOKENS_EACH = 64  # of a reply, for each item
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s|\n")
_ABOUT = "A collection holds many documents. Some of them, with their first sentences:"
_PEOPLE = "Name {count} different kinds of people who would work with this collection, each with what they care about."
_TASKS = "One who works with this collection: {person}\nName {count} tasks for which this person would use it."
_QUESTIONS = (
    "One who works with this collection: {person}\nThe task: {task}\nWrite {count} questions of this person for this "
    "task. Each needs an understanding of the whole collection, such as its themes, patterns or differences, and asks "
    "for no single fact of one document."
)


def corpus_questions(
    model: LanguageModel, documents: Sequence[Document], *, people: int = 5, tasks: int = 5, questions: int = 5
) -> list[Question]:
    """Let a model write at most ``people * tasks * questions`` questions about all documents together.

    They have no answers and no evidence. Their type is "global". Use them as
    ``dataclasses.replace(folder, questions=…)``.

    Raises:
        ModelError: the model wrote no question.
    """
    description = _describe(model, documents)
    persons = _ask(model, description, [_PEOPLE.format(count=people)], people)[0]
    of_person = _ask(model, description, [_TASKS.format(count=tasks, person=each) for each in persons], tasks)
    pairs = [(person, task) for person, listed in zip(persons, of_person, strict=True) for task in listed]
    requests = [_QUESTIONS.format(count=questions, person=person, task=task) for person, task in pairs]
    distinct: dict[str, str] = {}
    for listed in _ask(model, description, requests, questions):
        for text in listed:
            distinct.setdefault(text.casefold(), text)
    if not distinct:
        raise ModelError(
            f"Expected questions of {model.name}, got none. Give another model, or questions.jsonl.", model=model.name
        )
    return [Question(f"global-{number}", text, type="global") for number, text in enumerate(distinct.values())]


def _describe(model: LanguageModel, documents: Sequence[Document]) -> tuple[str, ...]:
    """Return titles and first sentences of documents at even distances, as many as fit."""
    lines = [_first_words(document) for document in documents]
    most = max(_DESCRIPTION_TOKENS * len(lines) // max(sum(model.count_tokens(lines)), 1), 1)
    step = max(len(lines) / most, 1)
    return tuple(lines[int(place * step)] for place in range(min(most, len(lines))))


def _first_words(document: Document) -> str:
    sentence = _SENTENCE_END.split(document.text.strip(), maxsplit=1)[0][:_LONGEST]
    return f"- {document.title}: {sentence}" if document.title else f"- {sentence}"


def _ask(model: LanguageModel, description: tuple[str, ...], requests: Sequence[str], count: int) -> list[list[str]]:
    """Return the items of a list that the model writes for each request, at most ``count`` of each."""
    if not requests:
        return []
    items = {"type": "array", "items": {"type": "string", "maxLength": _LONGEST}, "minItems": 1, "maxItems": count}
    schema = {"type": "object", "properties": {"items": items}, "required": ["items"], "additionalProperties": False}
    task = 'Reply with one JSON object, {"items": ["…"]}.'
    prompts = [Prompt(_ABOUT, description, f"{request}\n{task}") for request in requests]
    written = model.generate(prompts, max_tokens=_TOKENS_EACH * (count + 1), schema=schema)
    return [_read_items(generation.text)[:count] for generation in written]


def _read_items(text: str) -> list[str]:
    """Return the texts of a reply on one line each; none if the reply is no such object."""
    try:
        items = json.loads(text)["items"]
    except (ValueError, TypeError, LookupError):
        return []
    listed = items if isinstance(items, list) else []
    return [line for item in listed if isinstance(item, str) and (line := " ".join(item.split()))]
