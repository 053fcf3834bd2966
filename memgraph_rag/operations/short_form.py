"""The short form of an answer: the phrase of its sentence that the question asks for.

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
    "Question: {question}\nAnswer: {sentence}\n\nReply with only the part of this answer that the question asks for, "
    "as the shortest phrase: a name, a date, a number, yes or no. No sentence."
)


def short_form(session: ReadingSession, question: str, sentence: str) -> str:
    """The shortest phrase that answers the question, as the model takes it from its sentence.

    It is asked behind what was read, so it costs one short turn. Empty where the window has no room for it.
    """
    if len(sentence.split()) <= _FEW_WORDS:
        return _bare(sentence)
    request = _REQUEST.format(question=question, sentence=" ".join(sentence.split()))
    try:
        reply = session.reply(request, max_tokens=_MOST_TOKENS)
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
