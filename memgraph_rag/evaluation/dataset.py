"""A folder of evaluation data: documents, questions, their answers, and the places of the evidence.

It knows the format (``docs.jsonl``, ``questions.jsonl``, optionally ``turns.jsonl``), but no store and no metric. Sets
in the formats of their authors come as rows of this format from ``paper_formats``.
Invariant: a folder has one kind of evidence: turns if it has them, else documents, else spans.
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

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.evaluation.paper_formats import read_paper_set
from memgraph_rag.text.chat import render
from memgraph_rag.types import Document, Message

Span = tuple[str, int, int]
"""The key of a document, and the characters ``[start, end)`` of its text."""

_TIMES = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M")  # of locomo and of longmemeval_mini
_EVIDENCE = {"turn": "evidence_turn_ids", "document": "evidence_doc_ids", "span": "evidence_spans"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answers and its evidence.

    Attributes:
        id: unique in its folder.
        documents: keys of the documents to search; None means all documents.
        units: keys of the documents, or ids of the turns, that hold the evidence.
        spans: character spans of the evidence. At most one of ``units`` and ``spans`` is filled.
        answers: reference answers, any of which is right; may be empty.
        options: the options of a multiple choice question.
        gold: the place of the right option, from 0; -1 without options.
        unanswerable: whether the right behaviour is to abstain.
        context: keys of the documents that came with this question (the closed setting).
        type: the question's type in the set, such as "temporal"; empty if the set has no types.
        is_judged: whether a judge compares the answers, so that the question needs no reference answer.
    """

    id: str
    text: str
    documents: tuple[str, ...] | None = None
    units: frozenset[str] = frozenset()
    spans: tuple[Span, ...] = ()
    answers: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    gold: int = -1
    unanswerable: bool = False
    context: tuple[str, ...] = ()
    type: str = ""
    is_judged: bool = False

    @property
    def has_evidence(self) -> bool:
        """Whether the evidence is known: documents or turns (``units``), or characters (``spans``)."""
        return bool(self.units or self.spans)

    @property
    def can_be_asked(self) -> bool:
        """Whether an answer can be scored: by reference answers, options, a judge, or as an abstention."""
        return bool(self.answers or self.options or self.unanswerable or self.is_judged)


@dataclass(frozen=True, slots=True)
class Folder:
    """An evaluation set: documents, and questions with known answers and evidence.

    Attributes:
        kind: the kind of the evidence.
        turns: by the key of a conversation, the start of each message in the document's text, and its id.
    """

    name: str
    kind: Literal["turn", "document", "span"]
    documents: Sequence[Document]
    questions: Sequence[Question]
    turns: Mapping[str, Sequence[tuple[int, str]]]

    def sample_questions(self, most: int | None) -> Folder:
        """Return the folder with at most ``most`` questions, evenly spaced; None keeps all. All documents stay."""
        count = len(self.questions)
        if most is None or most >= count:
            return self
        return replace(self, questions=[self.questions[place * count // most] for place in range(most)])

    def keep_first_documents(self, most: int | None) -> Folder:
        """Return the folder with only the questions about the first ``most`` documents that questions name, by key.

        A question stays if all its documents are among the first ``most``, or if it is about all documents. All
        documents of the folder stay. None keeps all questions.
        """
        if most is None:
            return self
        keys = sorted({key for question in self.questions for key in question.documents or ()})[:most]
        asked = [
            question for question in self.questions if question.documents is None or {*question.documents} <= {*keys}
        ]
        return replace(self, questions=asked)

    def keep_searched_documents(self) -> Folder:
        """Return the folder with only the documents that its questions search: all if a question searches all."""
        if any(question.documents is None for question in self.questions):
            return self
        keys = {key for question in self.questions for key in question.documents or ()}
        return replace(self, documents=[document for document in self.documents if document.key in keys])

    def find_evidence_unit(self, key: str, start: int) -> str:
        """Return the unit of evidence at a character of a document: the turn's id, or the document's key without turns.

        Raises:
            KeyError: the folder has turns, but no turn of this document.
        """
        if self.kind != "turn":
            return key
        return self.turns[key][bisect_right(self.turns[key], start, key=itemgetter(0)) - 1][1]


def read_folder(path: Path, *, documents: Path | None = None) -> Folder:
    """Read an evaluation set, documents and questions, from a folder or a file of questions.

    A file ``turns.jsonl`` next to the questions makes conversations. Without ``docs.jsonl``, a set in the format of its
    authors is read, such as ``hotpot_dev_distractor_v1.json`` (``read_paper_set``).

    Args:
        path: a folder with ``questions.jsonl``, a file of questions, or a published set's file or folder.
        documents: by default ``docs.jsonl`` next to the questions.

    Raises:
        DocumentError: a file is missing or has another form, or a document that a question names (to search, as context
            or as evidence) is missing. The ids of evidence turns are not checked.
    """
    questions = path / "questions.jsonl" if path.is_dir() or not path.suffix else path
    if documents is None and not questions.with_name("docs.jsonl").is_file():
        name, rows, asked = read_paper_set(path)
    else:
        name = questions.resolve().parent.name if questions.name == "questions.jsonl" else questions.stem
        rows, asked = _rows(documents or questions.with_name("docs.jsonl")), _rows(questions)
    beside = questions.with_name("turns.jsonl")
    try:
        conversations = dict(_conversations(rows, _rows(beside))) if beside.is_file() else {}
        loaded = [
            conversations[row["doc_id"]][0]
            if row["doc_id"] in conversations
            else Document(row["text"], key=row["doc_id"], title=row.get("title", ""))
            for row in rows
        ]
        turns = {key: starts for key, (_, starts) in conversations.items()}
        kind = "turn" if turns else "document" if any(row.get("evidence_doc_ids") for row in asked) else "span"
        folder = Folder(name, kind, loaded, [_question(row, place, kind) for place, row in enumerate(asked)], turns)
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(
            f'Expected the format of the evaluation data in {show(path)}, {{"question": …}} and {{"doc_id": …, '
            f'"text": …}}, got {type(error).__name__}: {show(error)}. Mend the line.',
            path=path,
        ) from error
    _check(folder, path)
    return folder


def close_folder(folder: Folder) -> Folder:
    """Return the folder in the closed setting: each question is about one document made of its own paragraphs.

    The key of such a document is the question's id. Each paragraph follows its title, and the evidence is the span of
    each paragraph that holds it. Evidence that is turns or spans is dropped. Questions that name their documents stay
    unchanged, and so do these documents.

    Raises:
        DocumentError: a question is about all documents and has no ``context``.
    """
    by_key = {document.key: document for document in folder.documents}
    named = {key for question in folder.questions for key in question.documents or ()}
    documents = [document for document in folder.documents if document.key in named]
    questions: list[Question] = []
    for question in folder.questions:
        if question.documents is not None:
            questions.append(question)
            continue
        if not question.context:
            raise DocumentError(f"Expected context_doc_ids with each question of {folder.name}, got none. Add them.")
        text, spans = "", []
        for key in question.context:
            paragraph = f"{by_key[key].title}\n{by_key[key].text}\n\n"
            if key in question.units:
                spans.append((question.id, len(text), len(text) + len(paragraph)))
            text += paragraph
        documents.append(Document(text, key=question.id))
        questions.append(replace(question, documents=(question.id,), units=frozenset(), spans=tuple(spans)))
    kind = folder.kind if folder.kind == "turn" else "span"
    return replace(folder, name=f"{folder.name} closed", kind=kind, documents=documents, questions=questions)


def _check(folder: Folder, path: Path) -> None:
    keys = {document.key for document in folder.documents}
    turns = {name for starts in folder.turns.values() for _, name in starts}
    for question in folder.questions:
        units = () if turns else question.units
        named = {*(question.documents or ()), *units, *question.context, *(key for key, _, _ in question.spans)}
        if missing := sorted(named - keys):
            raise DocumentError(
                f"Expected the documents of every question in {show(path)}, got none with the id {show(missing[0])}. "
                "Add it."
            )


def _rows(path: Path) -> list[Mapping[str, Any]]:
    try:
        with path.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.strip()]
    except FileNotFoundError as error:
        raise DocumentError(
            f"Expected a folder with docs.jsonl and questions.jsonl, got no {path.name} in {path.parent}. Name "
            "another folder.",
            path=path,
        ) from error
    except (OSError, ValueError) as error:
        raise DocumentError(
            f"Expected one JSON object a line in {show(path)}, got an error: {show(error)}. Mend the line.", path=path
        ) from error


def _question(row: Mapping[str, Any], place: int, kind: str) -> Question:
    evidence = row.get(_EVIDENCE[kind]) or ()
    spans = ((span["doc_id"], span["start"], span["end"]) for span in evidence) if kind == "span" else ()
    units = () if kind == "span" else _texts(row, _EVIDENCE[kind])
    answers = row.get("answers")
    return Question(
        str(row.get("qid", place)),
        row["question"],
        documents=_texts(row, "doc_ids") or None,
        units=frozenset(units),
        spans=tuple(span for span in spans if span[1] < span[2]),
        answers=(answers,) if answers and isinstance(answers, str) else _texts(row, "answers"),
        options=_texts(row, "options"),
        gold=row.get("gold_option", -1),
        unanswerable=bool(row.get("unanswerable")),
        context=_texts(row, "context_doc_ids"),
        type=str(row.get("type") or ""),
    )


def _texts(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the list under a name of a row, with numbers as text; empty if the name is missing.

    Raises:
        TypeError: the value is not a list of texts and numbers.
    """
    values = row.get(name) or []
    if not isinstance(values, list) or not all(isinstance(value, (str, int, float)) for value in values):
        raise TypeError(f"Expected a list of texts as {show(name)}, got {show(values)}")
    return tuple(map(str, values))


def _conversations(
    rows: Sequence[Mapping[str, Any]], turns: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, tuple[Document, list[tuple[int, str]]]]]:
    """Yield each conversation by key, as the library renders chat messages, with the start and id of each turn.

    The words of a turn are cut from the folder's own document text by its offsets, because that text may hold more than
    the turn's "text", such as the description of a photo. Turns without words are left out, so no search finds them.
    """
    of_document = {row["doc_id"]: row for row in rows}
    said: dict[str, list[tuple[str, Message]]] = defaultdict(list)
    for turn in turns:
        key, speaker = turn["doc_id"], turn["speaker"]
        words = of_document[key]["text"][turn["start"] : turn["end"]].removeprefix(f"{speaker}: ")
        if words.strip():
            said[key].append((turn["turn_id"], Message(speaker, words, read_time(turn.get("date", "")))))
    for key, messages in said.items():
        text, spoken = render([message for _, message in messages])
        starts = [(turn.start, turn_id) for turn, (turn_id, _) in zip(spoken, messages, strict=True)]
        yield key, (Document(text, key=key, title=of_document[key].get("title", ""), turns=spoken), starts)


def read_time(text: str) -> str | None:
    """Convert a date as LoCoMo or LongMemEval writes it to ISO 8601, to the minute. Return None for any other text.

    >>> read_time("1:56 pm on 8 May, 2023")
    '2023-05-08T13:56'
    """
    for form in _TIMES:
        try:
            return datetime.strptime(text, form).isoformat(timespec="minutes")
        except ValueError:
            continue
    return None
