"""Win rates of one method's answers over another's, by a language model that compares them.

It knows a model and texts, no memory. Invariants: each pair of answers is judged in both orders, so a judge that
prefers the first answer of a prompt gives ties; equal answers are a tie without a judge.

Source: From Local to Global (GraphRAG), section on evaluation and appendix on its statistics. The paper repeats each
comparison five times with a sampling model and averages; a model of this library writes greedily, so that a repetition
would say the same, and the two orders take their place. The definitions of the criteria are in words of our own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from types import MappingProxyType

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.display import show
from memgraph_rag.errors import ModelError, SettingsError
from memgraph_rag.evaluation.dataset import Question
from memgraph_rag.evaluation.metrics import Interval, interval
from memgraph_rag.evaluation.outcomes import Outcome
from memgraph_rag.types import Prompt

CRITERIA: Mapping[str, str] = MappingProxyType(
    {
        "comprehensiveness": "It covers every side of what is asked, and goes into enough detail on each.",
        "diversity": "It brings several different points of view and insights on what is asked.",
        "empowerment": "It lets a reader understand the matter and form an opinion with reasons.",
        "directness": "It answers exactly what is asked, clearly and without detours.",
    }
)
"""What a good answer does, by criterion. Directness is the paper's control: long answers should lose by it."""

_TIE = "tie"
_REPLY_TOKENS = 256
_SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string", "maxLength": 400}, "winner": {"enum": ["1", "2", _TIE]}},
    "required": ["reason", "winner"],
    "additionalProperties": False,
}
_INSTRUCTION = (
    "Two people answered the same question. Compare their answers by one criterion only, {criterion}. A good answer "
    "does this: {definition}\n\nQuestion: {question}"
)
_TASK = (
    "Which answer is better by {criterion}? Give the reason in one or two sentences, then the winner: 1, 2, or tie if "
    "the answers hardly differ. Reply with one JSON object with the keys reason and winner."
)


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """The answers of two methods to one question."""

    question: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class WinRate:
    """How often the first method's answer is better by a criterion.

    Attributes:
        share: wins over all judged pairs, with its 95 % interval over pairs. A tie counts as half a win. It is a pair
            that the judge called alike, or for which its two verdicts disagree.
        unusable: pairs without a verdict, because one of the two replies could not be read. They do not count.
    """

    share: Interval
    unusable: int


def pair_answers(
    questions: Iterable[Question], first: Iterable[Outcome], second: Iterable[Outcome]
) -> list[AnswerPair]:
    """Return the pair of answers of two methods to each question that both answered without an error, in order."""
    firsts, seconds = ({each.question: each for each in outcomes if not each.error} for outcomes in (first, second))
    return [
        AnswerPair(question.text, firsts[question.id].answer, seconds[question.id].answer)
        for question in questions
        if question.id in firsts and question.id in seconds
    ]


def win_rate(judge: LanguageModel, pairs: Sequence[AnswerPair], criterion: str) -> WinRate:
    """Let a model judge how often the first answer of a pair is better. It reads each pair twice, in one batch.

    The reply is JSON under a grammar. A model on a server that replies in another form is asked once more by its
    ``generate``; a reply that still cannot be read makes its pair unusable.

    Args:
        criterion: a key of ``CRITERIA``.

    Raises:
        SettingsError: there is no such criterion.
        ModelError: the judge gave usable replies on fewer than two pairs.
        WindowExceeded: two answers do not fit the judge's window.
    """
    if criterion not in CRITERIA:
        raise SettingsError(
            f"Expected a criterion of {', '.join(CRITERIA)}, got {show(criterion)}. Choose one of them."
        )
    differing = [pair for pair in pairs if pair.first != pair.second]
    orders = ((pair, answers) for pair in differing for answers in permutations((pair.first, pair.second)))
    prompts = [_prompt(criterion, pair.question, *answers) for pair, answers in orders]
    written = judge.generate(prompts, max_tokens=_REPLY_TOKENS, schema=_SCHEMA)
    winners = [_read_winner(generation.text) for generation in written]
    verdicts = [_agree(forward, back) for forward, back in zip(winners[::2], winners[1::2], strict=True)]
    verdicts += [0.5] * (len(pairs) - len(differing))
    judged = [verdict for verdict in verdicts if verdict is not None]
    if len(judged) < 2:
        raise ModelError(
            f"Expected usable verdicts of {judge.name} on at least 2 pairs, got {len(judged)} of {len(pairs)}. "
            "Give more pairs, or another judge.", model=judge.name,
        )  # fmt: skip
    return WinRate(interval(judged), len(verdicts) - len(judged))


def _prompt(criterion: str, question: str, first: str, second: str) -> Prompt:
    instruction = _INSTRUCTION.format(criterion=criterion, definition=CRITERIA[criterion], question=question)
    return Prompt(instruction, (f"Answer 1:\n{first}\n", f"Answer 2:\n{second}\n"), _TASK.format(criterion=criterion))


def _read_winner(text: str) -> str:
    """Return "1", "2" or "tie"; empty if the reply is no JSON object that names one of them."""
    try:
        winner = str(json.loads(text)["winner"])
    except (ValueError, TypeError, LookupError):
        return ""
    return winner if winner in ("1", "2", _TIE) else ""


def _agree(forward: str, back: str) -> float | None:
    """Return 1 if the first answer won in both orders, 0 if it lost in both, else 0.5; None if a reply is unusable."""
    if not (forward and back):
        return None
    return {("1", "2"): 1.0, ("2", "1"): 0.0}.get((forward, back), 0.5)
