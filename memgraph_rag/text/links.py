"""Find the links of a text, with or without a scheme, and those that other texts do not contain.

The module knows texts only and opens no link. Invariant: only an equal link supports a link; http or https and a slash
at the end make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memgraph_rag.text.seen_text import fold_look_alikes

_REST = r"[^\s<>\"')\]，。、；！？）」』】》]"
_TOP = (
    "com|org|net|info|biz|io|ai|dev|app|xyz|site|online|shop|top|club|store|tech|live|link|click|page|cloud|space|icu|"
    "example|test|invalid|onion|edu|gov|de|uk|fr|nl|pl|ru|cn|jp|eu|ch|at|es|br"
)
_SCHEMES = (
    "https?|hxxps?|ftps?|sftp|ssh|wss?|file|mailto|javascript|vbscript|data|tel|sms|callto|bitcoin|ethereum|litecoin|"
    "monero|magnet|ipfs|blob|intent|facetime|skype|whatsapp|tg|slack|steam"
)
_LINK = re.compile(
    rf"\b[a-z][a-z0-9+.-]{{1,20}}://{_REST}+"
    rf"|\b(?:{_SCHEMES}):(?=[^\s:]){_REST}+"
    rf"|(?<![\w:/])//[\w-]+(?:\.[\w-]+)+{_REST}*"
    rf"|[\w.+-]{{1,64}}@(?:[\w-]{{1,63}}\.)+[a-z]{{2,}}\b"
    rf"|(?<![\w.@/-])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?=[:/])[:/]{_REST}+"
    rf"|(?<![\w.@/-])(?:[\w-]{{1,63}}\.)+(?:[a-z]{{2,18}}(?=/[\w?#%~]){_REST}+|(?:{_TOP})\b(?![\w@-]|\.\w))"
    rf"|\bwww\.{_REST}+",
    re.IGNORECASE,
)
_END_MARKS = ".,;:!?*_`~|"
_WEB = re.compile(r"^(?:https?:)?//", re.IGNORECASE)


def list_unsupported_links(answer: str, quotes: Iterable[str]) -> list[str]:
    """Return the links of an answer that are not links of any quote, in order, each once.

    Whole links are compared, without http(s)://, case, and a slash at the end.

    >>> list_unsupported_links("See http://a.example.", ["Look at http://a.example.evil.test"])
    ['http://a.example']
    """
    quoted = {_normalize(link) for quote in quotes for link in _find_links(quote)}
    return [link for link in dict.fromkeys(_find_links(answer)) if _normalize(link) not in quoted]


def first_link(text: str) -> int:
    """Return the position of the first link of a text; -1 without a link.

    Web addresses without a scheme and mail addresses are links. A Markdown link begins at its address, not its bracket.
    """
    match = _LINK.search(text)
    return match.start() if match else -1


def _find_links(text: str) -> Iterator[str]:
    return (match[0].rstrip(_END_MARKS) for match in _LINK.finditer(fold_look_alikes(text)))


def _normalize(link: str) -> str:
    return _WEB.sub("", link).casefold().rstrip("/")
