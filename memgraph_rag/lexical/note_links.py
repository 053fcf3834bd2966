"""Find the links ``[[name]]`` and the #tags of notes, as Obsidian and Logseq write them.

The module knows a text only, not which notes exist: a link to nowhere is a name too. Invariants: a name is the text at
its place; what begins with a space, a sign or a digit alone, as in programs, is no link; time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memgraph_rag.contracts import Named

_LINK = re.compile(r"\[\[(?P<name>[^\W_][^\[\]|#^\n]{1,199})(?:[|#^][^\[\]\n]{0,300})?\]\]")
_TAG = re.compile(r"(?:(?<=\s)|\A)#(?P<name>[^\W\d_][\w/-]{1,99})(?![(<{\"'#])")
_OF_PROGRAMS = re.compile(r"(?:include|define|undef|ifn?def|elif|else|endif|pragma|(?:end)?region|error|[0-9a-f]{6})\Z")
_LETTER = re.compile(r"[^\W\d_]")


def find_note_links(text: str) -> Iterator[Named]:
    """Yield the places of the names in links ``[[name#heading|alias]]`` of a note's text, then those of its #tags.

    >>> text = "The [[Red kayak#Care|kayak]] of #boats/sea"
    >>> [(text[name.start : name.end], name.kind) for name in find_note_links(text)]
    [('Red kayak', 'link'), ('boats/sea', 'tag')]
    """
    for match in _LINK.finditer(text) if "[[" in text else ():
        name = match["name"].rstrip()
        if _LETTER.search(name):
            yield Named(match.start("name"), match.start("name") + len(name), "link")
    for match in _TAG.finditer(text) if "#" in text else ():
        if not _OF_PROGRAMS.match(match["name"]):
            yield Named(*match.span("name"), "tag")
