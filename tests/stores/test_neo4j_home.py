"""The files of a database that an import in bulk replaces, when it is stopped between any two steps."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tables import table

from memgraph_rag.stores.neo4j import home as neo4j_home
from memgraph_rag.stores.neo4j.home import Home

KINDS = ("databases", "transactions")


class Stopped(BaseException):
    """The end of the process."""


def holds(home: Home, text: str) -> bool:
    return all((home.path / "data" / kind / "neo4j" / "file").read_text() == text for kind in KINDS)


def make(home: Home, text: str) -> None:
    for kind in KINDS:
        (home.path / "data" / kind / "neo4j").mkdir(parents=True)
        (home.path / "data" / kind / "neo4j" / "file").write_text(text)


def replace(home: Home, text: str) -> None:
    """What an import does with the files."""
    home.import_files.mkdir(exist_ok=True)
    home.set_aside("neo4j")
    make(home, text)
    home.drop_aside()
    shutil.rmtree(home.import_files)


@contextmanager
def stopped_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Iterator[int]]:
    """Stop before that step; a folder is removed in several, of which the first removes a file."""
    steps = itertools.count()

    def before(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            if next(steps) == step:
                raise Stopped
            return function(*arguments, **options)

        return wrapped

    def remove(path: Path, *, ignore_errors: bool = False) -> None:
        for file in sorted(Path(path).rglob("file")):
            before(file.unlink)()
        before(shutil.rmtree)(path, ignore_errors=ignore_errors)

    with monkeypatch.context() as patch:
        patch.setattr(neo4j_home, "rmtree", remove)
        patch.setattr(Path, "rename", before(Path.rename))
        patch.setattr(Path, "mkdir", before(Path.mkdir))
        yield steps


@table("again", range(0, 12, 2))
@table("step", range(22))
def test_stopped_import_leaves_one_database(
    step: int, again: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"{step}-{again}"
    folder.mkdir()
    home = Home(folder)
    make(home, "old")
    with stopped_at(step, monkeypatch), suppress(Stopped):
        replace(home, "new")
    with stopped_at(again, monkeypatch), suppress(Stopped):
        home.put_back()

    home.put_back()

    assert holds(home, "old") or holds(home, "new")
    assert [path.name for path in folder.iterdir()] == ["data"]
    replace(home, "newest")
    assert holds(home, "newest")
    assert [path.name for path in folder.iterdir()] == ["data"]


def test_steps_are_all_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(home := Home(tmp_path), "old")
    with stopped_at(-1, monkeypatch) as steps:
        replace(home, "new")
    assert 10 < next(steps) <= 22
