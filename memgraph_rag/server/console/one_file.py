"""The console as one file with data inside: the page of ``show --html``, and of ``ui://`` for hosts of MCP Apps.

It joins the modules of the console into one script, because a page that is opened from disk cannot load modules.
Invariants: the page loads nothing; its content policy allows its own scripts and styles, by their hashes, and nothing
else; text of documents is in JSON, which cannot end its element.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from posixpath import join, normpath
from typing import Any

from memgraph_rag import __version__

MARK = b"<!DOCTYPE html>\n<!-- Written by memgraph-rag show. -->"
"""The first bytes of a page of this module. Text in a page cannot contain them, because it is escaped."""

_IMPORT = re.compile(r'^import\s+(?:(\w+)|\{([^}]*)\})\s+from\s+"([^"]+)";\n?', re.MULTILINE)
_PASSED_ON = re.compile(r'^export\s+\{([^}]*)\}\s+from\s+"([^"]+)";', re.MULTILINE)
_LIST = re.compile(r"export\s*\{([^}]*)\};?\s*$")
_EXPORT = re.compile(r"^export (default|(?:async )?function\*? |class |const )(\w+)?", re.MULTILINE)

_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def write_page(inside: Mapping[str, Any]) -> str:
    """Return the console as one HTML page that takes results from ``inside`` (``read_inside``), not from a server."""
    style = _asset("console/console.css")
    scripts = (_asset("vendor/cytoscape.min.js"), _join_modules())
    hashes = " ".join(map(_hash, scripts))
    policy = f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data: blob:; base-uri 'none'"
    data = json.dumps({"settings": {"version": __version__, "write": False, "owner": False}, **inside})
    page = _asset("console/index.html").replace("<!DOCTYPE html>", MARK.decode(), 1)
    page = page.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
    page = re.sub(r'<link rel="stylesheet" href="console.css" id="(\w+)">', rf'<style id="\1">{_MARKER}</style>', page)
    return (
        page.replace(_MARKER, style, 1)
        .replace('<script type="module" src="main.js"></script>\n', "", 1)
        .replace(
            "</body>",
            f'<script type="application/json" id="inside">{data.translate(_ESCAPES)}</script>\n'
            f'<script>{scripts[0]}</script>\n<script type="module">{scripts[1]}</script>\n</body>',
            1,
        )
    )


_MARKER = "/* style */"


@cache
def _asset(name: str) -> str:
    return files("memgraph_rag.server").joinpath("assets", *name.split("/")).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _join_modules() -> str:
    """Return the modules of the console as one, each as a function, after those that it imports."""
    numbers: dict[str, int] = {}
    written: list[str] = []

    def number(path: str) -> int:
        """Return the number of a module, after it was written."""
        if path not in numbers:
            body = _as_function(path, number)
            numbers[path] = len(numbers)
            written.append(f"const m{numbers[path]} = await (async () => {{\n{body}\n}})();")
        return numbers[path]

    number("console/main.js")
    return "\n".join(written)


def _as_function(path: str, number: Any) -> str:
    """Return the body of a module as that of a function that returns what the module exports."""

    def find_number(name: str) -> int:
        return number(normpath(join(path.rpartition("/")[0], name)).replace("console/vendor/", "vendor/"))

    def take(match: re.Match[str]) -> str:
        whole, names, source = match.groups()
        wanted = f"default: {whole}" if whole else names.replace(" as ", ": ")
        return f"const {{ {' '.join(wanted.split())} }} = m{find_number(source)};\n"

    def rewrite_export(match: re.Match[str]) -> str:
        return f"return m{find_number(match[2])};"

    def keep(match: re.Match[str]) -> str:
        kind, name = match.groups()
        exported.append("default: standard" if kind == "default" else name)
        return "const standard =" if kind == "default" else f"{kind}{name}"

    exported: list[str] = []
    body = _PASSED_ON.sub(rewrite_export, _IMPORT.sub(take, _asset(path)))
    if last := _LIST.search(body):
        pairs = (each.strip().rpartition(" as ") for each in last[1].split(","))
        exported += [f"{name}: {own}" if own else name for own, _, name in pairs]
        body = body[: last.start()]
    body = _EXPORT.sub(keep, body)
    return f"{body}\nreturn {{ {', '.join(exported)} }};" if exported else body
