"""Finds what the memory itself answered in documents that are added later: an echo is no evidence.

It knows no store and no model. Sentences are compared by hashes of their words, so that no text needs to be kept:
case, punctuation, white space and the marks of citations make no difference. Invariants: a sentence of fewer than
four words is nobody's; what somebody said before the memory did stays theirs.

Of a conversation each turn is looked at for itself. A text is an echo where more than half of it is; within a text
that is none, segments of sentences that only the memory said. So a new version of a file, under whatever key, does
not become an echo because its sentences were once quoted in answers. Nor does the very text that was quoted, whole,
under another key: a file that was renamed, before or after its old document was forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.types import Citation, Node, Segment, make_id

__all__ = ["Origins", "answered", "marked", "sentence_ids"]

_FEWEST_WORDS, _FEWEST_CHARACTERS = 4, 24  # either is enough: few words may be Chinese
_MOST_SENTENCES = 64  # of one answer
_SHARE = 0.5  # of the characters of a segment or a document that make it an echo
_MARK = re.compile(r"(?<!\s)\s*\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]")
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\s*[^:.!?\n]{1,40}?(?:\([^()\n]{1,40}\))?:\s+")  # "Answer: ", or who says it and when

Origins = Mapping[str, Collection[str]]
"""For each sentence that was answered, by its id: who said it before the memory did.

That is the id of a document, in a conversation that of a speaker. For these the sentence is no echo.
"""


def answered(
    namespace: str, text: str, read: Sequence[Node], quotes: Sequence[Citation] = ()
) -> dict[str, frozenset[str]]:
    """Return the sentences of an answer, each with the origins that it was copied from.

    Args:
        read: the nodes that the answer may have copied sentences from.
        quotes: citations whose segments are not stored any more.
    """
    spoken = [(_origin(namespace, node), f" {_normal(node.text)} ") for node in read]
    spoken += [(quote.document_id, f" {_normal(quote.quote)} ") for quote in quotes]
    origins_by_id: dict[str, frozenset[str]] = {}
    for forms in _sentences(text)[:_MOST_SENTENCES]:
        origins = frozenset(origin for origin, words in spoken if f" {forms[-1]} " in words)
        origins_by_id |= {_id(namespace, form): origins for form in forms}
    return origins_by_id


def sentence_ids(namespace: str, segments: Sequence[Segment]) -> set[str]:
    """The ids of all sentences of segments, as ``answered`` would give them."""
    return {_id(namespace, form) for segment in segments for forms in _sentences(segment.text) for form in forms}


def marked(
    namespace: str,
    segments: Sequence[Segment],
    known: Origins,
    segments_before: Sequence[Segment] = (),
    *,
    same_text: Collection[str] = (),
) -> tuple[Segment, ...]:
    """The segments of one document, with those marked that are echoes.

    Args:
        known: which sentences were answered.
        segments_before: the segments that are stored of the document: what they say is theirs, but for echoes.
        same_text: ids of other documents with the same whole text: what they said before is no echo in this one.
    """
    if not known:
        return tuple(segments)
    whose = {sentence_id: set(origins) for sentence_id, origins in known.items()}
    for segment in segments_before:
        for sentence_id in sentence_ids(namespace, [] if segment.echo else [segment]) & whose.keys():
            whose[sentence_id].add(_origin(namespace, segment))
    echoed = [_echoed(namespace, segment, whose, same_text) for segment in segments]
    whole = _is_echo([sum(pair) for pair in zip(*echoed, strict=True)], whole=True) if echoed else False
    return tuple(
        replace(segment, echo=_is_echo(numbers, whole=whole or bool(segment.speaker)))
        for segment, numbers in zip(segments, echoed, strict=True)
    )


def _is_echo(numbers: Sequence[int], *, whole: bool) -> bool:
    """Whether enough of these characters are an echo: of what anybody said, or of what only the memory did."""
    characters, repeated, invented = numbers
    return (repeated if whole else invented) > _SHARE * characters


def _echoed(namespace: str, segment: Segment, whose: Origins, same_text: Collection[str]) -> tuple[int, int, int]:
    """Three counts of characters of a segment's sentences: all, those that the memory said, those that only it said."""
    characters = repeated = invented = 0
    mine = {_origin(namespace, segment), *same_text}
    for forms in _sentences(segment.text):
        length = len(forms[-1])
        characters += length
        speakers = [whose[sentence_id] for form in forms if (sentence_id := _id(namespace, form)) in whose]
        if speakers and not any(mine.intersection(origins) for origins in speakers):
            repeated += length
            invented += length if not any(speakers) else 0
    return characters, repeated, invented


def _origin(namespace: str, node: Node) -> str:
    """Whose a node is: a segment of a conversation its speaker's, anything else its document's."""
    if isinstance(node, Segment) and node.speaker:
        return make_id(namespace, "speaker", node.speaker)
    return node.document_id


def _sentences(text: str) -> list[tuple[str, ...]]:
    """The words of each sentence that counts; of one behind a label, with it and without."""
    unmarked = _MARK.sub("", text)
    sentence_forms = []
    for start, end in sentences(unmarked):
        sentence = unmarked[start:end]
        forms = dict.fromkeys((_normal(sentence), _normal(_without_label(sentence))))
        sentence_forms.append(tuple(filter(_counts, forms)))
    return [forms for forms in sentence_forms if forms]


def _without_label(sentence: str) -> str:
    label = _LABEL.match(sentence)
    return sentence[label.end() :] if label else sentence


def _normal(text: str) -> str:
    return " ".join(_WORD.findall(_MARK.sub("", text).casefold()))


def _counts(normal: str) -> bool:
    return normal.count(" ") + 1 >= _FEWEST_WORDS or len(normal) >= _FEWEST_CHARACTERS


def _id(namespace: str, normal: str) -> str:
    return make_id(namespace, "answer", normal)
