"""Let a language model write the text of an overview, and check it.

The module knows lines and no graph. Invariant: at least half of the words of a used text occur in the lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.layers.grounding import share_borne_out
from memgraph_rag.layers.prose import as_paragraph, goes_in_circles, usable_prose
from memgraph_rag.layers.surfaces import words
from memgraph_rag.types import Prompt, Usage

__all__ = ["write_prose"]

_INSTRUCTION = (
    "Below are lines from documents that say similar things, one on each line. Write one paragraph that says what they "
    "are about as a whole, and names what they speak of: people, places, works, kinds of things. Use only what the "
    "lines say. Use at most 70 words. Write only the paragraph, without introduction or explanation."
)
_BORNE_OUT = 0.5
_FEWEST_WORDS = 4


def write_prose(
    language: LanguageModel, groups: Sequence[Sequence[str]], *, max_tokens: int
) -> tuple[list[str], Counter[str], Usage]:
    """Return a paragraph for each group of lines, in order, counts of problems, and the usage.

    A paragraph is empty if the model's text is not usable, has fewer than four words, or if less than half of its words
    occur in the lines. If a single prompt with ``max_tokens`` does not fit the model's window, all paragraphs are
    empty.
    """
    notes: Counter[str] = Counter()
    prompts = [Prompt(_INSTRUCTION, tuple(lines)) for lines in groups]
    try:
        generations = language.generate(prompts, max_tokens=max_tokens, stop=goes_in_circles)
    except WindowExceeded:
        notes["overview made of sentences: the model's window is too small"] += len(groups)
        return [""] * len(groups), notes, Usage()
    texts: list[str] = []
    usage = Usage()
    for lines, generation in zip(groups, generations, strict=True):
        usage += generation.usage
        span, problems = usable_prose(generation.text, complete=generation.finish != "length")
        notes.update(problems)
        text = as_paragraph(generation.text[slice(*span)]) if span else ""
        is_confirmed = (
            len(words(text)) >= _FEWEST_WORDS and share_borne_out(text, (), words(" ".join(lines))) >= _BORNE_OUT
        )
        notes["overview made of sentences: the model wrote none that holds"] += not is_confirmed
        texts.append(text if is_confirmed else "")
    return texts, +notes, usage
