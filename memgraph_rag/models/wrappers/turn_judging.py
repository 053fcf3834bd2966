"""A judge of turns for any language model: its own if it has one, else one call of ``generate``; verdicts are kept.

The module knows models by their contracts. Invariants: a turn is judged once for a question while its verdict is kept;
each verdict is a number from 0 to 1.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.display import show
from memgraph_rag.errors import ModelError
from memgraph_rag.models.wrappers.checked_models import is_usage
from memgraph_rag.types import Prompt, TurnVerdicts, Usage, as_line

_MOST_KEPT = 8_192  # verdicts
_MOST_VALUE = 60  # characters of a value in the reply
_TOKENS_EACH = 24  # of the reply, for each turn
_MOST_STATING = 7  # turns that may all state what is asked; a model for which more do copies each turn
_NOTHING = "no"
_REQUEST = (
    "A person wrote the numbered messages below to an assistant, at different times. For each message, copy from it "
    "the answer to the question, as it is from that message on, or write no. Write no for a plan, a wish, a question, "
    "a joke, another person's thing, and another matter.\n\nQuestion: {question}"
)


class TurnJudging:
    """A ``TurnJudge`` that keeps the verdicts of a language model. Several threads may use it."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        own = getattr(model, "judge_turns", None)
        self._judge: Callable[[str, Sequence[str]], object] = own if callable(own) else partial(write_verdicts, model)
        self._is_calibrated = False
        self._kept: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = threading.Lock()

    def judge_turns(self, question: str, turns: Sequence[str]) -> TurnVerdicts:
        """Return how likely each turn states what the question asks; only turns without a kept verdict are read.

        Raises:
            ModelError: the model returned something else than one number from 0 to 1 for each turn.
        """
        with self._lock:
            known = {turn: self._kept[question, turn] for turn in turns if (question, turn) in self._kept}
        unknown = [turn for turn in dict.fromkeys(turns) if turn not in known]
        usage = Usage()
        if unknown:
            verdicts = self._check(self._judge(question, unknown), len(unknown))
            known |= dict(zip(unknown, verdicts.probabilities, strict=True))
            usage, self._is_calibrated = verdicts.usage, verdicts.is_calibrated
        with self._lock:
            for turn in unknown:
                self._kept[question, turn] = known[turn]
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return TurnVerdicts(tuple(known[turn] for turn in turns), self._is_calibrated, usage)

    def _check(self, verdicts: object, count: int) -> TurnVerdicts:
        """Return the verdicts of a model, which may be a user's own, with its probabilities as floats."""
        if isinstance(verdicts, TurnVerdicts) and is_usage(verdicts.usage):
            with suppress(TypeError, ValueError):
                numbers = tuple(float(number) for number in verdicts.probabilities)
                if len(numbers) == count and all(0 <= number <= 1 for number in numbers):
                    return replace(verdicts, probabilities=numbers)
        raise ModelError(
            f"Expected {count} verdicts from 0 to 1 of {self._model.name}, got {show(verdicts)}. "
            "Correct its method judge_turns.", model=self._model.name,
        )  # fmt: skip


def write_verdicts(model: LanguageModel, question: str, turns: Sequence[str]) -> TurnVerdicts:
    """Ask a model in one call; return 1 for each turn for which it wrote a value with a word of the turn, else 0.

    The model replies in JSON: the value that each turn states, or "no". A reply that is not complete JSON counts as far
    as it goes. The verdicts are not calibrated if each of eight turns or more has a value: a small model copies every
    message.

    Raises:
        WindowExceeded: the turns do not fit the window.
        ModelUnavailable: the server did not answer.
    """
    numbers = [str(number) for number in range(1, len(turns) + 1)]
    schema = {
        "type": "object",
        "properties": {number: {"type": "string", "maxLength": _MOST_VALUE} for number in numbers},
        "required": numbers,
        "additionalProperties": False,
    }
    lines = tuple(f"{number}. {as_line(turn)}" for number, turn in zip(numbers, turns, strict=True))
    prompt = Prompt(_REQUEST.format(question=question), lines)
    (written,) = model.generate([prompt], max_tokens=_TOKENS_EACH * len(turns), schema=schema)
    values = _read_values(written.text)
    told = (values.get(number, _NOTHING) for number in numbers)
    probabilities = tuple(float(_is_said(value, turn)) for value, turn in zip(told, turns, strict=True))
    is_calibrated = len(turns) <= _MOST_STATING or not all(probabilities)
    return TurnVerdicts(probabilities, is_calibrated, written.usage)


def _read_values(text: str) -> dict[str, str]:
    """Return the values of a JSON object by key. A cut object gives the values before the cut."""
    for end in (text, f'{text}"}}', f"{text}}}", f"{text.rpartition(',')[0]}}}"):
        try:
            read = json.loads(end)
        except (ValueError, RecursionError):
            continue
        return {key: value for key, value in read.items() if isinstance(value, str)} if isinstance(read, dict) else {}
    return {}


def _is_said(value: str, turn: str) -> bool:
    """Return whether a value has a word of a turn: a model may write a value that the turn does not hold."""
    words = [bare for word in value.casefold().split() if (bare := word.strip(".,;:!?\"'"))]
    said = as_line(turn.casefold())
    return value.casefold().strip(" .") != _NOTHING and any(word in said for word in words)
