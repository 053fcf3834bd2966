"""Functions that make text safe to print: it cannot control a terminal or imitate output of this program.

Invariant: control characters, marks of text direction and surrogates become replacement characters.
"""

from __future__ import annotations

import re

_MARK = "\N{REPLACEMENT CHARACTER}"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAK = re.compile(r"[\t\n\u2028\u2029]")


def plain(text: str) -> str:
    """Return the text with its tabs and line breaks, and with all other control characters replaced."""
    return _CONTROL.sub(_MARK, text.replace("\r\n", "\n"))


def label(text: str) -> str:
    """Return a name as ``plain`` text, with tabs and line breaks replaced, so that it stays one line."""
    return _BREAK.sub(_MARK, plain(text))


def line(text: str) -> str:
    """Return the text as ``plain`` text on one line, with runs of white space joined to one blank."""
    return plain(" ".join(text.split()))


def escape(text: str) -> str:
    """Return JSON text with control characters escaped. A parser reads the same value."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
