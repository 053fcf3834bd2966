"""Write an answer in one of three styles: a phrase, a sentence, or a paragraph with marks of citations.

It knows the session and the quotes by their contracts. Invariants: the content of the session is the same afterwards.
A phrase is one line, and not longer than the sentence that it shortens. A mark ``[n]`` at the end of a sentence is the
number of a citation, from 1.
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

_FEW_WORDS = 3  # a sentence of at most so many words is a phrase already: a name, a date, a letter
_PHRASE_TOKENS = 24
_SENTENCE_TOKENS = 96
_PARAGRAPH_TOKENS = 240  # the session reserves as many
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
class WrittenAnswer:
    """The text of an answer with its citations; all fields are empty if the model wrote nothing.

    Attributes:
        text: the answer in its style, with its marks.
        unmarked: the words of the model, without marks.
        short: the answer as a phrase.
        citations: in the order of the marks, if the text has marks; otherwise best first.
    """

    text: str = ""
    unmarked: str = ""
    short: str = ""
    citations: tuple[Citation, ...] = ()


def write_answer(
    session: ReadingSession, question: str, style: AnswerStyle, quotes: Quotes
) -> Generator[str, None, WrittenAnswer]:
    """Yield the answer in pieces while the model writes it, and return the whole answer.

    The whole answer may differ from the pieces: it has no surrounding white space, and in the style "short" it is one
    phrase. The short form may cost one more call of the model.

    Args:
        quotes: the sentences that the answer may cite.
    """
    marked: list[Citation] = []
    if style == "short":
        pieces = session.answer(max_tokens=_PHRASE_TOKENS, request=_PHRASE.format(question=question))
    elif style == "detailed":
        pieces = _paragraph(session, question, quotes, marked)
    else:
        pieces = session.answer(max_tokens=_SENTENCE_TOKENS)
    text = ""
    for piece in pieces:
        text += piece
        yield piece
    text = extract_phrase(text) if style == "short" else text.strip()
    if not text:
        return WrittenAnswer()
    unmarked = _MARK.sub("", text) if marked else text
    short = text if style == "short" else write_short_form(session, question, unmarked)
    return WrittenAnswer(text, unmarked, short, tuple(marked) or quotes.cite(question, text))


def write_short_form(session: ReadingSession, question: str, sentence: str) -> str:
    """Return the shortest phrase that answers the question, with one more short call of the model.

    The request does not contain the sentence, because the 1.5B model then copies a wrong part of it
    (``docs/decisions``). A sentence of few words needs no call. If the model writes nothing, more than the sentence, or
    words of the request ("No sentence"), the phrase is the sentence itself. The result is empty if the window is full.
    """
    if len(sentence.split()) <= _FEW_WORDS:
        return extract_phrase(sentence)
    try:
        pieces = session.answer(max_tokens=_PHRASE_TOKENS, request=_PHRASE.format(question=question))
        phrase = extract_phrase("".join(pieces))
    except WindowExceeded:
        return ""
    is_own = 0 < len(phrase) <= len(sentence) and not is_copied_request(phrase)
    return phrase if is_own else extract_phrase(sentence)


def is_copied_request(phrase: str) -> bool:
    """Return whether a phrase is the end of the request for a phrase, which small models copy."""
    return phrase.casefold() == "no sentence"


def extract_phrase(text: str) -> str:
    """Return the first non-empty line without outer quotation marks, and without a final full stop if it has no other.

    >>> extract_phrase(' "The River Thames." '), extract_phrase("Washington, D.C.")
    ('The River Thames', 'Washington, D.C.')
    """
    phrase = next(filter(None, (line.strip() for line in text.splitlines())), "").strip('"“”').strip()
    return phrase[:-1] if phrase.endswith(".") and phrase.count(".") == 1 else phrase


def _paragraph(session: ReadingSession, question: str, quotes: Quotes, citations: list[Citation]) -> Iterator[str]:
    """Yield the sentences of the model's paragraph with marks; see ``mark_sentences``."""
    before = session.usage.generated_tokens
    pieces = session.answer(max_tokens=_PARAGRAPH_TOKENS, request=_PARAGRAPH.format(question=question))
    return mark_sentences(
        pieces, quotes, citations, was_cut=lambda: session.usage.generated_tokens - before >= _PARAGRAPH_TOKENS
    )


def mark_sentences(
    pieces: Iterable[str], quotes: Quotes, citations: list[Citation], *, was_cut: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Yield the text of ``pieces`` by sentences, with a mark ``[n]`` before the full stop of a sentence with a source.

    The source of each sentence is looked up separately, so two sentences may cite two documents.

    Args:
        citations: a citation that is not in this list yet is appended; ``[n]`` is its place in the list, from 1.
        was_cut: whether the token limit cut the text. An incomplete last sentence is then left out, unless it is the
            only sentence.
    """
    pending, is_first = "", True
    for piece in pieces:
        pending += piece
        start = 0
        for end in _sentence_ends(pending):
            yield _mark_sentence(pending[start:end], quotes, citations)
            start, is_first = end, False
        pending = pending[start:]
    is_cut = was_cut()
    if is_cut:
        pending = _ITEM_NUMBER.sub("", pending)  # the number of an item without text
    if pending.strip() and (is_first or not is_cut or _WHOLE.search(pending)):
        yield _mark_sentence(pending, quotes, citations)


def _sentence_ends(text: str) -> Iterator[int]:
    """Yield the end of each sentence except the last. The number of a list item is not the end of a sentence."""
    for start, end in sentences(text)[:-1]:
        if not _ITEM_NUMBER.search(text[start:end]):
            yield end


def _mark_sentence(sentence: str, quotes: Quotes, citations: list[Citation]) -> str:
    """Return a sentence with the mark of its citation, and append a new citation to ``citations``."""
    mark = ""
    for citation in quotes.cite("", sentence.strip(), limit=1):
        places = [(known.document_id, known.start) for known in citations]
        if (citation.document_id, citation.start) not in places:
            citations.append(citation)
            places.append((citation.document_id, citation.start))
        mark = f" [{places.index((citation.document_id, citation.start)) + 1}]"
    body = sentence.rstrip().rstrip('"”’)]').rstrip(".!?。！？")
    return body + mark + sentence[len(body) :]
