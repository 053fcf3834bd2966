"""The tables of the papers as files: the methods of each with their arguments, and the figures that the paper prints.

A table is one file of TOML in the folder ``tables``; users may give a file of their own. Invariant: a file that holds
an unknown name or value is refused before anything is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.evaluation.dataset import Folder, read_folder
from memgraph_rag.evaluation.methods import Build, Method
from memgraph_rag.settings.sources import read_toml

CostName = Literal["nodes", "prompt_tokens", "model_calls", "tera_flops", "seconds"]
"""A mean cost of a question that a table can show; see ``report.Cost``."""

_FOLDER = Path(__file__).with_name("tables")


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Row(_Record):
    """One method of a table; see ``methods.Method``.

    Attributes:
        method: the name in the paper's table.
        build: the name of the build.
        sweep: values of arguments; the row becomes one row for each combination.
        printed: the paper's figures, by set and metric.
    """

    method: str
    strategy: str = ""
    mode: str = ""
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    arguments_of: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    build: str = "paper"
    sweep: Mapping[str, Sequence[Any]] = Field(default_factory=dict)
    printed: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_one_way(self) -> Row:
        if bool(self.strategy) == bool(self.mode):
            raise ValueError(f"{self.method} needs a strategy or a mode, one of the two")
        return self


class WinRates(_Record):
    """The part of a table that a judging model fills: it compares each method's answers with those of ``against``."""

    against: str
    criteria: Sequence[str]


class Table(_Record):
    """A table of a paper.

    Attributes:
        title: what the table shows.
        source: paper, number of the table or figure, and the models of the printed figures.
        note: how our run differs from the paper's.
        sets: the names of the folders of the paper's sets.
        setting: "corpus" or "closed"; see ``dataset.close_folder``.
        metrics: metrics to show, in this order.
        costs: costs to show, in this order.
        builds: ways to store documents, by name; the first one is the paper's.
        rows: the methods, in the order of the paper.
        win_rates: the comparisons of a judge; None without a judge.
    """

    title: str
    source: str
    note: str = ""
    sets: Sequence[str]
    setting: Literal["corpus", "closed"] = "corpus"
    metrics: Sequence[str]
    costs: Sequence[CostName] = ("nodes", "prompt_tokens", "seconds")
    builds: Mapping[str, Build] = Field(default_factory=dict)
    rows: Sequence[Row] = Field(min_length=1)
    win_rates: WinRates | None = None

    @model_validator(mode="after")
    def _names_builds(self) -> Table:
        if unknown := {row.build for row in self.rows} - {*self.builds, "paper"}:
            raise ValueError(f"no build has the name {sorted(unknown)[0]}")
        return self

    def methods(self) -> list[Method]:
        """Return the methods in the order of the rows. A row with a sweep gives one method for each combination."""
        return [method for row in self.rows for method in self._list_methods(row)]

    def folders(self, paths: Iterable[Path]) -> list[Folder]:
        """Read the table's evaluation sets from folders, or from the subfolders that are named in ``Table.sets``.

        The name of such a folder is also the name of its contents, whatever name the file of the questions has.

        Raises:
            DocumentError: see ``dataset.read_folder``.
        """
        found: list[Path] = []
        for path in paths:
            found += [path / name for name in self.sets if (path / name).is_dir()] or [path]
        folders = [(path.resolve().name, read_folder(path)) for path in found]
        return [replace(folder, name=name) if name in self.sets else folder for name, folder in folders]

    def find_printed_figure(self, label: str, dataset: str, metric: str) -> float | None:
        """Return the paper's figure for a method in a set, or None if the paper has none."""
        name = label.removeprefix("search ")
        row = next((row for row in self.rows if row.method == name), None)
        return row.printed.get(dataset.removesuffix(" closed"), {}).get(metric) if row else None

    def _list_methods(self, row: Row) -> list[Method]:
        build, methods = self.builds.get(row.build, Build()), []
        for values in product(*row.sweep.values()):
            swept = dict(zip(row.sweep, values, strict=True))
            name = " ".join([row.method, *(f"{argument}={value}" for argument, value in swept.items())])
            label = f"search {name}" if row.mode else name
            arguments = {**row.arguments, **swept}
            methods.append(Method(label, row.strategy, row.mode, arguments, row.arguments_of, build))
        return methods


def list_known_tables() -> list[str]:
    """Return the names of the tables of this library, in alphabetical order."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def find_table(name: str) -> Table:
    """Return a table by its name, or from the path of a file of TOML.

    Raises:
        SettingsError: no table has this name, the file cannot be read, or it holds something else than a table.
    """
    path = Path(name) if name.endswith(".toml") else _FOLDER / f"{name}.toml"
    if not path.is_file():
        raise SettingsError(
            f"Expected a table out of {', '.join(list_known_tables())}, or a file of TOML, got {show(name)}.",
            table=name,
        )
    try:
        return Table.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the table"
        raise SettingsError(
            f"Expected a table in {show(path)}, got an error at {show(place)}: {show(first['msg'])}. Correct the file.",
            table=name,
        ) from error
