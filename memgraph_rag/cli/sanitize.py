"""Makes text safe to print: it cannot control a terminal, nor look like a line of this program.

It knows no command and imports nothing. Invariant: escape sequences, overprinting, reversed direction and
characters that no terminal can show become marks.
"""

from __future__ import annotations

import re

__all__ = ["escape", "label", "line", "plain"]

_MARK = "\N{REPLACEMENT CHARACTER}"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAK = re.compile(r"[\t\n\u2028\u2029]")


def plain(text: str) -> str:
    """The text, on the lines that it has, without what could drive a terminal."""
    return _CONTROL.sub(_MARK, text.replace("\r\n", "\n"))


def label(text: str) -> str:
    """A name: plain, and with a mark for each break, so that one name never looks like two lines."""
    return _BREAK.sub(_MARK, plain(text))


def line(text: str) -> str:
    """A sentence: plain, on one line."""
    return plain(" ".join(text.split()))


def escape(text: str) -> str:
    """Return JSON with escapes for what could drive a terminal; to a parser it is the same."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
