"""The short form of an answer: the phrase that answers, without a sentence around it.

It knows the session by its contract. Invariants: the session holds afterwards what it held before; whatever the model
replies, the short form is one line, and no longer than the sentence.
"""

from __future__ import annotations

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.errors import WindowExceeded

__all__ = ["short_form"]

_FEW_WORDS = 3  # a sentence of so few is short already: a name, a date, a letter
_MOST_TOKENS = 24
_REQUEST = (
    "Answer the question from the information above, with the shortest phrase that answers it. No sentence.\n\n"
    "Question: {question}"
)


def short_form(session: ReadingSession, question: str, sentence: str) -> str:
    """The shortest phrase that answers the question, asked behind what was read; it costs one short turn.

    Without the sentence in the request: with it, the 1.5B model copies the wrong part (``docs/decisions``). Empty where
    the window has no room for it.
    """
    if len(sentence.split()) <= _FEW_WORDS:
        return _bare(sentence)
    try:
        reply = session.reply(_REQUEST.format(question=question), max_tokens=_MOST_TOKENS)
    except WindowExceeded:
        return ""
    phrase = _bare(next(filter(str.strip, reply.splitlines()), ""))
    return phrase if 0 < len(phrase) <= len(sentence) else _bare(sentence)


def _bare(text: str) -> str:
    """A phrase without the quotation marks around it and the full stop behind it.

    >>> _bare(' "The River Thames." '), _bare("Washington, D.C.")
    ('The River Thames', 'Washington, D.C.')
    """
    phrase = text.strip().strip('"“”').strip()
    return phrase[:-1] if phrase.endswith(".") and phrase.count(".") == 1 else phrase
