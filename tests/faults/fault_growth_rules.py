"""Growth of the rules that read names, days, statements, secrets and signs: no faster than the text grows.

Each rule has scraps that a pattern could try again and again. ``test_growth.py`` repeats each scrap, in pairs of sizes.
"""

from __future__ import annotations

from collections.abc import Callable

from fault_growth import Work

from memgraph_rag.facts.fact_index import Fact, group_by_subject, standings
from memgraph_rag.facts.own_words import own_words
from memgraph_rag.facts.statements import statements
from memgraph_rag.layers.surfaces import occurrences
from memgraph_rag.lexical.capitalised_names import find_capitalised
from memgraph_rag.lexical.markdown import headings
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.lexical.ruled_names import names_by_rules
from memgraph_rag.text.injection import addresses_model
from memgraph_rag.text.secrets import find_secrets
from memgraph_rag.types import Segment

__all__ = ["FACTS", "RULES"]

_CHARACTERS_A_FACT = 40


def _read_own_words(text: str) -> None:
    said = f"user: {text}"
    own_words([Segment("s", "d", 0, said, 0, len(said), 1, "user", "2026-01-05T10:00:00")])


def _find_surfaces(text: str) -> None:
    occurrences("a b c d", text)
    occurrences(" ".join("a" * 90), text)


RULES: dict[str, Work] = {
    "statements": Work(
        statements,
        ("I my ", "and my ", "my a is ", "well, ", "now ", "is my ", "from to ", "I've ", "'s ", "I switched from a ",
         "no longer, ", "instead of ", "I left it for ", "my is no longer "),
    ),
    "own words": Work(
        _read_own_words,
        ('"a ', "'a ", "' a", "“a ", "`a``b ", "<a ", "<aa", "<a>b", "</a>", "<!--", "> a\n", "Tom: a\n", "a: b ",
         "\n\n", "Dear ", "said ", "this text ", "10:00 ", "    a\n", "```\n", "> ", "- ", "From: a\n",
         "[1.1.26, 10:00] a"),
    ),
    "signs": Work(
        lambda text: addresses_model(text, others=text),
        ("ignore ", "a", "\n ", "* ", "忽略", "А", "Answer: ", "QUJD", "from now on ", "<b ", "all "),
    ),
    "secrets": Work(find_secrets, ("eyJ-", "sk-", "4", "a://", "password ", "DE11 ")),
    "capitalised names": Work(
        find_capitalised,
        ("A", "A ", "Aa", "(", "a.B", "A-", "\n-", ". A", '"A" ', "A of ", "A.", "’", " ", "\n", "I ", "é"),
    ),
    "ruled names": Work(names_by_rules, ("的人", "黑豹队赢了", "ก็", "है राम ", "「", "ア", "Die A ")),
    "relative days": Work(
        lambda text: relative_days(text, "2026-05-12T18:00:00"), ("a couple of last ", "yesterday ", "next ")
    ),
    "headings": Work(headings, ("> - # a\n", "# A\n", "a\n---\n")),
    "surfaces": Work(_find_surfaces, ("a b c ", "a ")),
}  # fmt: skip


def _fact(index: int, attribute: str, value: str, *, kind: str = "value", former: str = "", at: float = 0.0) -> Fact:
    key = ("user", "ann", attribute)
    return Fact(key, kind, value, "quote", "Ann", str(at), at, f"document {index}", f"segment {index}", 0, former)


def _rate(make: Callable[[int], Fact]) -> Work:
    """Return the work that finds what holds of as many facts as a text of that length has."""

    def rate(text: str) -> None:
        facts = [make(index) for index in range(len(text) // _CHARACTERS_A_FACT)]
        for of_subject in group_by_subject(facts).values():
            standings(of_subject)

    return Work(rate, ("x",))


FACTS: dict[str, Work] = {
    "values": _rate(lambda index: _fact(index, "home", f"Town{index}")),
    "events": _rate(
        lambda index: _fact(index, "go rome", "never" if index % 2 else "yes", kind="event", at=float(index))
    ),
    "formers": _rate(lambda index: _fact(index, "home", f"Town{index + 1}", former=f"Town{index}", at=float(index))),
    "attributes": _rate(
        lambda index: _fact(index, f"thing {index}", f"Town{index}", former=f"Old{index}", at=float(index))
    ),
    "shared words": _rate(
        lambda index: _fact(index, f"thing {index}", f"the town {index}", former=f"the old {index}", at=float(index))
    ),
}
"""Facts of one person, of each kind that could be compared with all others."""
