"""One file is one document under one key; what comes of sources that end with an error, or are never asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, RIVER, options
from tables import table

from memgraph_rag import Action, Document, Failure, Memory, Receipt
from memgraph_rag.errors import DocumentError, DocumentNotFound, MemgraphRagWarning, SettingsError
from memgraph_rag.text.folders import Folder


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """An empty one, in a folder with notes/garden.md."""
    monkeypatch.chdir(tmp_path)
    Path("notes").mkdir()
    Path("notes/garden.md").write_text(FOX, "utf-8")
    with Memory(tmp_path / "store.lbug", **options(layers=("entities",))) as memory:
        yield memory


def keys(memory: Memory) -> list[str]:
    return [record.key for record in memory.documents()]


# ── one file, one key ────────────────────────────────────────────────────────────────────────────────────────


def spellings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Five paths of notes/garden.md."""
    monkeypatch.setenv("HOME", str(Path.cwd()))
    Path("folder").symlink_to("notes", target_is_directory=True)
    names = ("notes/garden.md", "notes/../notes/garden.md", "~/notes/garden.md", "folder/garden.md")
    return [*map(Path, names), Path("notes/garden.md").absolute()]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("first", range(5))
def test_paths_of_one_file_name_one_document(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, first: int, at_once: bool
) -> None:
    paths = spellings(monkeypatch)
    paths = [paths[first], *paths]
    outcomes = list(memory.add_many(paths)) if at_once else [memory.add(path) for path in paths]
    assert [outcome.action for outcome in outcomes if isinstance(outcome, Receipt)] == [
        Action.ADDED,
        *[Action.UNCHANGED] * 5,
    ]
    assert len(keys(memory)) == 1
    Path("notes/garden.md").write_text(RIVER, "utf-8")
    assert memory.add(paths[-1]).action is Action.REPLACED
    assert len(keys(memory)) == 1


def test_key_is_the_normalised_path(memory: Memory) -> None:
    assert memory.add(Path("notes/../notes/garden.md")).key == "notes/garden.md"


def test_file_keeps_its_key(memory: Memory) -> None:
    memory.add(Path("notes/garden.md"), key="garden")
    assert memory.add(Path("notes/garden.md")).key == "garden"
    memory.add(Path("notes/garden.md"), key="another")
    memory.add(Path("notes/garden.md"), key="notes/garden.md")
    assert memory.add(Path("notes/garden.md")).key == "notes/garden.md", "its own spelling before others"
    assert keys(memory) == ["another", "garden", "notes/garden.md"]


def test_file_stored_by_an_older_version_is_recognised(memory: Memory) -> None:
    path = Path("notes/../notes/garden.md")
    memory.add(Document(FOX, "notes/../notes/garden.md", title="garden", source=str(path.absolute())))
    assert memory.add(path).action is Action.UNCHANGED
    assert keys(memory) == ["notes/../notes/garden.md"]


def test_link_to_a_stored_file_is_that_file_until_it_points_elsewhere(memory: Memory) -> None:
    link = Path("latest.md")
    link.symlink_to("notes/garden.md")
    memory.add(Path("notes/garden.md"))
    assert memory.add(link).key == "notes/garden.md"
    memory.forget("notes/garden.md")
    assert memory.add(link).key == "latest.md"
    Path("notes/river.md").write_text(RIVER, "utf-8")
    link.unlink()
    link.symlink_to("notes/river.md")
    assert memory.add(link).action is Action.REPLACED, "as a link of that name always was"


def test_files_of_one_name_have_different_keys(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("other").mkdir()
    Path("other/garden.md").write_text(RIVER, "utf-8")
    monkeypatch.chdir("notes")
    memory.add(Path("garden.md"))
    monkeypatch.chdir("../other")
    with pytest.raises(DocumentError, match="got another file"):
        memory.add(Path("garden.md"))


# ── by path ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_document_is_found_by_any_path_of_its_file(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.add(RIVER, key="river")
    memory.add(Path("notes/garden.md"), key="garden")
    for path in spellings(monkeypatch):
        for name in (path, str(path)):
            (evidence, *_) = memory.search("fox", documents=[name, "garden"])
            assert evidence.document_key == "garden"
    Path("notes/garden.md").unlink()
    assert memory.forget("notes/../notes/garden.md").key == "garden", "also when the file is gone"
    with pytest.raises(DocumentNotFound, match=r"or the path of its file, got 'notes/garden\.md'"):
        memory.forget(Path("notes/garden.md"))


def test_path_of_several_documents_names_none_of_them(memory: Memory) -> None:
    memory.add(Path("notes/garden.md"), key="a")
    memory.add(Path("notes/garden.md"), key="b")
    with pytest.raises(DocumentNotFound, match="is stored as 'a', 'b'"):
        memory.forget("notes/garden.md")
    assert keys(memory) == ["a", "b"]


def test_a_key_comes_before_a_path(memory: Memory) -> None:
    memory.add(Path("notes/garden.md"), key="garden")
    memory.add(RIVER, key="notes/garden.md")
    assert memory.forget("notes/garden.md").key == "notes/garden.md"
    assert keys(memory) == ["garden"]


@table("name", ["a\x00b", "\ud800", "x" * 9_999, "//host/share", "~nobody-of-that-name/x", "", "."])
def test_name_that_is_no_path_finds_no_document(memory: Memory, name: str) -> None:
    memory.add(FOX)
    with pytest.raises(DocumentNotFound):
        memory.forget(name)


def test_circular_links_and_a_removed_folder_are_our_errors(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.md").symlink_to("b.md")
    Path("b.md").symlink_to("a.md")
    with pytest.raises(DocumentError):
        memory.add(Path("a.md"))
    Path("gone").mkdir()
    monkeypatch.chdir("gone")
    Path("../gone").resolve().rmdir()
    with pytest.raises(DocumentNotFound):
        memory.forget(Path("a.md"))


# ── the same text ────────────────────────────────────────────────────────────────────────────────────────────


def same_as(outcome: Any) -> tuple[str, ...]:
    return outcome.same_as


def test_same_text_under_another_key_is_reported(memory: Memory) -> None:
    assert memory.add(Path("notes/garden.md")).same_as == ()
    assert memory.add(f"{FOX}\n", key="copy", title="Another", metadata={"a": 1}).same_as == ("notes/garden.md",)
    assert same_as(memory.add(Path("notes/garden.md"))) == ("copy",), "unchanged"
    assert memory.add(RIVER, key="copy").same_as == ()
    assert memory.add(FOX, key="third").same_as == ("notes/garden.md",)


def test_documents_added_together_name_each_other(memory: Memory) -> None:
    memory.add(FOX, key="d")
    sources = [Document(FOX, "c"), Document(RIVER, "d"), Document(FOX, "a"), Document("One more.", "b")]
    assert list(map(same_as, memory.add_many(sources))) == [("a",), (), ("c",), ()]


def test_a_receipt_names_a_bounded_number(memory: Memory) -> None:
    *_, last = memory.add_many(Document(FOX, f"{number:02}") for number in range(30))
    assert same_as(last) == tuple(f"{number:02}" for number in range(16))


def test_group_of_sources_is_looked_up_in_one_statement(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    look = memory._parts.store.find_fingerprints
    monkeypatch.setattr(memory._parts.store, "find_fingerprints", lambda **wanted: (looks.append(1), look(**wanted))[1])
    list(memory.add_many(Document(f"Text {number} of the fox.", str(number)) for number in range(100)))
    assert len(looks) == 1


# ── sources that end badly ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("before", [0, 2, 300])
def test_sources_before_an_error_are_stored_and_reported(memory: Memory, before: int) -> None:
    error = OSError("disk gone")

    def sources() -> Iterator[str]:
        yield from (f"Text {number} of the fox." for number in range(before))
        raise error

    outcomes = []
    with pytest.raises(OSError, match="disk gone") as raised:
        outcomes.extend(outcome for outcome in memory.add_many(sources()))
    assert raised.value is error
    assert len(outcomes) == len(keys(memory)) == before


def test_outcomes_are_yielded_before_the_error_is_raised(memory: Memory) -> None:
    def sources() -> Iterator[Any]:
        yield FOX
        yield None
        raise KeyError("mine")

    outcomes = memory.add_many(sources())
    assert isinstance(next(outcomes), Receipt)
    assert isinstance(next(outcomes), Failure)
    with pytest.raises(KeyError, match="mine"):
        next(outcomes)
    assert list(outcomes) == []


@table("sources", [None, 5, Document(FOX, "fox")])
def test_sources_that_are_not_iterable_are_refused(memory: Memory, sources: Any) -> None:
    with pytest.raises(SettingsError, match="Expected several sources"):
        memory.add_many(sources)


# ── a str that names a file ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["notes/garden.md", "notes/garden.md\n", "notes", "~/notes/garden.md"])
def test_str_with_the_name_of_a_file_is_text_with_a_warning(
    memory: Memory, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(Path.cwd()))
    with pytest.warns(MemgraphRagWarning, match=r"to add the file, pass Path\("):
        receipt = memory.add(text)
    with pytest.warns(MemgraphRagWarning, match=r"to add the file, pass Path\("):
        list(memory.add_many([text]))
    assert memory.get(memory._parts.store.list_segments(receipt.document_id)[0].id).text == text  # type: ignore[union-attr]


@table("text", ["a\x00b", "\ud800", "x" * 255, "x" * 4096, "//notes/garden.md", "no such file", "."])
def test_other_strings_are_text_without_warning(memory: Memory, text: str) -> None:
    assert memory.add(text, key="text").action is Action.ADDED
    memory.forget("text")


# ── a folder ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_folder_gives_its_files_without_the_store(memory: Memory) -> None:
    Path("notes/a").mkdir()
    Path("notes/a/river.csv").write_text("day,rain\n1,9\n", "utf-8")
    Path("notes/.draft.md").write_text(FOX, "utf-8")
    outcomes = list(memory.add_many(Path()))
    assert [outcome.key for outcome in outcomes if isinstance(outcome, Receipt)] == [
        "notes/garden.md",
        "notes/a/river.csv",
    ]
    folder = Folder(Path(), without=[Path(memory.settings.store)])
    again = list(memory.add_many(folder))
    assert [outcome.action for outcome in again if isinstance(outcome, Receipt)] == [Action.UNCHANGED] * 2
    reasons = {path.name: reason for path, reason in folder.left_out.items()}
    assert reasons.pop(".draft.md") == "hidden"
    assert "store.lbug" in reasons
    assert set(reasons.values()) == {"the memory itself"}


def test_add_of_a_folder_names_add_many(memory: Memory) -> None:
    with pytest.raises(DocumentError, match=r"add_many\(Path\('notes'\)\)"):
        memory.add(Path("notes"))
    with pytest.raises(DocumentError, match="Expected a folder"):
        memory.add_many(Folder(Path("notes/garden.md")))


def test_record_gives_the_path_of_its_file(memory: Memory) -> None:
    memory.add(Path("notes/garden.md"))
    (record,) = memory.documents()
    assert record == replace(record, source=str(Path("notes/garden.md").resolve()))
