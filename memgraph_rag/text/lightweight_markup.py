"""Read reStructuredText by docutils, where the extra ``rst`` is installed.

The module knows no file. Invariants: no other file is read and no raw HTML is passed on, whatever the text asks for;
what only Sphinx knows is read as text, not lost.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from memgraph_rag.text.markup import read_html

__all__ = ["can_read", "read_restructured"]

_DIRECTIVE = re.compile(r"^([ \t]*)\.\.[ \t]+([\w:.+-]+)::[ \t]*(.*)\n((?:[ \t]+:[\w -]+:.*\n)*)", re.MULTILINE)
_ROLE = re.compile(r":[a-zA-Z][\w:+.-]*:`[~!]?([^`<\n]+?)(?:\s*<[^`>\n]*>)?`")
_WITHOUT_TEXT = re.compile(r"toctree|index|auto\w+|literalinclude|currentmodule|module|highlight|only|\w*graph\w*")
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 6,
    "embed_stylesheet": False,
    "stylesheet_path": None,
    "syntax_highlight": "none",
    "line_length_limit": 1_000_000,
    "output_encoding": "unicode",
}


def can_read() -> bool:
    """Return whether docutils is installed."""
    return find_spec("docutils") is not None


def read_restructured(source: str, path: Path) -> tuple[str, str]:
    """Return the text and the title of a reStructuredText document, as ``read_html`` returns those of a page."""
    from docutils.core import publish_string
    from docutils.parsers.rst.languages import en

    def _replace_directive(match: re.Match[str]) -> str:
        """Return a directive that docutils knows, or a paragraph with the argument before the content."""
        indent, name, argument, _ = match.groups()
        if name in en.directives:
            return match[0]
        if _WITHOUT_TEXT.fullmatch(name.rpartition(":")[2]):
            return f"{indent}.. left out\n"
        return f"{indent}{argument}\n\n"

    known = _ROLE.sub(r"``\1``", _DIRECTIVE.sub(_replace_directive, source))
    page = str(publish_string(known, writer="html5", settings_overrides=_SETTINGS))
    return read_html(page, path)
