"""What a language model says of documents that lie together, and what of it is used as the text of their overview.

It knows lines, and no graph. Invariant: what is used says little that the lines do not: at least half of its words are
theirs.
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
    """A paragraph on each group of lines, empty where none can be used; what was odd, counted; and what it cost."""
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
        span, odd = usable_prose(generation.text, complete=generation.finish != "length")
        notes.update(odd)
        text = as_paragraph(generation.text[slice(*span)]) if span else ""
        holds = len(words(text)) >= _FEWEST_WORDS and share_borne_out(text, (), words(" ".join(lines))) >= _BORNE_OUT
        notes["overview made of sentences: the model wrote none that holds"] += not holds
        texts.append(text if holds else "")
    return texts, +notes, usage
