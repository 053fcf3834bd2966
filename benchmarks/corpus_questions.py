"""Questions about a whole corpus of articles, whose answers are known from what the articles' first sentences state.

"X is a 1994 American comedy film" states a class (film), kinds of it (comedy), an origin (American) and a decade (the
1990s). Questions are of five forms: which kinds, which origins, which decades, which titles of a class, and which
people were born in a decade. Nothing is listed by hand but how a definition is written: classes, items and questions
follow from the articles alone. It knows texts, and neither memory nor model. Invariants: equal articles give equal
questions; an item is stated by an article that is among them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from memgraph_rag.types import Document

__all__ = [
    "CorpusQuestion",
    "Definition",
    "definition_of",
    "joined",
    "named",
    "plural",
    "questions_about",
    "share_known",
]

_MOST_OF_A_FORM = 8  # questions of one form: of the classes with the most items
_FEWEST_ITEMS = 3  # that a question has
_FEWEST_ARTICLES = 5  # of a class
_STATED_BY = 2  # articles that state a kind, an origin or a decade: what but one says is no theme

_BRACKETS = re.compile(r"\s*\([^()]*\)")
_BEHIND = (  # what follows the noun of a definition
    "by|of|in|from|who|that|which|for|at|on|with|to|and|or|as|between|during|about|under|near|since|after|into|where|"
    "whose|released|directed|written|located|based|known|featuring|starring|produced|recorded|published|created|"
    "founded|set|led|made|developed|formed|hosted|performed|born|best"
)
_DEFINED = re.compile(rf"\b(?:is|was|are|were) an? ([^.,;:]+?)(?=[.,;:]| (?:{_BEHIND})\b)")
_KIND = re.compile(r"[a-z][a-z-]{3,}(?<!ed)")
_ORIGIN = re.compile(r"[A-Z][a-z]+(?:an|ese|ish|ch|ean|ian)")
_YEAR = re.compile(r"\b(?:18|19|20)\d\d\b")
_BORN = re.compile(r"\([^()]*?(?:\bborn\b[^()]*?\b(1[89]\d\d)\b|[A-Z][a-z]+ (?:\d{1,2}, )?(1[89]\d\d) ?[–-])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_WORD = re.compile(r"\w+(?:-\w+)*")

_Item = TypeVar("_Item", str, int)


@dataclass(frozen=True, slots=True)
class Definition:
    """What the first sentence of an article says its subject is.

    Attributes:
        noun: the class, in lower case: "film".
        kinds: words in lower case before it: "comedy".
        origins: "American".
        decade: the first year of the decade of the first year that the sentence names behind its verb; 0 where none is.
        birth: the decade of birth, of a person; 0 where it is no person, or not told.
    """

    noun: str
    kinds: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    decade: int = 0
    birth: int = 0


@dataclass(frozen=True, slots=True)
class CorpusQuestion:
    """A question with its known items.

    Attributes:
        form: "kinds", "origins", "decades", "titles" or "births".
        items: of each the word forms any of which states it.
        beside: one of these words has to stand in the same sentence; none for titles, which stand for themselves.
    """

    text: str
    form: str
    items: tuple[frozenset[str], ...]
    beside: frozenset[str] = field(default_factory=frozenset[str])


def definition_of(text: str) -> Definition | None:
    """What an article defines its subject as; None where its first sentence does not.

    >>> definition_of("Speed (stylised) is a 1994 American action film directed by Jan de Bont.")
    Definition(noun='film', kinds=('action',), origins=('American',), decade=1990, birth=0)
    >>> definition_of("Ann Lee (born 12 May 1958) is an Irish singer.")
    Definition(noun='singer', kinds=(), origins=('Irish',), decade=0, birth=1950)
    """
    first = text[:600]
    plain = _BRACKETS.sub("", first)
    match = _DEFINED.search(plain)
    if match is None:
        return None
    words = match[1].split()
    if not words or not _KIND.fullmatch(words[-1]):
        return None
    sentence = _SENTENCE_END.split(plain[match.start() :], maxsplit=1)[0]
    year, birth = _YEAR.search(sentence), _BORN.search(first[: first.find(match[1])])
    return Definition(
        noun=words[-1],
        kinds=tuple(word for word in words[:-1] if _KIND.fullmatch(word)),
        origins=tuple(word for word in words[:-1] if _ORIGIN.fullmatch(word)),
        decade=int(year[0]) // 10 * 10 if year else 0,
        birth=int(birth[1] or birth[2]) // 10 * 10 if birth else 0,
    )


def questions_about(articles: Iterable[Document]) -> list[CorpusQuestion]:
    """At most eight questions of each form, of the classes with the most items; by form."""
    defined = [(article, definition) for article in articles if (definition := definition_of(article.text)) is not None]
    classes = defaultdict[str, list[tuple[Document, Definition]]](list)
    for article, definition in defined:
        classes[definition.noun].append((article, definition))
    large = {noun: members for noun, members in sorted(classes.items()) if len(members) >= _FEWEST_ARTICLES}
    forms = {
        "kinds": [_kinds(noun, members) for noun, members in large.items()],
        "origins": [_origins(noun, members) for noun, members in large.items()],
        "decades": [_decades(noun, members) for noun, members in large.items()],
        "titles": [_titles(noun, members) for noun, members in large.items()],
        "births": list(_births(defined)),
    }
    return [question for questions in forms.values() for question in _largest(questions)]


def share_known(question: CorpusQuestion, text: str) -> float:
    """The share of a question's items that a text states.

    >>> question = CorpusQuestion("…", "kinds", (frozenset({"comedy"}), frozenset({"horror"})), frozenset({"film"}))
    >>> share_known(question, "It is a comedy film. The play is a horror.")
    0.5
    """
    if not question.beside:
        plain = joined(text)
        return sum(any(f" {form} " in plain for form in forms) for forms in question.items) / len(question.items)
    stated: set[str] = set()
    for sentence in _SENTENCE_END.split(text):
        words = {word.casefold() for word in _WORD.findall(sentence)}
        if words & question.beside:
            stated |= words
    return sum(not forms.isdisjoint(stated) for forms in question.items) / len(question.items)


def _largest(questions: Sequence[CorpusQuestion]) -> list[CorpusQuestion]:
    enough = [question for question in questions if len(question.items) >= _FEWEST_ITEMS]
    return sorted(enough, key=lambda question: (-len(question.items), question.text))[:_MOST_OF_A_FORM]


def _kinds(noun: str, members: Sequence[tuple[Document, Definition]]) -> CorpusQuestion:
    kinds = _stated(kind for _, definition in members for kind in dict.fromkeys(definition.kinds))
    text = f"What kinds of {plural(noun)} do these articles describe?"
    return CorpusQuestion(text, "kinds", tuple(frozenset({kind}) for kind in kinds), _forms(noun))


def _origins(noun: str, members: Sequence[tuple[Document, Definition]]) -> CorpusQuestion:
    origins = _stated(origin for _, definition in members for origin in dict.fromkeys(definition.origins))
    text = f"Which countries are the {plural(noun)} in these articles from?"
    return CorpusQuestion(text, "origins", tuple(frozenset({origin.casefold()}) for origin in origins), _forms(noun))


def _decades(noun: str, members: Sequence[tuple[Document, Definition]]) -> CorpusQuestion:
    decades = _stated(definition.decade for _, definition in members if definition.decade)
    text = f"From which decades are the {plural(noun)} in these articles?"
    years = tuple(frozenset(str(decade + year) for year in range(10)) for decade in decades)
    return CorpusQuestion(text, "decades", years, _forms(noun))


def _titles(noun: str, members: Sequence[tuple[Document, Definition]]) -> CorpusQuestion:
    text = f"Which {plural(noun)} do these articles describe?"
    return CorpusQuestion(text, "titles", named(article for article, _ in members))


def _births(defined: Sequence[tuple[Document, Definition]]) -> Iterator[CorpusQuestion]:
    born = defaultdict[int, list[Document]](list)
    for article, definition in defined:
        if definition.birth:
            born[definition.birth].append(article)
    for decade, articles in sorted(born.items()):
        yield CorpusQuestion(f"Which of these people were born in the {decade}s?", "births", named(articles))


def named(articles: Iterable[Document]) -> tuple[frozenset[str], ...]:
    """The titles, as they stand in running text: without what tells namesakes apart."""
    titles = (joined(_BRACKETS.sub("", article.title or "")).strip() for article in articles)
    return tuple(frozenset({title}) for title in dict.fromkeys(titles) if title)


def _stated(items: Iterable[_Item]) -> list[_Item]:
    return sorted(item for item, articles in Counter(items).items() if articles >= _STATED_BY)


def joined(text: str) -> str:
    """The words of a text in lower case, with one space before and behind each."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _forms(noun: str) -> frozenset[str]:
    return frozenset({noun, plural(noun)})


def plural(noun: str) -> str:
    """The plural of a noun in lower case."""
    if noun.endswith("series"):
        return noun
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}{'es' if re.search(r'(?:s|x|ch|sh)$', noun) else 's'}"
