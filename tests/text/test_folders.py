"""Test which files of a folder are sources, in which order, and the reasons for leaving out the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memgraph_rag.errors import DocumentError
from memgraph_rag.text.files import MAX_BYTES
from memgraph_rag.text.folders import Folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def write(root: Path, **files: str | bytes) -> None:
    """Make files; ``__`` in a name is a slash, ``_dot_`` a dot."""
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def names(folder: Folder) -> list[str]:
    return [path.relative_to(folder.path).as_posix() for path in folder]


def left_out(folder: Folder) -> dict[str, str]:
    return {path.relative_to(folder.path).as_posix(): reason for path, reason in folder.left_out.items()}


def test_files_come_in_a_fixed_order_with_paths_that_begin_as_given(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, z_dot_md="1", a__2_dot_txt="2", a__b__3_dot_csv="3", B__4_dot_py="4", c_dot_json="5")
    monkeypatch.chdir(root.parent)
    wanted = ["c.json", "z.md", "B/4.py", "a/2.txt", "a/b/3.csv"]
    assert list(Folder(Path("notes"))) == [Path("notes") / name for name in wanted]
    folder = Folder(root)
    assert names(folder) == names(folder) == wanted
    assert folder.left_out == {}


def test_unsuitable_files_are_left_out(root: Path) -> None:
    write(
        root, text_dot_md="Rain.", image_dot_png=b"\x89PNG\x00\x00", empty_dot_md=" \n\t", wide="Rain.".encode("utf-16")
    )
    write(root, page_dot_pdf=b"%PDF-1.4\x00")
    with (root / "large.txt").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    os.mkfifo(root / "pipe")
    folder = Folder(root)
    assert names(folder) == ["page.pdf", "text.md", "wide"]
    assert left_out(folder) == {
        "empty.md": "empty", "image.png": "no text", "large.txt": "too large", "pipe": "no file",
    }  # fmt: skip


def test_hidden_files_and_folders_of_programs_are_left_out_as_a_whole(root: Path) -> None:
    write(root, _dot_env="secret", _dot_git__config="x", node_modules__a__index_dot_js="x", CVS__Root="x", a_dot_md="a")
    write(root, cache__CACHEDIR_dot_TAG="x", cache__b_dot_txt="x", venv__pyvenv_dot_cfg="x", venv__lib__c_dot_py="x")
    folder = Folder(root)
    assert names(folder) == ["a.md"]
    assert left_out(folder) == {
        ".env": "hidden", ".git": "hidden", "CVS": "of version control", "cache": "of programs",
        "node_modules": "of programs", "venv": "of programs",
    }  # fmt: skip


def test_ignore_files_count_as_git_counts_them(root: Path) -> None:
    write(root, _dot_gitignore="*.log\n!keep.log\nbuild/\n/top.txt\n# a comment\n\n")
    write(root, a_dot_log="x", keep_dot_log="x", build__o_dot_txt="x", top_dot_txt="x", sub__top_dot_txt="x")
    write(root, sub___dot_gitignore="!b.log\ntop.md\n", sub__b_dot_log="x", sub__c_dot_log="x", sub__top_dot_md="x")
    folder = Folder(root)
    assert names(folder) == ["keep.log", "sub/b.log", "sub/top.txt"]
    ignored = {path for path, reason in left_out(folder).items() if reason == "ignored"}
    assert ignored == {"a.log", "build", "sub/c.log", "sub/top.md", "top.txt"}


def test_an_ignore_file_of_ours_overrides_that_of_git(root: Path) -> None:
    write(
        root,
        _dot_gitignore="*.md\n",
        _dot_memgraphignore="!mine.md\n*.txt\n",
        mine_dot_md="x",
        b_dot_md="x",
        c_dot_txt="x",
    )
    assert names(Folder(root)) == ["mine.md"]


def test_the_rules_of_the_repository_hold_in_a_folder_of_it(root: Path) -> None:
    write(
        root, _dot_git__HEAD="x", _dot_gitignore="*.log\nbuild/\n", sub__a_dot_log="x", sub__a_dot_md="x", build__b="x"
    )
    (root.parent / ".gitignore").write_text("*.md\n", "utf-8")
    assert names(Folder(root / "sub")) == ["a.md"], "not those beyond it"
    assert names(Folder(root / "build")) == ["b"], "what is named itself is meant"


def test_a_broken_or_hostile_ignore_file_does_no_harm(root: Path) -> None:
    write(root, _dot_gitignore=b"\\\n[\n\xff\xfe\n" + b"*a" * 60 + b"b\n*.log\n", a_dot_log="x")
    write(root, **{"a" * 200: "x"})
    assert names(Folder(root)) == ["a" * 200]
    os.mkfifo(root / ".memgraphignore")
    assert names(Folder(root)) == ["a" * 200]


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x", "utf-8")
    write(root, sub__a_dot_txt="x")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "sub" / "loop").symlink_to(root, target_is_directory=True)
    folder = Folder(root)
    assert names(folder) == ["sub/a.txt"]
    assert left_out(folder) == {"link.txt": "a link", "sub/loop": "a link"}
    (tmp_path / "alias").symlink_to(root, target_is_directory=True)
    assert names(Folder(tmp_path / "alias")) == ["sub/a.txt"], "but the folder itself may be a link"


def test_folder_leaves_out_a_store_with_its_side_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = {"m_dot_lbug": "x", "m_dot_lbug_dot_wal": "x", "m_dot_lbug_dot_lock": "x"}
    write(root, **stores, m_dot_lbug2="x", sub__m_dot_lbug="x")
    opened = []
    open_file = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, *rest, **more: (opened.append(path.name), open_file(path, *rest, **more))[1]
    )
    folder = Folder(root, without=[root / "sub" / ".." / "m.lbug"])
    assert names(folder) == ["m.lbug2", "sub/m.lbug"]
    assert set(left_out(folder).values()) == {"the memory itself"}
    assert not {"m.lbug.wal", "m.lbug.lock"} & set(opened)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything")
def test_unreadable_folder_is_reported(root: Path) -> None:
    write(root, sub__a_dot_txt="x")
    (root / "sub").chmod(0)
    folder = Folder(root)
    assert names(folder) == []
    assert "cannot be opened" in left_out(folder)["sub"]
    (root / "sub").chmod(0o700)


def test_folder_that_may_be_listed_but_not_entered_gives_its_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, closed__a_dot_txt="x", b_dot_txt="x")

    def refuse(status: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def asked(path: Path, **options: bool) -> os.stat_result:
            if path.parent.name == "closed":
                raise PermissionError(13, "Permission denied", str(path))
            return status(path, **options)

        return asked

    monkeypatch.setattr(Path, "stat", refuse(Path.stat))
    monkeypatch.setattr(Path, "lstat", refuse(Path.lstat))
    assert names(Folder(root)) == ["b.txt", "closed/a.txt"]  # adding the second says why it cannot be read
    assert names(Folder(root / "closed"))


@pytest.mark.parametrize("name", ["missing", "a.md", "a\x00b"])
def test_path_without_folder_is_refused(root: Path, name: str) -> None:
    write(root, a_dot_md="x")
    with pytest.raises(DocumentError, match="Expected a folder"):
        Folder(root / name)


def test_files_that_tell_a_reader_nothing_are_left_out_unless_included(root: Path) -> None:
    write(root, a_dot_md="a", plan_dot_svg="<svg/>", look_dot_css="a {}", yarn_dot_lock="x", uv_dot_lock="x")
    write(root, a_dot_min_dot_js="x", b_dot_js=f"var a;{'x=1;' * 900}", c_dot_js="var a;")
    write(root, d_dot_go="// Code generated by x. DO NOT EDIT.\n", e_dot_md="How code is generated: do not edit it.")
    folder = Folder(root)
    assert names(folder) == ["a.md", "c.js", "e.md"]
    assert left_out(folder) == {
        "plan.svg": "of kind svg", "look.css": "of kind css", "yarn.lock": "of kind lock", "uv.lock": "of kind lock",
        "a.min.js": "of kind minified", "b.js": "of kind minified", "d.go": "of kind generated",
    }  # fmt: skip
    assert names(Folder(root, include=[".svg", "generated"])) == ["a.md", "c.js", "d.go", "e.md", "plan.svg"]
