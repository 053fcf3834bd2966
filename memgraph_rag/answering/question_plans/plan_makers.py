"""Makers of plans: rules over a parse of the question, or a language model that writes the plan as JSON.

It knows a parser and a language model by their contracts. Invariant: a plan names only things and phrases that the
question contains word for word; another reply of a model is no plan.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memgraph_rag.answering.question_plans.comparison import Comparison, find_comparison
from memgraph_rag.answering.question_plans.hops import Hop, find_hop
from memgraph_rag.contracts import FindPhrases, LanguageModel
from memgraph_rag.display import show
from memgraph_rag.errors import ModelError
from memgraph_rag.types import Prompt, Usage

logger = logging.getLogger(__name__)

_Words = Collection[str]
_TOKENS = 200
_HOW = ("earlier", "later", "larger", "smaller", "same", "same country")
_TEXT: Mapping[str, Any] = {"type": "string"}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "plan": {"enum": ["compare", "hop", "direct"]},
        "things": {"type": "array", "items": _TEXT, "maxItems": 2},
        "how": {"enum": _HOW},
        "phrase": _TEXT,
        "ask": _TEXT,
    },
    "required": ["plan", "things", "how", "phrase", "ask"],
    "additionalProperties": False,
}
_PROMPT = """\
Plan how to answer a question from a library that is searched one simple question at a time. Reply with JSON.
"compare": the question compares two things by a date, a quantity or an attribute. "things" are their names, copied \
from the question, "ask" is the question for each of them with {} in place of its name, "how" says which thing is the \
answer.
"hop": the question describes a thing by a phrase, and the name of that thing must be found first. "phrase" is the \
innermost such phrase, copied from the question, and "ask" is the question for its name.
"direct": all other questions.

Question: Who was born first, Ann Lee or Bo Ray?
{"plan": "compare", "things": ["Ann Lee", "Bo Ray"], "how": "earlier", "phrase": "", "ask": "When was {} born?"}
Question: In which city did the director of Solaris die?
{"plan": "hop", "things": [], "how": "same", "phrase": "the director of Solaris", "ask": "Who directed Solaris?"}
Question: Who directed Solaris?
{"plan": "direct", "things": [], "how": "same", "phrase": "", "ask": ""}
Question: """


class MakePlans(Protocol):
    """Finds the plans of one question. The arguments are those of the functions of the same names.

    Attributes:
        usage: what a model cost so far.
    """

    usage: Usage

    def find_comparison(self, question: str, find_titles: Callable[[], Sequence[str]], /) -> Comparison | None:
        """Return the comparison that a question asks for, or None."""
        ...

    def find_hop(self, question: str, titles: Sequence[str], /, *, values: _Words, without: _Words) -> Hop | None:
        """Return the phrase for a thing whose name must be found first, or None; arguments as in ``hops.find_hop``."""
        ...


@dataclass(slots=True)
class RulePlans:
    """Plans by rules over the noun phrases of a parser."""

    find_phrases: FindPhrases
    usage: Usage = field(default_factory=Usage)

    def find_comparison(self, question: str, find_titles: Callable[[], Sequence[str]], /) -> Comparison | None:
        """Return the comparison that the words of a question ask for, or None."""
        return find_comparison(question, find_titles)

    def find_hop(self, question: str, titles: Sequence[str], /, *, values: _Words, without: _Words) -> Hop | None:
        """Return the shortest phrase around a name, or None."""
        return find_hop(question, titles, self.find_phrases, values=values, without=without)


@dataclass(slots=True)
class ModelPlans:
    """Plans that a language model writes; each question is sent once. Without a reply there is no plan."""

    model: LanguageModel
    usage: Usage = field(default_factory=Usage)
    _written: dict[str, Comparison | Hop | None] = field(default_factory=dict[str, Comparison | Hop | None])

    def find_comparison(self, question: str, _find_titles: Callable[[], Sequence[str]], /) -> Comparison | None:
        """Return the comparison that the model writes, or None."""
        return plan if isinstance(plan := self._write(question), Comparison) else None

    def find_hop(self, question: str, _titles: Sequence[str], /, *, values: _Words, without: _Words) -> Hop | None:
        """Return the phrase that the model copies from the question, or None."""
        plan = self._write(question)
        return plan if isinstance(plan, Hop) and plan.phrase not in (*values, *without) else None

    def _write(self, question: str) -> Comparison | Hop | None:
        if question not in self._written:
            self._written[question] = None
            prompt = Prompt(_PROMPT + " ".join(question.split()), ())
            try:
                (reply,) = self.model.generate([prompt], max_tokens=_TOKENS, schema=_SCHEMA)
                self.usage += reply.usage
                self._written[question] = _read_plan(question, json.loads(reply.text))
            except ModelError as error:
                logger.warning("The question is asked without a plan, because its model failed: %s", error)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                logger.warning("The question is asked without a plan, because the model wrote none: %s", show(error))
        return self._written[question]


def _read_plan(question: str, reply: Mapping[str, Any]) -> Comparison | Hop | None:
    """Return the plan of a reply; None if it copies a thing or a phrase that the question does not contain."""
    asked, phrase = str(reply["ask"]), str(reply["phrase"])
    if reply["plan"] == "compare":
        first, second = map(str, reply["things"])
        is_copied = len(first) > 0 and len(second) > 0 and first in question and second in question
        has_place = "{}" in asked and asked.count("{") == asked.count("}") == 1
        return Comparison((first, second), reply["how"], asked) if is_copied and has_place else None
    is_part = 0 < len(phrase) < len(question.rstrip("?. ")) and phrase in question
    return Hop(phrase, asked) if reply["plan"] == "hop" and is_part and asked else None
