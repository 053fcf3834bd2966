"""Check what a model says about a segment against the segment's text.

The module knows no model. Invariants: a mention's surface is the document's text at the mention's place; an entity that
the recognizer found in a segment gets no second mention there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memgraph_rag.layers.entities import MOST_MENTIONS
from memgraph_rag.layers.surfaces import first_word, occurrences, words
from memgraph_rag.lexical.names import is_name, normalise
from memgraph_rag.types import OPEN_KIND, Mention, Segment, entity_id

_STEM = 5  # first characters that two forms of one word share
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)
_NOBODY = frozenset(
    """
    i me my mine myself we us our ours you your yours he him his himself she her hers herself it its itself they them
    their theirs themselves this that these those who whom whose which what someone somebody anyone everybody everyone
    nobody nothing something name other others
    """.split()  # noqa: SIM905 (so many quoted words would be harder to read)
)
_FUNCTION_WORDS = frozenset(
    """
    the and but for nor not was were are is been being has had have his her its their our your this that these those
    with from into onto over under about after before then than there here who whom whose which what when where while
    also they them she him you did does done will would can could may might shall should very both each
    """.split()  # noqa: SIM905
)


class Vocabulary:
    """The extracted names of one document, indexed by their first word; each segment is searched for them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_word: dict[str, list[str]] = {}
        for name in dict.fromkeys(names):
            self._by_word.setdefault(first_word(name), []).append(name)

    def find_possible(self, text_words: frozenset[str]) -> list[str]:
        """Return the names that a text with these words may contain: those whose first word it has.

        Names for which ``first_word`` is empty are always returned, first. Words are given as ``words`` returns them.
        """
        return [name for word in ("", *sorted(text_words)) for name in self._by_word.get(word, ())]


class Ground:
    """A segment and the entities that it names.

    Args:
        mentions: the recognizer's mentions.
        vocabulary: further names, which the constructor searches in the segment.
    """

    def __init__(
        self, segment: Segment, mentions: Sequence[Mention], vocabulary: Vocabulary, *, namespace: str
    ) -> None:
        self.segment = segment
        self.found: list[Mention] = []
        self.beyond = 0
        self._namespace = namespace
        self._known = mentions
        self._entities = {mention.normal: mention.entity_id for mention in mentions}
        text_words = words(segment.text)
        self._words = text_words
        for name in vocabulary.find_possible(text_words):
            self._add_name(name)

    def entity(self, name: str) -> str:
        """Return the id of the entity that this name, in its normal form, means in this segment.

        Empty if it means none. Only names from the recognizer and the vocabulary are known. A name that occurs only
        inside one entity's longer mention ("Darcy" in "Mr. Darcy") means that entity.
        """
        return self._entities.get(normalise(name), "")

    def bears_out(self, description: str, names: Sequence[str]) -> float:
        """Return the share of a description's content words, without the names, that this segment contains.

        It is 1 without content words. Words are compared by their beginnings, as in ``share_borne_out``.
        """
        return share_borne_out(description, names, self._words)

    def _add_name(self, name: str) -> None:
        """Add mentions of a name, unless the recognizer has found that entity in the segment."""
        normal = normalise(name)
        if normal in self._entities:
            return
        offset = self.segment.start
        spans = [(offset + start, offset + end) for start, end in occurrences(name, self.segment.text)]
        wholes = [self._find_longer(span) for span in spans]
        free = [span for span, whole in zip(spans, wholes, strict=True) if not whole]
        if free:
            self._entities[normal] = entity_id(self._namespace, normal)
            self._add_mentions(normal, free)
        elif len(set(wholes)) == 1:  # "Darcy" in a text that holds only "Mr. Darcy"
            self._entities[normal] = wholes[0]

    def _find_longer(self, span: tuple[int, int]) -> str:
        """Return the entity whose longer mention contains this span; empty if there is none."""
        start, end = span
        longer = (mention for mention in self._known if mention.start <= start and end <= mention.end)
        return next((mention.entity_id for mention in longer if (mention.start, mention.end) != span), "")

    def _add_mentions(self, normal: str, spans: Sequence[tuple[int, int]]) -> None:
        room = max(MOST_MENTIONS - len(self._known) - len(self.found), 0)
        self.beyond += max(len(spans) - room, 0)
        for start, end in spans[:room]:
            surface = self.segment.text[start - self.segment.start : end - self.segment.start]
            mention = Mention(self._entities[normal], normal, OPEN_KIND, surface, self.segment.id, start, end)
            self.found.append(mention)
        if not room:
            del self._entities[normal]


def share_borne_out(description: str, names: Iterable[str], text_words: Iterable[str]) -> float:
    """Return the share of a description's content words, without the names, that are in ``text_words``; 1 without any.

    Words are compared by their first five characters.

    >>> share_borne_out("Ann found a red fox.", ["Ann"], words("Ann finally found it: the fox!"))
    0.6666666666666666
    """
    name_words = {word for name in names for word in words(name)}
    content_words = [
        word for word in words(description) - name_words - _FUNCTION_WORDS if len(word) > 2 or not word.isascii()
    ]
    stems = {word[:_STEM] for word in text_words}
    return sum(word[:_STEM] in stems for word in content_words) / len(content_words) if content_words else 1.0


def can_name(text: str) -> bool:
    """Return whether an extracted name can name something: not pronouns, texts without a letter and too long names."""
    normal = normalise(text)
    return is_name(normal) and normal not in _NOBODY


def is_proper(surface: str) -> bool:
    """Return whether a surface looks like a proper name: a capital, a digit, or a script without capitals.

    An article at the beginning does not count ("The mill"). A capital anywhere else does.
    """
    article = _ARTICLE.match(surface)  # "The mill" begins a sentence
    name = surface[article.end() :] if article else surface
    return name != name.lower() or any(character.isdigit() for character in name) or name.upper() == name.lower()
