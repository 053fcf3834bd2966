"""The Cypher statements, read from their files: one statement each, with a header that says what it takes.

It runs nothing and knows no driver. The invariant: a statement's text is what the file says, byte for byte, and
the parameters in its header are those of its text (``tests/stores/test_queries.py`` holds it to that).

A statement is named by folder and verb, ``read/list_documents``. A dialect's own text of a statement lies in a
folder of that dialect beside the shared ones, ``read/neo4j/…``; a more special dialect comes before a general one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "DIALECTS",
    "Dialect",
    "Statement",
    "folder",
    "keyed",
    "loading",
    "migrations",
    "parse",
    "shared",
    "statement",
    "whole_schema",
]

Dialect = Literal["ladybug", "neo4j_5", "neo4j_2026"]

DIALECTS: dict[Dialect, tuple[str, ...]] = {
    "ladybug": ("ladybug",),
    "neo4j_5": ("neo4j_5", "neo4j"),
    "neo4j_2026": ("neo4j_2026", "neo4j"),
}
"""The folders in which a dialect looks for its own texts, the most special first."""

MADE = re.compile(r"CREATE (?:CONSTRAINT|(?:\w+ )?INDEX) (\w+) IF NOT EXISTS")

INDEXED = re.compile(r"\b[a-z]\.(\w+)")

HEADER = re.compile(r"// (params|returns|needs): (.*)")

_LISTED = "d.id IN $document_ids"

_UNWIND, _COLUMN = "UNWIND $rows AS row", re.compile(r"\brow\.")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement and its header."""

    name: str
    text: str
    purpose: str
    params: tuple[str, ...]
    returns: tuple[str, ...]
    needs: tuple[str, ...]

    @property
    def made(self) -> str:
        """The name of the index or constraint that it makes; empty where it makes none."""
        match = MADE.search(self.text)
        return match[1] if match else ""

    @property
    def indexed(self) -> list[str]:
        """The properties that the index is on that it makes, in their order."""
        return INDEXED.findall(self.text)

    def bind(self, bound: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of one call: what is given, and of what is bound for good that which this takes."""
        return {name: bound[name] for name in self.params if name in bound} | dict(given)


@cache
def folder() -> Path:
    """Where the statements lie: inside the package when installed from a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    packaged = package / "_cypher"
    return packaged if packaged.is_dir() else package.parent / "cypher"


@cache
def statement(name: str, dialect: Dialect) -> Statement:
    """The statement of that name, in the dialect's own text where it has one."""
    kind, verb = name.split("/")
    own = (folder() / kind / special / f"{verb}.cypher" for special in DIALECTS[dialect])
    return parse(next(filter(Path.is_file, own), folder() / kind / f"{verb}.cypher"))


@cache
def shared(name: str) -> Statement | None:
    """The text of that name that every engine understands, where there is one beside the dialects' own."""
    kind, verb = name.split("/")
    path = folder() / kind / f"{verb}.cypher"
    return parse(path) if path.is_file() else None


@cache
def loading(name: str) -> Statement:
    """Ladybug's text for rows in an arrow table: its own, or that which every engine understands, with another head.

    A list of rows is unwound (``UNWIND $rows AS row`` and ``row.id``), a table is loaded (``LOAD FROM $rows``, ``id``).
    """
    own = statement(name, "ladybug")
    return replace(own, text=_COLUMN.sub("", own.text.replace(_UNWIND, "LOAD FROM $rows")))


@cache
def keyed(name: str) -> Statement | None:
    """Ladybug's text for one document, its id in place of the list: by a key the engine reads no other document's id.

    None where the statement looks for no documents by their ids.
    """
    own = statement(name, "ladybug")
    if _LISTED not in own.text:
        return None
    return replace(own, text=own.text.replace("IN $document_ids", "= $document_ids"))


@cache
def migrations(dialect: Dialect) -> dict[int, Statement]:
    """The steps that build the schema, by their numbers from 1; the highest is the schema's version."""
    files = (path for special in DIALECTS[dialect] for path in (folder() / "schema" / special).glob("*.cypher"))
    steps = {int(path.name.partition("_")[0]): parse(path) for path in files}
    return dict(sorted(steps.items()))


@cache
def _script(dialect: Dialect, version: int) -> str:
    path = folder() / "schema" / f"{dialect}_whole" / f"{version:03}.cypher"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def whole_schema(dialect: Dialect, dimension: int) -> str:
    """The statements that build the newest schema in a new database: a script of its own, else all steps in a row."""
    steps = migrations(dialect)
    script = _script(dialect, max(steps)) or ";\n".join(step.text for step in steps.values())
    return script.replace("$dimension", str(int(dimension)))


def parse(path: Path) -> Statement:
    """A statement from its file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    header = [line for line in lines if line.startswith("//")]
    fields = {match[1]: match[2] for line in header if (match := HEADER.fullmatch(line))}
    purpose = " ".join(line.removeprefix("//").strip() for line in header if not HEADER.fullmatch(line))
    return Statement(
        name=path.relative_to(folder()).with_suffix("").as_posix(),
        text="\n".join(line for line in lines if not line.startswith("//")),
        purpose=purpose,
        params=_listed(fields["params"]),
        returns=_listed(fields["returns"]),
        needs=_listed(fields["needs"]),
    )


def _listed(value: str) -> tuple[str, ...]:
    return () if value == "-" else tuple(part.strip() for part in value.split(","))
