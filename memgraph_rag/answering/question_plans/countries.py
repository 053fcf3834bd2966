"""Countries that a short text names: by their names, their people, their capitals and their provinces.

The names are those of the package countryinfo, in English and in the country's own language. Invariant: a text without
a known name has no country, and then code compares words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from unicodedata import normalize

from memgraph_rag.answering.question_plans.values import is_same

_LONGEST_CODE = 3  # letters: codes are words, too ("IN", "AND"), so they count in capitals and as the whole text only
_LONGEST_NAME = 6  # words


def find_countries(text: str) -> frozenset[str]:
    """Return the codes of the countries that a text may mean; empty if it names none.

    The last part between commas that names a country counts. A name of several countries gives all of them.

    >>> sorted(find_countries("Lansing, Michigan")), sorted(find_countries("Georgia"))
    (['US'], ['GE', 'US'])
    >>> sorted(find_countries("a German-Irish director")), sorted(find_countries("my neighbour"))
    (['DE', 'IE'], [])
    """
    code = text.removeprefix("the ").replace(".", "")
    if code.isupper() and (codes := list_codes().get(code)):
        return codes
    for part in reversed(text.split(",")):
        if codes := _find_in_part(_list_words(part)):
            return codes
    return frozenset()


def is_same_country(first: str, second: str) -> bool:
    """Return whether two texts may mean the same country; texts without a known country are compared by their words.

    >>> is_same_country("Michigan", "St. Louis, Missouri"), is_same_country("British", "United Kingdom")
    (True, True)
    """
    one, other = find_countries(first), find_countries(second)
    return bool(one & other) if one and other else is_same(first, second)


def names_country(text: str, value: str) -> bool:
    """Return whether a text names, in any form, the country that a value may mean.

    >>> names_country("Ann Lee, a poet who lives in the United States", "American")
    True
    """
    codes = find_countries(value)
    return bool(codes) and bool(codes & _find_in_part(_list_words(text)))


def _find_in_part(words: list[str]) -> frozenset[str]:
    """Return the countries of the longest names among words."""
    names, codes, start = list_codes(), frozenset[str](), 0
    while start < len(words):
        for end in range(min(len(words), start + _LONGEST_NAME), start, -1):
            if found := names.get(" ".join(words[start:end])):
                codes |= found
                break
        else:
            end = start + 1
        start = end
    return codes


@cache
def list_codes() -> Mapping[str, frozenset[str]]:
    """Return the codes of the countries of each name in lower case and of each code in capitals.

    Empty if countryinfo is not installed: it needs Python 3.11.
    """
    found: dict[str, set[str]] = defaultdict(set)
    with suppress(ImportError):
        from countryinfo import CountryInfo

        for name, info in CountryInfo.all().items():
            code = (info.get("ISO") or {}).get("alpha2") or name
            people = re.split(r"[,/]", info.get("demonym") or "")
            capital = info.get("capital") or ()
            places = [*([capital] if isinstance(capital, str) else capital), *(info.get("provinces") or ())]
            for each in filter(None, (name, *(info.get("altSpellings") or ()), *people, *places)):
                if len(each) <= _LONGEST_CODE and each.isupper():
                    found[each].add(code)
                else:
                    found[" ".join(_list_words(re.sub(r"\(.*?\)", "", each)))].add(code)
    return {name: frozenset(codes) for name, codes in found.items() if name}


def _list_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents: sources write provinces with and without them."""
    return re.findall(r"[\w']+", re.sub(r"[\u0300-\u036f]", "", normalize("NFKD", text.casefold())))
