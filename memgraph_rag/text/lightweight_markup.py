"""Read reStructuredText by docutils (the extra ``rst``) and AsciiDoc by pandoc (the extra ``office``).

The module opens no file. Invariants: no other file is read and no raw HTML is passed on, whatever the text asks for;
text in a form that the parser does not know is kept as text, not lost.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from memgraph_rag.text import pandoc
from memgraph_rag.text.markup import markdown_title, read_html

_ASCIIDOC_SUFFIXES = {".adoc", ".asciidoc"}
_ASCIIDOC_TITLE = re.compile(r"^= (\S.*)$", re.MULTILINE)
_SECONDS = 10.0
_FENCE = re.compile(r"(?P<mark>-{4,}|\.{4,}|\+{4,}|/{4,}|```)(?P<language>\S*)")
"""The first and the last line of a block whose lines are no markup; the lines between slashes are a comment."""
_UNDERLINE = re.compile(r"([=~^+-])\1+")
_DIRECTIVE = re.compile(r"(?:include|ifn?def|ifeval|endif)::\S*?\[(?P<content>.*)\]")

_RST_DIRECTIVE = re.compile(r"^([ \t]*)\.\.[ \t]+([\w:.+-]+)::[ \t]*(.*)\n((?:[ \t]+:[\w -]+:.*\n)*)", re.MULTILINE)
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


def can_read(suffix: str) -> bool:
    """Return whether the parser for files with this suffix is installed; False for a suffix of another format."""
    return pandoc.is_installed() if suffix in _ASCIIDOC_SUFFIXES else suffix == ".rst" and bool(find_spec("docutils"))


def read(source: str, path: Path, *, most_bytes: int) -> tuple[str, str]:
    """Return the text and the title of a document in reStructuredText or, by the suffix of its path, in AsciiDoc.

    An AsciiDoc document becomes Markdown. It remains as it is if pandoc cannot read it, finds no text, or writes more
    than ``most_bytes``. Text under a condition is kept in any case. Included files and comments are left out.
    """
    if path.suffix.lower() not in _ASCIIDOC_SUFFIXES:
        return _read_restructured(source, path)
    try:
        text = pandoc.convert_to_markdown(_drop_directives(source).encode(), "asciidoc", most_bytes, seconds=_SECONDS)
    except pandoc.PandocError:
        text = ""
    if 0 < len(text) <= most_bytes:
        return text, markdown_title(text)
    title = _ASCIIDOC_TITLE.search(source)
    return source, title[1].strip() if title else ""


def _drop_directives(source: str) -> str:
    """Leave out comments, conditions and inclusions of AsciiDoc, which pandoc 3.9 reads as text or refuses.

    A condition of one line is replaced by the text in it. A title above a line of signs moves behind signs. A block
    without an end gets one, since pandoc would search for the end until it has used up its memory.
    """
    lines: list[str] = []
    end = None
    for line in source.split("\n"):
        mark = line.rstrip()
        directive = _DIRECTIVE.fullmatch(mark)
        if end is None and _is_underline(mark, lines):
            line = f"{'=' * ('=-~^+'.index(mark[0]) + 1)} {lines.pop()}"
        elif end is None and (fence := _FENCE.fullmatch(mark)):
            end = fence["mark"]
        elif mark == end:
            end = None
        if (end or mark).startswith("////") or (end is None and re.match(r"//(?!/)", line)):
            continue
        if directive is None:
            lines.append(line)
        elif mark.startswith(("ifdef", "ifndef")):
            lines.append(directive["content"])
    return "\n".join([*lines, end or "", ""])


def _is_underline(mark: str, lines: list[str]) -> bool:
    """Return whether a line of signs makes a title of the line before it, which begins a paragraph and is as long."""
    if not lines or _UNDERLINE.fullmatch(mark) is None or not lines[-1][:1].isalnum():
        return False
    begins = len(lines) == 1 or not lines[-2].strip() or lines[-2].endswith("]")
    return begins and abs(len(mark) - len(lines[-1].rstrip())) <= 2


def _read_restructured(source: str, path: Path) -> tuple[str, str]:
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

    known = _ROLE.sub(r"``\1``", _RST_DIRECTIVE.sub(_replace_directive, source))
    page = str(publish_string(known, writer="html5", settings_overrides=_SETTINGS))
    return read_html(page, path)
