"""Labelled questions, from which a language model is calibrated.

The module knows tokens and vectors, but no files and no language models. Invariants: a question comes with its
answering texts and with the most similar other texts, all cut at the same length; equal sets, limits and seeds give
equal questions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memgraph_rag.contracts import Embedder, Progress, query_vectors
from memgraph_rag.errors import DocumentError

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.calibrate import Plan

_BLOCK = 256  # texts that are embedded at a time

Cut = Callable[[str], tuple[str, bool]]
"""A function that cuts a text to the allowed length and says whether the text is complete."""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with its answering texts and with other texts.

    Attributes:
        gold: the texts that together answer the question.
        others: texts that do not answer it.
        is_whole: whether no answering text was cut.
    """

    text: str
    gold: tuple[str, ...]
    others: tuple[str, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """The documents of a folder by key, and each question with the keys of its answering documents."""

    name: str
    documents: Mapping[str, str]
    questions: Sequence[tuple[str, tuple[str, ...]]]


def choose_questions(
    labelled: LabelledSet, plan: Plan, cut: Cut, embedder: Embedder, *, progress: Progress | None = None
) -> list[LabelledQuestion]:
    """Return at most ``plan.limit`` random questions; questions whose answering texts need no cut come first.

    Questions with more answering documents than half of the candidates are left out. The other texts of a question are
    the documents most similar to it, up to the number of candidates, most similar first.

    Args:
        cut: cuts each document before it is embedded.
        progress: called while the documents are embedded.

    Raises:
        DocumentError: there are fewer documents than candidates, or no question is left.
    """
    candidates = plan.candidates
    texts = {name: cut(text) for name, text in labelled.documents.items()}
    usable = [(question, gold) for question, gold in labelled.questions if 2 * len(gold) <= candidates]
    if len(texts) < candidates or not usable:
        raise DocumentError(
            f"Expected at least {candidates} documents and a question that at most {candidates // 2} of them answer in "
            f"{labelled.name}, got {len(texts)} and {len(usable)}. Give more documents, or fewer --candidates.",
            name=labelled.name,
        )
    random.Random(plan.seed).shuffle(usable)  # noqa: S311 - no secret
    whole = [all(texts[name][1] for name in gold) for _, gold in usable]
    chosen = sorted(range(len(usable)), key=lambda place: not whole[place])[: plan.limit]
    names = list(texts)
    vectors = _embed([texts[name][0] for name in names], embedder, labelled.name, progress)
    questions = []
    for place in chosen:
        question, gold = usable[place]
        similarity = vectors @ query_vectors(embedder, [question])[0]
        nearest = (names[at] for at in np.argsort(-similarity, kind="stable").tolist())
        others = [name for name in nearest if name not in gold][: candidates - len(gold)]
        chosen_texts = [tuple(texts[name][0] for name in some) for some in (gold, others)]
        questions.append(LabelledQuestion(question, chosen_texts[0], chosen_texts[1], whole[place]))
    return questions


def _embed(texts: Sequence[str], embedder: Embedder, name: str, progress: Progress | None) -> np.ndarray:
    parts = []
    for start in range(0, len(texts), _BLOCK):
        parts.append(embedder.embed(texts[start : start + _BLOCK]))
        if progress is not None:
            progress(f"embedding {name}", min(start + _BLOCK, len(texts)), len(texts))
    return np.concatenate(parts)
