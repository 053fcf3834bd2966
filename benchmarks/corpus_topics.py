"""Questions about a whole corpus of articles, of a second family: by what any sentence of an article states.

Who does what for a living, who plays an instrument, which prizes and wars are named, what came out in a decade. Other
than in ``corpus_questions`` the items come from all of an article, the topics are listed by hand, and the questions are
worded as a person would type them. They were written before any way of reading was measured on them. It knows texts,
and neither memory nor model. Invariants as there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from corpus_questions import CorpusQuestion, joined, named, plural, share_known

from memgraph_rag.types import Document

__all__ = ["topics_of"]

_MOST_OF_A_FORM = 6
_FEWEST_ITEMS = 4
_STATED_BY = 2  # articles that state an item which is no title

_LIFE = re.compile(r"\([^()]*?(?:\bborn\b|\bdied\b|\d{4}\)? ?[–-])[^()]*\)")
_DIED = re.compile(r"(?:[–-] ?|\bdied )(?:[^()–-]*? )?(1[89]\d\d|20\d\d)\)")
_BRACKETS = re.compile(r"\s*\([^()]*\)")
_IS = re.compile(r"\b(?:is|was|were|are) (?:an?|the) ([^.;:]+)")
_CLAUSE_END = re.compile(r"\b(?:who|whom|best|known|from|for|in|of|at|that|which|with|whose|active|born|to|by|on)\b")
_LISTED = re.compile(r", and |, | and | & |/")
_JOB = re.compile(
    r"[a-z]{2,}(?:er|or|ist|ian|man|woman)|poet|actress|judge|chef|spy|pilot|architect|diplomat|priest|monk|chemist"
)
_ORIGIN = re.compile(r"\b[A-Z][a-z]+(?:an|ese|ish|ch|ean|ian)\b")
_YEAR = re.compile(r"\b(?:18|19|20)\d\d\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_WORK = re.compile(r"\b(?:film|movie|album|song|single|novel|book|television series|game|musical|play|comic)s?\b")
_PLACE = re.compile(r"\b(?:city|town|village|township|community|borough|municipality|commune|suburb|hamlet)\b")
_CAPITAL = r"[A-Z][\w'’-]+"
_NAME = rf"(?:{_CAPITAL} )"

_INSTRUMENTS = {
    "guitar": "guitarist", "piano": "pianist", "drums": "drummer", "bass": "bassist", "violin": "violinist",
    "saxophone": "saxophonist", "trumpet": "trumpeter", "cello": "cellist", "keyboards": "keyboardist",
    "flute": "flautist", "harmonica": "harmonicist", "banjo": "banjoist", "organ": "organist",
    "clarinet": "clarinetist", "trombone": "trombonist", "harp": "harpist",
}  # fmt: skip
_SPORTS = [
    "football",
    "basketball",
    "baseball",
    "hockey",
    "tennis",
    "golf",
    "cricket",
    "rugby",
    "boxing",
    "wrestling",
    "swimming",
    "racing",
    "athletics",
    "cycling",
    "soccer",
    "volleyball",
    "skiing",
    "skating",
    "chess",
    "lacrosse",
    "softball",
    "gymnastics",
    "rowing",
    "sailing",
    "fencing",
    "judo",
    "handball",
]
_MUSIC = [
    "rock",
    "pop",
    "jazz",
    "country",
    "folk",
    "blues",
    "metal",
    "punk",
    "soul",
    "gospel",
    "classical",
    "electronic",
    "reggae",
    "disco",
    "indie",
    "rap",
]
_FILMS = [
    "comedy",
    "drama",
    "horror",
    "thriller",
    "western",
    "romance",
    "action",
    "adventure",
    "fantasy",
    "documentary",
    "animated",
    "war",
    "crime",
    "mystery",
    "musical",
    "silent",
    "biographical",
    "romantic",
    "superhero",
]
_OF_MUSIC = frozenset(
    ["music", "band", "bands", "album", "song", "singer", "musician", "group", "artist", "songwriter"]
)
_OF_FILMS = frozenset(["film", "films", "movie", "movies"])


@dataclass(frozen=True)
class _Article:
    document: Document

    @cached_property
    def plain(self) -> str:
        """The text without brackets."""
        return _BRACKETS.sub("", self.document.text)

    @cached_property
    def words(self) -> str:
        return joined(self.document.text)

    @cached_property
    def definition(self) -> str:
        """What the first sentence says that the subject is; empty where it does not."""
        match = _IS.search(_SENTENCE_END.split(self.plain, maxsplit=1)[0])
        return match[1] if match else ""

    @cached_property
    def is_person(self) -> bool:
        return bool(_LIFE.search(self.document.text[:250]))

    @cached_property
    def jobs(self) -> tuple[str, ...]:
        """What a person is said to be, "singer" and "actress"."""
        if not self.is_person:
            return ()
        clause = _CLAUSE_END.split(self.definition, maxsplit=1)[0].strip(" ,")
        lasts = (part.split()[-1] for part in _LISTED.split(clause) if part.split())
        return tuple(dict.fromkeys(last for last in lasts if _JOB.fullmatch(last)))

    @cached_property
    def origins(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_ORIGIN.findall(self.definition)))


def topics_of(articles: Iterable[Document]) -> list[CorpusQuestion]:
    """At most six questions of each form, those with the most items; by form."""
    known = [_Article(article) for article in articles]
    forms: dict[str, Iterator[CorpusQuestion]] = {
        "jobs": _jobs(known),
        "people": _people(known),
        "deaths": _deaths(known),
        "works": _works(known),
        "places": _places(known),
        "players": _players(known),
        "genres": _genres(known),
        "movies": _movies(known),
        "names": _names(known),
    }
    return [question for questions in forms.values() for question in _largest(questions)]


def _largest(questions: Iterable[CorpusQuestion]) -> list[CorpusQuestion]:
    enough = [question for question in questions if len(question.items) >= _FEWEST_ITEMS]
    most = None if enough and enough[0].form == "names" else _MOST_OF_A_FORM
    return sorted(enough, key=lambda question: (-len(question.items), question.text))[:most]


def _jobs(articles: Sequence[_Article]) -> Iterator[CorpusQuestion]:
    by_origin = defaultdict[str, list[str]](list)
    for article in articles:
        for origin in article.origins:
            by_origin[origin] += article.jobs
    for origin, jobs in sorted(by_origin.items()):
        items = _repeated(jobs)
        yield CorpusQuestion(
            f"What do the {origin} people in this collection do for a living?",
            "jobs",
            tuple(frozenset({job, plural(job)}) for job in items),
            frozenset({origin.casefold()}),
        )


def _people(articles: Sequence[_Article]) -> Iterator[CorpusQuestion]:
    for job, members in _grouped(articles, lambda article: article.jobs):
        yield CorpusQuestion(f"Name the {plural(job)} you can find.", "people", named(members))


def _deaths(articles: Sequence[_Article]) -> Iterator[CorpusQuestion]:
    def decades(article: _Article) -> list[str]:
        match = _DIED.search(article.document.text[:250])
        return [f"{match[1][:3]}0s"] if match and article.jobs else []

    for decade, members in _grouped(articles, decades):
        yield CorpusQuestion(f"Who passed away in the {decade}?", "deaths", named(members))


def _works(articles: Sequence[_Article]) -> Iterator[CorpusQuestion]:
    def decades(article: _Article) -> list[str]:
        first = _SENTENCE_END.split(article.plain, maxsplit=1)[0]
        year = _YEAR.search(first)
        return [f"{year[0][:3]}0s"] if year and not article.is_person and _WORK.search(article.definition) else []

    for decade, members in _grouped(articles, decades):
        yield CorpusQuestion(f"Give me an overview of what came out in the {decade}.", "works", named(members))


def _places(articles: Sequence[_Article]) -> Iterator[CorpusQuestion]:
    def regions(article: _Article) -> list[str]:
        if not _PLACE.search(article.definition):
            return []
        return list(dict.fromkeys(re.findall(rf"(?:in|,) ({_CAPITAL}(?: {_CAPITAL})*)", article.definition)))

    for region, members in _grouped(articles, regions):
        where = f"the {region}" if region.startswith(("United", "Netherlands", "Philippines")) else region
        yield CorpusQuestion(f"Which places in {where} do I have something about?", "places", named(members))


def _players(articles: Sequence[_Article]) -> Iterator[CorpusQuestion]:
    def played(article: _Article) -> list[str]:
        return [
            name
            for name, player in _INSTRUMENTS.items()
            if article.is_person
            and (f" {player} " in article.words or re.search(rf" play(?:s|ed|ing)? (?:the )?{name} ", article.words))
        ]

    def sports(article: _Article) -> list[str]:
        return [name for name in _SPORTS if article.is_person and f" {name} player " in article.words]

    for instrument, members in _grouped(articles, played):
        yield CorpusQuestion(f"Who plays the {instrument}?", "players", named(members))
    for sport, members in _grouped(articles, sports):
        yield CorpusQuestion(f"List everyone who plays {sport}.", "players", named(members))


def _genres(articles: Sequence[_Article]) -> Iterator[CorpusQuestion]:
    yield _topics("What kinds of music come up?", "genres", _MUSIC, articles, beside=_OF_MUSIC)
    yield _topics("What kinds of movies have I saved?", "genres", _FILMS, articles, beside=_OF_FILMS)
    yield _topics("Give me an overview of the sports.", "genres", _SPORTS, articles)
    yield _topics("What instruments get played?", "genres", list(_INSTRUMENTS), articles, forms=_INSTRUMENTS.get)


def _movies(articles: Sequence[_Article]) -> Iterator[CorpusQuestion]:
    def kinds(article: _Article) -> list[str]:
        words = set(article.definition.split())
        return [kind for kind in _FILMS if kind in words] if words & _OF_FILMS else []

    def music(article: _Article) -> list[str]:
        words = set(article.definition.split())
        return [kind for kind in _MUSIC if kind in words] if words & _OF_MUSIC else []

    for kind, members in _grouped(articles, kinds):
        yield CorpusQuestion(f"Name the {kind} movies.", "movies", named(members))
    for kind, members in _grouped(articles, music):
        yield CorpusQuestion(f"Tell me about the {kind} musicians and records.", "movies", named(members))


def _names(articles: Sequence[_Article]) -> Iterator[CorpusQuestion]:
    asked = {
        "Which universities and colleges did people go to?": (
            rf"\bUniversity of {_CAPITAL}|\b{_NAME}+(?:University|College)\b"
        ),
        "What awards have been won, all in all?": rf"\b{_NAME}+(?:Award|Prize|Medal|Cup)\b",
        "What wars and battles are mentioned?": rf"\b{_NAME}+War(?: II?)?\b|\bBattle of {_CAPITAL}",
        "Who are the directors of the movies?": rf"\bdirected by ({_NAME}{_CAPITAL})",
        "Who wrote the songs, books and scripts?": rf"\b(?:co-)?written by ({_NAME}{_CAPITAL})",
        "Who are the stars of the movies and shows?": rf"\b(?:starring|stars) ({_NAME}{_CAPITAL})",
        "Give me an overview of the record labels.": rf"\b{_NAME}+(?:Records|Recordings)\b",
        "What political parties do the politicians belong to?": rf"\b{_NAME}+Party\b",
        "Name the leagues and conferences that teams play in.": rf"\b{_NAME}+(?:League|Conference|Division)\b",
        "Which languages do I have material on?": r"\b([A-Z][a-z]+)[- ]language\b",
        "What newspapers and magazines are cited?": rf"\b{_NAME}+(?:Times|Post|Magazine|News|Journal|Herald)\b",
        "Which counties are covered?": rf"\b{_NAME}+County\b",
        "What museums, theatres and stadiums are there?": rf"\b{_NAME}+(?:Museum|Theatre|Theater|Stadium|Arena)\b",
        "Which rivers and lakes come up?": rf"\b(?:{_NAME}+River|River {_CAPITAL}|Lake {_CAPITAL})\b",
    }
    for text, pattern in asked.items():
        names = re.compile(pattern)
        stated = [joined(name).strip() for article in articles for name in set(names.findall(article.plain))]
        items = [name.removeprefix("the ") for name in _repeated(stated)]
        yield CorpusQuestion(text, "names", tuple(frozenset({name, f"{name}s"}) for name in dict.fromkeys(items)))


def _topics(
    text: str,
    form: str,
    topics: Sequence[str],
    articles: Sequence[_Article],
    *,
    beside: frozenset[str] = frozenset(),
    forms: Callable[[str], str | None] = lambda _: None,
) -> CorpusQuestion:
    """A question for those of some topics that articles state, perhaps in another form."""
    items = [frozenset({topic, forms(topic) or topic}) for topic in topics]
    asked = CorpusQuestion(text, form, tuple(items), beside)
    stated = [item for item in items if sum(_states(article, item, asked) for article in articles) >= _STATED_BY]
    return CorpusQuestion(text, form, tuple(stated), beside)


def _states(article: _Article, item: frozenset[str], question: CorpusQuestion) -> bool:
    return (
        share_known(CorpusQuestion(question.text, question.form, (item,), question.beside), article.document.text) > 0
    )


def _grouped(
    articles: Sequence[_Article], keys: Callable[[_Article], Iterable[str]]
) -> list[tuple[str, list[Document]]]:
    """By key the documents that have it, sorted."""
    groups = defaultdict[str, list[Document]](list)
    for article in articles:
        for key in keys(article):
            groups[key].append(article.document)
    return sorted(groups.items())


def _repeated(items: Iterable[str]) -> list[str]:
    counts: dict[str, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return sorted(item for item, count in counts.items() if count >= _STATED_BY)
