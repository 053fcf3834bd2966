"""Find echoes: sentences of the memory's own answers in documents that are added later. An echo is not evidence.

The module knows no store and no model. Sentences are compared by hashes of their words, so no answer's text is stored;
case, punctuation, white space and citation marks are ignored. Invariants: a sentence of fewer than four words and
fewer than 24 characters is never an echo; a sentence that somebody said before the memory is not an echo in that
origin's texts.

Each turn of a conversation is judged alone. Another text is an echo if more than half of it is. In a text that is not,
segments are echoes if more than half of them is sentences that only the memory said. So a new version of a file, under
any key, does not become an echo because answers quoted it. The quoted text itself, whole and under another key, does
not either: that is a renamed file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.types import Citation, Node, Segment, make_id

_FEWEST_WORDS, _FEWEST_CHARACTERS = 4, 24  # one of the two is enough: a Chinese sentence may have few words
_MOST_SENTENCES = 64  # of one answer
_SHARE = 0.5  # share of echoed characters above which a segment or document is an echo
_MARK = re.compile(r"(?<!\s)\s*\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]")
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\s*[^:.!?\n]{1,40}?(?:\([^()\n]{1,40}\))?:\s+")  # "Answer: ", or speaker and time

Origins = Mapping[str, Collection[str]]
"""For each sentence id of an answer, the origins that said the sentence before the memory did.

An origin is the id of a document or, in a conversation, of a speaker. In texts of these origins the sentence is not an
echo.
"""


def find_origins(
    namespace: str, text: str, read: Sequence[Node], quotes: Sequence[Citation] = ()
) -> dict[str, frozenset[str]]:
    """Return the ids of an answer's sentences, each with the origins (see ``Origins``) that it was copied from.

    The origins are empty if no read text has the sentence. Only the first 64 sentences count, without those that are
    too short for an echo. A sentence with a label ("Answer: …") has two ids.

    Args:
        read: the nodes from which the answer may have copied sentences.
        quotes: citations whose segments are no longer stored.
    """
    spoken = [(_find_origin(namespace, node), f" {_normalise(node.text)} ") for node in read]
    spoken += [(quote.document_id, f" {_normalise(quote.quote)} ") for quote in quotes]
    origins_by_id: dict[str, frozenset[str]] = {}
    for forms in _sentences(text)[:_MOST_SENTENCES]:
        origins = frozenset(origin for origin, words in spoken if f" {forms[-1]} " in words)
        origins_by_id |= {_id(namespace, form): origins for form in forms}
    return origins_by_id


def sentence_ids(namespace: str, segments: Sequence[Segment]) -> set[str]:
    """Return the ids (hashes of words) of the segments' sentences, as in ``find_origins``; a short one has no id."""
    return {_id(namespace, form) for segment in segments for forms in _sentences(segment.text) for form in forms}


def mark_segments(
    namespace: str,
    segments: Sequence[Segment],
    known: Origins,
    segments_before: Sequence[Segment] = (),
    *,
    same_text: Collection[str] = (),
) -> tuple[Segment, ...]:
    """Return the segments of one document, in order, with ``echo`` set to True or False.

    Without ``known`` sentences the segments are returned as they are.

    Args:
        known: the ids of sentences of the memory's earlier answers, with their origins.
        segments_before: the stored segments of the document; their sentences, except those of echoes, are not echoes in
            it.
        same_text: ids of other documents with the same whole text; their sentences are not echoes in this document.
    """
    if not known:
        return tuple(segments)
    origins_by_id = {sentence_id: set(origins) for sentence_id, origins in known.items()}
    for segment in segments_before:
        for sentence_id in sentence_ids(namespace, [] if segment.echo else [segment]) & origins_by_id.keys():
            origins_by_id[sentence_id].add(_find_origin(namespace, segment))
    echoed = [_count_echoed(namespace, segment, origins_by_id, same_text) for segment in segments]
    whole = _is_echo([sum(pair) for pair in zip(*echoed, strict=True)], whole=True) if echoed else False
    return tuple(
        replace(segment, echo=_is_echo(numbers, whole=whole or bool(segment.speaker)))
        for segment, numbers in zip(segments, echoed, strict=True)
    )


def _is_echo(numbers: Sequence[int], *, whole: bool) -> bool:
    """Return whether enough characters are echoes: with ``whole`` all repeated ones, else only the memory's own."""
    characters, repeated, invented = numbers
    return (repeated if whole else invented) > _SHARE * characters


def _count_echoed(
    namespace: str, segment: Segment, origins_by_id: Origins, same_text: Collection[str]
) -> tuple[int, int, int]:
    """Return three counts of characters in sentences: all, repeated from the memory, and said by the memory only."""
    characters = repeated = invented = 0
    own_origins = {_find_origin(namespace, segment), *same_text}
    for forms in _sentences(segment.text):
        length = len(forms[-1])
        characters += length
        speakers = [
            origins_by_id[sentence_id] for form in forms if (sentence_id := _id(namespace, form)) in origins_by_id
        ]
        if speakers and not any(own_origins.intersection(origins) for origins in speakers):
            repeated += length
            invented += length if not any(speakers) else 0
    return characters, repeated, invented


def _find_origin(namespace: str, node: Node) -> str:
    """Return the origin of a node: its speaker in a conversation, else its document."""
    if isinstance(node, Segment) and node.speaker:
        return make_id(namespace, "speaker", node.speaker)
    return node.document_id


def _sentences(text: str) -> list[tuple[str, ...]]:
    """Return the normal forms of each long enough sentence, with and without a label such as "Answer: "."""
    unmarked = _MARK.sub("", text)
    sentence_forms = []
    for start, end in sentences(unmarked):
        sentence = unmarked[start:end]
        forms = dict.fromkeys((_normalise(sentence), _normalise(_strip_label(sentence))))
        sentence_forms.append(
            tuple(form for form in forms if form.count(" ") + 1 >= _FEWEST_WORDS or len(form) >= _FEWEST_CHARACTERS)
        )
    return [forms for forms in sentence_forms if forms]


def _strip_label(sentence: str) -> str:
    label = _LABEL.match(sentence)
    return sentence[label.end() :] if label else sentence


def _normalise(text: str) -> str:
    return " ".join(_WORD.findall(_MARK.sub("", text).casefold()))


def _id(namespace: str, normal: str) -> str:
    return make_id(namespace, "answer", normal)
