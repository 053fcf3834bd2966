"""The project of a folder: a repository and its worktrees and clones are one, and what is ignored is not remembered."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tables import table

from memgraph_rag.agents.projects import PERSON, find_project


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src" / "secret").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    return folder


def test_worktree_and_subfolder_are_one_project(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", str(repository.parent / "fix"))
    projects = {find_project(path).namespace for path in (repository, repository / "src", repository.parent / "fix")}
    assert projects == {f"project:{repository}"}
    assert find_project(repository.parent / "fix").name == "shop"


@table(
    ("url", "namespace"),
    [
        ("git@github.com:ann/shop.git", "project:github.com/ann/shop"),
        ("https://ann:secret@github.com/Ann/shop.git", "project:github.com/ann/shop"),
        ("ssh://git@host.example:2222/ann/shop", "project:host.example/ann/shop"),
    ],
)
def test_clones_of_one_origin_are_one_project(tmp_path: Path, url: str, namespace: str) -> None:
    folder = tmp_path / namespace.replace("/", "-") / url[:3]
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "remote", "add", "upstream", "https://else.example/x/y")
    git(folder, "remote", "add", "origin", url)
    assert find_project(folder).namespace == namespace


def test_folder_outside_of_git_belongs_to_the_person(tmp_path: Path) -> None:
    assert find_project(tmp_path).namespace == PERSON


def test_ignored_folders_are_marked(repository: Path) -> None:
    (repository / ".memgraphragignore").write_text("secret/\n")
    assert find_project(repository / "src" / "secret").is_ignored
    assert not find_project(repository / "src").is_ignored
    assert not find_project(repository).is_ignored
    (repository / ".memgraphragignore").write_text("*\n")
    assert find_project(repository).is_ignored
