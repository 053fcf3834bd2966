"""Reads the Cypher statements from their files: one statement per file, with a header of its parameters.

The module runs no statement and knows no driver. Invariant: the text of a statement is that of its file, byte for byte,
and the parameters in its header are those in its text (``tests/stores/test_queries.py`` checks both).

A statement is named by folder and file, ``read/list_documents``. A dialect may have its own text, in a folder next to
the shared texts, ``read/neo4j/…``; a more specific dialect has priority over a general one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

Dialect = Literal["ladybug", "neo4j_5", "neo4j_2026"]

DIALECTS: dict[Dialect, tuple[str, ...]] = {
    "ladybug": ("ladybug",),
    "neo4j_5": ("neo4j_5", "neo4j"),
    "neo4j_2026": ("neo4j_2026", "neo4j"),
}
"""The folders of each dialect's own texts, the most specific folder first."""

MADE = re.compile(r"CREATE (?:CONSTRAINT|(?:\w+ )?INDEX) (\w+) IF NOT EXISTS")

INDEXED = re.compile(r"\b[a-z]\.(\w+)")

PARAMS = re.compile(r"// params: (.*)")

_UNWOUND, _WRITTEN = "UNWIND $document_ids AS listed_id\n", "d.version > $since"
"""What a text for a single document replaces. A list that a statement unwinds under another name stays a list."""

_UNWIND, _COLUMN = "UNWIND $rows AS row", re.compile(r"\brow\.")


@dataclass(frozen=True, slots=True)
class Statement:
    """One Cypher statement: its text and the names of its parameters. The rest of a header is for people."""

    name: str
    text: str
    params: tuple[str, ...]

    @property
    def created_index(self) -> str:
        """The name of the index or constraint that the statement creates; empty for any other statement."""
        match = MADE.search(self.text)
        return match[1] if match else ""

    @property
    def takes_list(self) -> bool:
        """Whether the statement takes its rows as a list, the parameter ``rows``."""
        return _UNWIND in self.text

    @property
    def indexed_properties(self) -> list[str]:
        """The properties of the index that the statement creates, in order; without meaning for other statements."""
        return INDEXED.findall(self.text)

    def bind(self, bound: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of one call: all of ``given``, and those of ``bound`` that the statement takes.

        ``bound`` holds the parameters of every call, such as the namespace. A missing parameter is not reported.
        """
        return {name: bound[name] for name in self.params if name in bound} | dict(given)


@cache
def folder() -> Path:
    """Return the folder with the Cypher files: inside an installed package, or next to the package in a checkout."""
    package = Path(__file__).resolve().parents[2]
    packaged = package / "_cypher"
    return packaged if packaged.is_dir() else package.parent / "cypher"


@cache
def statement(name: str, dialect: Dialect) -> Statement:
    """Return the Cypher statement with a name such as "read/list_documents", in the text for a dialect.

    A dialect without a text of its own has the shared one. A name without a file raises ``FileNotFoundError``.
    """
    kind, verb = name.split("/")
    own = (folder() / kind / special / f"{verb}.cypher" for special in DIALECTS[dialect])
    return parse(next(filter(Path.is_file, own), folder() / kind / f"{verb}.cypher"))


@cache
def table_statement(name: str) -> Statement:
    """Return Ladybug's statement with this name, changed so that it takes its rows as an arrow table, not a list.

    A list of rows is unwound (``UNWIND $rows AS row`` and ``row.id``), a table is loaded (``LOAD FROM $rows``, ``id``).
    """
    own = statement(name, "ladybug")
    return replace(own, text=_COLUMN.sub("", own.text.replace(_UNWIND, "LOAD FROM $rows")))


@cache
def single_document_statement(name: str) -> Statement | None:
    """Return Ladybug's statement with this name, changed so that it reads the document with one id.

    The parameter ``document_ids`` then holds that id. The result is None if the statement selects no documents.
    """
    own = statement(name, "ladybug")
    text = own.text.replace(_UNWOUND, "").replace("listed_id", "$document_ids")
    text = text.replace(_WRITTEN, "d.id = $document_ids")
    return None if text == own.text else replace(own, text=text)


@cache
def migrations(dialect: Dialect) -> dict[int, Statement]:
    """Return the steps that build the schema, by number from 1. The highest number is the version of the schema."""
    files = (path for special in DIALECTS[dialect] for path in (folder() / "schema" / special).glob("*.cypher"))
    steps = {int(path.name.partition("_")[0]): parse(path) for path in files}
    return dict(sorted(steps.items()))


@cache
def _script(dialect: Dialect, version: int) -> str:
    path = folder() / "schema" / f"{dialect}_whole" / f"{version:03}.cypher"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def whole_schema(dialect: Dialect, dimension: int) -> str:
    """Return the statements that build the newest schema in a new database, as one text for one run.

    The text does not save the version of the schema. ``dimension`` is the length of embeddings.
    """
    steps = migrations(dialect)
    script = _script(dialect, max(steps)) or ";\n".join(step.text for step in steps.values())
    return script.replace("$dimension", str(int(dimension)))


def parse(path: Path) -> Statement:
    """Read the Cypher statement and the names of its parameters from a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    (names,) = (match[1] for line in lines if (match := PARAMS.fullmatch(line)))
    return Statement(
        name=path.relative_to(folder()).with_suffix("").as_posix(),
        text="\n".join(line for line in lines if not line.startswith("//")),
        params=() if names == "-" else tuple(name.strip() for name in names.split(",")),
    )
