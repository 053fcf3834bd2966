"""Know the languages of program texts by their titles, and split identifiers into words.

The module knows no file and no parser. Invariant: a text is a program only by its title, never by its content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh"), "cpp"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".kt", ".kts"), "kotlin"),
    **dict.fromkeys((".sh", ".bash"), "bash"),
    **dict.fromkeys((".ex", ".exs"), "elixir"),
    ".tsx": "tsx",
    ".java": "java",
    ".go": "go",
    ".rs": "rust",
    ".rb": "ruby",
    ".php": "php",
    ".cs": "csharp",
    ".swift": "swift",
    ".scala": "scala",
    ".lua": "lua",
    ".jl": "julia",
    ".hs": "haskell",
    ".dart": "dart",
}
_DATA = {".yml", ".yaml", ".toml", ".json", ".ini", ".cfg", ".conf", ".css", ".sql", ".xml", ".csv", ".tsv", ".cypher"}
_IDENTIFIER = re.compile(r"\b(?=\w*(?:[a-z][A-Z]|[A-Z]{2}[a-z]{2}|[^\W_]_+[^\W_]))[^\W\d]\w{2,80}\b")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


def find_program_language(title: str) -> str | None:
    """Return the language of a program by its title, "" for a file of data or settings, None for other texts.

    The title of a program is the end of its path, with a folder: "Node.js" is no program.

    >>> find_program_language("src/app.py"), find_program_language("./setup.cfg"), find_program_language("Node.js")
    ('python', '', None)
    """
    suffix = PurePosixPath(title).suffix.lower() if "/" in title else ""
    return "" if suffix in _DATA else _LANGUAGES.get(suffix)


def identifiers(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, end), in the whole text, of each compound identifier between ``start`` and ``end``.

    A compound identifier has an underscore or a capital inside: ``get_user``, ``getUser``. A dot ends it.
    """
    return (match.span() for match in _IDENTIFIER.finditer(text, start, end))


def append_parts(text: str) -> str:
    r"""Return a text with the parts of its compound identifiers at its end, so that a search for a part finds it.

    >>> append_parts("class OAuth2Scheme: get_user()")
    'class OAuth2Scheme: get_user()\n O Auth 2 Scheme get user'
    """
    parts = [part for found in dict.fromkeys(_IDENTIFIER.findall(text)) for part in _PART.findall(found)]
    return f"{text}\n {' '.join(parts)}" if parts else text
