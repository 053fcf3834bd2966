"""In which form an answer is asked for and given: a phrase, a sentence, or a paragraph with marks of citations.

It knows the session and the quotes by their contracts. Invariants: the session holds afterwards what it held before;
whatever the model replies, a phrase is one line, and no longer than the sentence that it stands for; a mark ``[n]``
behind a sentence names the nth citation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.text.citations import Quotes
from memgraph_rag.types import AnswerStyle, Citation

__all__ = ["Written", "as_phrase", "short_form", "with_marks", "write_answer"]

_FEW_WORDS = 3  # a sentence of so few is short already: a name, a date, a letter
_PHRASE_TOKENS = 24
_PARAGRAPH_TOKENS = 240  # the session keeps room for so many
_PHRASE = (
    "Answer the question from the information above, with the shortest phrase that answers it. No sentence.\n\n"
    "Question: {question}"
)
_PARAGRAPH = (
    "Answer the question from the information above, in detail: three to six sentences, one for each fact of the "
    "information that belongs to the answer.\n\n"
    "Question: {question}"
)
_WHOLE = re.compile(r"[.!?。！？][\"”’)\]]*\s*$")
_ITEM_NUMBER = re.compile(r"(?:^|(?<=[\n:.!?\])]))[^\S\n]*\d{1,2}[.)]\s*$")
_MARK = re.compile(r" \[\d+\]")


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as it was written; empty where nothing was.

    Attributes:
        text: in the style that was asked for, with its marks.
        said: the model's own words, without marks.
        short: the phrase that answers.
        citations: in the order of the marks where there are some, else best first.
    """

    text: str = ""
    said: str = ""
    short: str = ""
    citations: tuple[Citation, ...] = ()


def write_answer(
    session: ReadingSession, question: str, style: AnswerStyle, quotes: Quotes, *, max_tokens: int
) -> Generator[str, None, Written]:
    """The answer in pieces, as it is written; returns it.

    Args:
        max_tokens: of a sentence; the other styles have their own limits.
    """
    marked: list[Citation] = []
    if style == "short":
        pieces = session.answer(max_tokens=_PHRASE_TOKENS, request=_PHRASE.format(question=question))
    elif style == "detailed":
        pieces = _paragraph(session, question, quotes, marked)
    else:
        pieces = session.answer(max_tokens=max_tokens)
    text = ""
    for piece in pieces:
        text += piece
        yield piece
    text = as_phrase(text) if style == "short" else text.strip()
    if not text:
        return Written()
    said = _MARK.sub("", text) if marked else text
    short = text if style == "short" else short_form(session, question, said)
    return Written(text, said, short, tuple(marked) or quotes.cite(question, text))


def short_form(session: ReadingSession, question: str, sentence: str) -> str:
    """The shortest phrase that answers the question, asked behind what was read; it costs one short turn.

    Without the sentence in the request: with it, the 1.5B model copies the wrong part (``docs/decisions``). Empty where
    the window has no room for it.
    """
    if len(sentence.split()) <= _FEW_WORDS:
        return as_phrase(sentence)
    try:
        pieces = session.answer(max_tokens=_PHRASE_TOKENS, request=_PHRASE.format(question=question))
        phrase = as_phrase("".join(pieces))
    except WindowExceeded:
        return ""
    return phrase if 0 < len(phrase) <= len(sentence) else as_phrase(sentence)


def as_phrase(text: str) -> str:
    """The first line that says something, without the quotation marks around it and the full stop behind it.

    >>> as_phrase(' "The River Thames." '), as_phrase("Washington, D.C.")
    ('The River Thames', 'Washington, D.C.')
    """
    phrase = next(filter(None, (line.strip() for line in text.splitlines())), "").strip('"“”').strip()
    return phrase[:-1] if phrase.endswith(".") and phrase.count(".") == 1 else phrase


def _paragraph(session: ReadingSession, question: str, quotes: Quotes, citations: list[Citation]) -> Iterator[str]:
    """The model's paragraph with marks, sentence by sentence; see ``with_marks``."""
    before = session.usage.generated_tokens
    pieces = session.answer(max_tokens=_PARAGRAPH_TOKENS, request=_PARAGRAPH.format(question=question))
    return with_marks(
        pieces, quotes, citations, was_cut=lambda: session.usage.generated_tokens - before >= _PARAGRAPH_TOKENS
    )


def with_marks(
    pieces: Iterable[str], quotes: Quotes, citations: list[Citation], *, was_cut: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Sentence by sentence, with ``[n]`` before the end of each that rests on something.

    Each sentence is looked up by itself, so that two sentences of an answer may rest on two documents.

    Args:
        citations: what the sentences rest on is added to these; the nth of them is ``[n]``.
        was_cut: whether the pieces ended before the model did; a last sentence without an end is then left out, unless
            there is no other.
    """
    pending, is_first = "", True
    for piece in pieces:
        pending += piece
        start = 0
        for end in _ends(pending):
            yield _marked(pending[start:end], quotes, citations)
            start, is_first = end, False
        pending = pending[start:]
    is_cut = was_cut()
    if is_cut:
        pending = _ITEM_NUMBER.sub("", pending)  # of an item that was not begun
    if pending.strip() and (is_first or not is_cut or _WHOLE.search(pending)):
        yield _marked(pending, quotes, citations)


def _ends(text: str) -> Iterator[int]:
    """Where each sentence ends that has another one behind it. An item's number ends none."""
    for start, end in sentences(text)[:-1]:
        if not _ITEM_NUMBER.search(text[start:end]):
            yield end


def _marked(sentence: str, quotes: Quotes, citations: list[Citation]) -> str:
    mark = ""
    for citation in quotes.cite("", sentence.strip(), limit=1):
        places = [(known.document_id, known.start) for known in citations]
        if (citation.document_id, citation.start) not in places:
            citations.append(citation)
            places.append((citation.document_id, citation.start))
        mark = f" [{places.index((citation.document_id, citation.start)) + 1}]"
    body = sentence.rstrip().rstrip('"”’)]').rstrip(".!?。！？")
    return body + mark + sentence[len(body) :]
