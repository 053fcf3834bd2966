"""The outcome of each question, appended to a file of JSON lines.

It knows neither memory nor metric. Invariants: an outcome is found by a hash of everything that it depends on; an
incomplete last line, left by a killed process, is dropped when the file is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.evaluation.retrieval import Piece


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one method for one question.

    Attributes:
        key: hash of everything that the outcome depends on.
        dataset: name of the folder.
        question: id of the question.
        method: "search" and a mode, such as "search graph", or the label of a strategy.
        found: spans that a search found, or that an answer cites (with 0 tokens), best first.
        error: the error of a question without an answer, else empty.
        short: the short phrase of the answer; empty if there is none.
        nodes: the number of nodes that the strategy read. None for a search, and for an outcome of an older release.
        node_tokens: the tokens of these nodes.
        tera_flops: 10^12 floating-point operations of the language model. None if they are unknown: for a model on a
            server, and for an outcome of an older release.
    """

    key: str
    dataset: str
    question: str
    method: str
    found: tuple[Piece, ...]
    answer: str = ""
    abstained: bool = False
    stop: str = ""
    error: str = ""
    prompt_tokens: int = 0
    generated_tokens: int = 0
    model_calls: int = 0
    seconds: float = 0.0
    short: str = ""
    nodes: int | None = None
    node_tokens: int | None = None
    tera_flops: float | None = None


@dataclass(frozen=True, slots=True)
class Building:
    """The cost of adding a set's documents in one run.

    Attributes:
        documents: how many were stored; documents that got only further layers are not counted.
        notes: the notes of the receipts, with their counts.
    """

    dataset: str
    documents: int
    segments: int
    prompt_tokens: int
    generated_tokens: int
    model_calls: int
    seconds: float
    tera_flops: float | None = None
    notes: Mapping[str, int] = field(default_factory=dict[str, int])


class Outcomes:
    """The stored outcomes and building costs of a folder: ``outcomes.jsonl`` and ``buildings.jsonl``.

    Raises:
        SettingsError: the folder cannot be created or read.
    """

    def __init__(self, folder: Path) -> None:
        self._paths = {"outcomes": folder / "outcomes.jsonl", "buildings": folder / "buildings.jsonl"}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            rows = {name: _rows(path) for name, path in self._paths.items()}
        except OSError as error:
            raise SettingsError(
                f"Expected a folder that can be written to, got an error: {show(error)}. Name another.", path=folder
            ) from error
        self._by_key = {row["key"]: _outcome(row) for row in rows["outcomes"]}
        self._buildings = [Building(**row) for row in rows["buildings"]]

    def find(self, key: str) -> Outcome | None:
        """Return the stored outcome with this key, or None."""
        return self._by_key.get(key)

    def buildings(self, dataset: str) -> list[Building]:
        """Return the costs of adding a set, one item for each run that added a document, in order."""
        return [building for building in self._buildings if building.dataset == dataset]

    def keep(self, outcome: Outcome) -> None:
        """Append an outcome to the file. ``find`` then returns it for its key, in place of an older one."""
        self._by_key[outcome.key] = outcome
        self._append("outcomes", asdict(outcome))

    def keep_building(self, building: Building) -> None:
        """Append the cost of adding a set's documents to the file of building costs."""
        self._buildings.append(building)
        self._append("buildings", asdict(building))

    def _append(self, name: str, row: Mapping[str, Any]) -> None:
        with self._paths[name].open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def hash_inputs(*inputs: object) -> str:
    """Return the key of an outcome: a hash, 24 hex digits, of everything that it depends on, given as JSON values."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:24]


def _outcome(row: Mapping[str, Any]) -> Outcome:
    pieces = tuple(((key, start, end), tokens) for (key, start, end), tokens in row["found"])
    known = {field.name: row[field.name] for field in fields(Outcome) if field.name in row}  # older rows have others
    return Outcome(**{**known, "found": pieces})


def _rows(path: Path) -> list[dict[str, Any]]:
    """Read all complete lines. An incomplete last line is removed from the file."""
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.split("\n")[:-1]]  # splitlines would break strings at U+2028
