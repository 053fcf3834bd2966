"""A folder of evaluation data, as the benchmarks use it: documents to add, questions, and where their evidence is.

It knows the format (``docs.jsonl``, ``questions.jsonl``, perhaps ``turns.jsonl``), and neither store nor metric.
Invariant: a folder has one kind of evidence (turns before documents before spans); questions without it are left out.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from memgraph_rag import Document
from memgraph_rag.text.loading import load
from memgraph_rag.types import Segment

__all__ = ["Folder", "FolderError", "Question", "Span", "read_folder", "read_time"]

Span = tuple[str, int, int]
"""Key of a document, its first character, the one behind the last."""

_TIMES = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M")  # of locomo and of longmemeval_mini


class FolderError(Exception):
    """A folder is not what the benchmarks can read."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its evidence.

    ``documents`` are the keys of those to be searched; None is all. ``units`` are the documents (keys) or turns (ids)
    that hold the evidence, ``spans`` are its characters; one of the two is empty.
    """

    text: str
    documents: tuple[str, ...] | None = None
    units: frozenset[str] = frozenset()
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds.

    ``turns`` are, by the key of a conversation, where each message begins in the document's text, and its id.
    """

    name: str
    kind: Literal["turn", "document", "span"]
    documents: Sequence[Document]
    questions: Sequence[Question]
    turns: Mapping[str, Sequence[tuple[int, str]]]

    def limited(self, most: int | None) -> Folder:
        """The folder with at most so many questions, taken at even distances."""
        count = len(self.questions)
        if most is None or most >= count:
            return self
        return replace(self, questions=[self.questions[place * count // most] for place in range(most)])

    def unit_of(self, key: str, segment: Segment) -> str:
        """What a segment counts for: the id of the turn in which it lies, else its document's key."""
        if self.kind != "turn":
            return key
        return self.turns[key][bisect_right(self.turns[key], segment.start, key=itemgetter(0)) - 1][1]


def read_folder(path: Path) -> Folder:
    """The documents and questions of a folder.

    Raises:
        FolderError: a file is missing or of another form, or no question names its evidence.
    """
    rows = _rows(path / "docs.jsonl")
    asked = _rows(path / "questions.jsonl")
    try:
        if (path / "turns.jsonl").is_file():
            conversations = dict(_conversations(rows, _rows(path / "turns.jsonl")))
        else:
            conversations = {}
        documents = [
            conversations[row["doc_id"]][0]
            if row["doc_id"] in conversations
            else Document(row["text"], key=row["doc_id"], title=row["title"])
            for row in rows
        ]
        turns = {key: turns for key, (_, turns) in conversations.items()}
        kind, questions = _questions(asked, has_turns=bool(turns))
    except KeyError as error:
        raise FolderError(f"Expected the format of the evaluation data in {path}, but {error} is missing.") from error
    if not questions:
        raise FolderError(
            f"Expected questions with evidence_doc_ids, evidence_spans, or evidence_turn_ids and turns.jsonl, "
            f"got {len(asked)} without in {path}."
        )
    return Folder(path.resolve().name, kind, documents, questions, turns)


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise FolderError(
            f"Expected a folder with docs.jsonl and questions.jsonl, but there is no {path.name} in {path.parent}."
        )
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def _conversations(
    rows: Sequence[dict[str, Any]], turns: Sequence[dict[str, Any]]
) -> Iterator[tuple[str, tuple[Document, list[tuple[int, str]]]]]:
    """Each conversation as the library renders it, and its turns there.

    The folder's offsets are of its own rendering. What was said is taken from there, because it may hold what the
    turn's "text" does not, such as the description of a photo. A turn without a word is left out, so never found.
    """
    of_document = {row["doc_id"]: row for row in rows}
    said: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for turn in turns:
        key = turn["doc_id"]
        words = of_document[key]["text"][turn["start"] : turn["end"]].removeprefix(f"{turn['speaker']}: ")
        if words.strip():
            message = {"role": turn["speaker"], "content": words, "time": read_time(turn.get("date", ""))}
            said[key].append((turn["turn_id"], message))
    for key, messages in said.items():
        document = load([message for _, message in messages], key=key, title=of_document[key]["title"])
        ids = (turn_id for turn_id, _ in messages)
        yield key, (document, [(turn.start, one) for turn, one in zip(document.turns, ids, strict=True)])


def read_time(text: str) -> str | None:
    """A date of the folders as ISO 8601; None where it is none.

    >>> read_time("1:56 pm on 8 May, 2023")
    '2023-05-08T13:56'
    """
    for form in _TIMES:
        try:
            return datetime.strptime(text, form).isoformat(timespec="minutes")
        except ValueError:
            continue
    return None


def _questions(
    rows: Sequence[dict[str, Any]], *, has_turns: bool
) -> tuple[Literal["turn", "document", "span"], list[Question]]:
    """The folder's kind of evidence, and the questions that have it."""
    kind: Literal["turn", "document", "span"] = "span"
    if has_turns:
        kind = "turn"
    elif any(row.get("evidence_doc_ids") for row in rows):
        kind = "document"
    name = {"turn": "evidence_turn_ids", "document": "evidence_doc_ids", "span": "evidence_spans"}[kind]
    questions = []
    for row in rows:
        if not row.get(name):
            continue
        question = Question(row["question"], documents=tuple(row["doc_ids"]) or None)
        if kind == "span":
            spans = tuple(
                (span["doc_id"], span["start"], span["end"]) for span in row[name] if span["start"] < span["end"]
            )
            questions.append(replace(question, spans=spans))
        else:
            questions.append(replace(question, units=frozenset(row[name])))
    return kind, questions
