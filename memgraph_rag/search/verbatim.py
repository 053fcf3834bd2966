"""Bring the passages first that hold a query word for word, or whose heading says the same.

The module knows the texts of results only. Invariant: all other passages keep their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from memgraph_rag.lexical.language import FUNCTION_WORDS, guess_language
from memgraph_rag.lexical.markdown import headings, plain
from memgraph_rag.lexical.tokenize import index_terms, stemmer_name, words
from memgraph_rag.types import Evidence

BEST_BY_WORDS = 10  # candidates that are compared with the query besides the results, those that match words best
_FEWEST_WORDS = 3  # of a query that a passage seldom holds by chance
_MAY_BE_HEADING = re.compile(r"^[ \t>]{0,20}#{1,6}[ \t]+\S.*$|^.+$(?=\n[ \t>]{0,20}(?:=+|-+)[ \t]*$)", re.MULTILINE)


def order_verbatim(query: str, evidence: Sequence[Evidence]) -> list[Evidence]:
    """Reorder search results: those with a heading equal to the query come first, then those that hold the query.

    A heading is equal if it has the same stems without function words; one with the same words comes before. Case and
    punctuation do not count. A turn that says only the query, as when it was asked before, is not moved. The scores
    stay in their order: the first result has the first score.
    """
    asked, language = words(query), guess_language(query)
    stems = _stems(query, language)

    def rank(item: Evidence) -> int:
        text = item.segment.text
        lines = _MAY_BE_HEADING.findall(text) if stems else ()
        if any(stems <= _stems(line, language) for line in lines):
            equal = [heading.title for heading in headings(text) if _stems(heading.title, language) == stems]
            if equal:
                return 3 if any(words(title) == asked for title in equal) else 2
        if len(asked) < _FEWEST_WORDS or max(asked, key=len) not in text.lower():
            return 0
        if item.segment.speaker and words(text.partition("): ")[2]) == asked:
            return 0
        return int(f" {' '.join(asked)} " in f" {' '.join(words(plain(text).text))} ")

    ordered = sorted(evidence, key=rank, reverse=True)
    return [replace(item, score=place.score) for item, place in zip(ordered, evidence, strict=True)]


@lru_cache(maxsize=4096)
def _stems(text: str, language: str) -> frozenset[str]:
    listed = FUNCTION_WORDS.get(language, frozenset())
    content = " ".join(word for word in words(text) if word not in listed)
    return frozenset(index_terms(content, stemmer_name(language)))
