"""Exports of other programs become conversations, whatever is broken in them."""

from __future__ import annotations

import json
import os
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from export_samples import SAMPLES
from memories import fakes
from tables import table

from memgraph_rag.errors import DocumentError, SettingsError
from memgraph_rag.lexical.note_links import find_note_links
from memgraph_rag.memory import Memory
from memgraph_rag.text.exports import export_files
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.text.exports.formats import FORMATS, read_export
from memgraph_rag.types import Document, Failure


def documents_in(path: Path, name: str | None = None) -> list[Document]:
    items = list(read_export(path, name)[1])
    assert [item for item in items if isinstance(item, Failure)] == []
    return [item for item in items if isinstance(item, Document)]


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_is_recognised_and_read(name: str, tmp_path: Path) -> None:
    write, expected = SAMPLES[name]

    found, items = read_export(write(tmp_path))

    documents = [item for item in items if isinstance(item, Document)]
    assert found == name
    assert {document.key: (document.title, document.text) for document in documents} == expected
    assert all(turn.time for document in documents for turn in document.turns)
    assert {document.metadata["format"] for document in documents} == {name}


def chat_of(folder: Path, *lines: str) -> list[tuple[str, str]]:
    path = folder / "WhatsApp Chat with Ann.txt"
    path.write_text("\n".join(lines), "utf-8")
    return [(turn.speaker, turn.time) for document in documents_in(path, "whatsapp") for turn in document.turns]


@table(
    "lines, times",
    [
        (["31/12/2023, 23:59 - Ann: a", "1/1/2024, 0:05 - Ann: b"], ["2023-12-31T23:59:00", "2024-01-01T00:05:00"]),
        (
            ["12/31/23, 11:59\u202fPM - Ann: a", "1/1/24, 12:05\u202fAM - Ann: b"],
            ["2023-12-31T23:59:00", "2024-01-01T00:05:00"],
        ),
        (
            ["[12.3.2022 klo 14.08.18] Ann: a", "[13.3.2022 klo 14.08.18] Ann: b"],
            ["2022-03-12T14:08:18", "2022-03-13T14:08:18"],
        ),
        (["2023-12-31, 23:59 - Ann: a", "2024-01-01, 00:05 - Ann: b"], ["2023-12-31T23:59:00", "2024-01-01T00:05:00"]),
        (["2023. 12. 31. 오후 11:59, Ann : a"], []),
        (["[2023/12/31 23:59:00] Ann: a"], ["2023-12-31T23:59:00"]),
        (["[31/12/23, 11:59:01 p. m.] Ann: a"], ["2023-12-31T23:59:01"]),
        (
            ["2023/12/31 下午11:59 - 王芳: a", "2024/1/1 上午12:05 - 王芳: b"],
            ["2023-12-31T23:59:00", "2024-01-01T00:05:00"],
        ),
        (["1/2/24, 10:00 - Ann: a", "2/1/24, 10:00 - Ann: b"], ["2024-01-02T10:00:00", "2024-02-01T10:00:00"]),
        (["1/2/24, 10:00 - Ann: a", "3/4/24, 10:00 - Ann: b"], ["", ""]),
    ],
)
def test_whatsapp_times_follow_the_whole_chat(lines: list[str], times: list[str], tmp_path: Path) -> None:
    assert [time for _, time in chat_of(tmp_path, *lines)] == times


def test_whatsapp_words_of_the_phone_are_no_turns(tmp_path: Path) -> None:
    lines = [
        "[31.05.24, 09:59:00] Kajak: \u200eNachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.",
        "\u200e[31.05.24, 10:00:00] Ann: \u200eBild weggelassen",
        "[31.05.24, 10:01:00] Ann: Das Kajak ist rot.",
        "\u200e[31.05.24, 10:02:00] Ann: \u200eUMFRAGE:\nWohin?",
    ]
    assert [time for _, time in chat_of(tmp_path, *lines)] == ["2024-05-31T10:01:00", "2024-05-31T10:02:00"]


def test_broken_conversation_leaves_the_others(tmp_path: Path) -> None:
    path = SAMPLES["claude"][0](tmp_path)
    good = json.loads(path.read_text())
    path.write_text(json.dumps([*good, {"uuid": "x", "chat_messages": [7]}, {"chat_messages": []}, 5]))

    items = list(read_export(path)[1])

    assert [item.key for item in items if isinstance(item, Document)] == ["claude/c1-uuid"]
    failures = [item for item in items if isinstance(item, Failure)]
    assert [failure.source for failure in failures] == [f"claude conversation {index}" for index in (1, 2, 3)]
    assert all(isinstance(failure.error, DocumentError) for failure in failures)


def test_circle_of_messages_ends(tmp_path: Path) -> None:
    nodes = {name: {"message": None, "parent": other} for name, other in (("a", "b"), ("b", "a"))}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"id": "1", "title": "x", "mapping": nodes, "current_node": "a"}]))
    assert documents_in(path) == []


def test_archive_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever size the archive declares: the bytes are counted as they are unpacked."""
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * 5_000_000 + b"]")
    monkeypatch.setattr(export_files, "_MOST_BYTES", 1_000_000)
    with pytest.raises(DocumentError, match="at most 1,000,000 bytes"):
        read_export(path)


def test_names_in_an_export_never_leave_it(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("Zanzibar")
    inner = tmp_path / "export"
    inner.mkdir()
    (inner / "link.txt").symlink_to(tmp_path / "secret.txt")
    (inner / "conversations.json").write_text("[]")
    files = ExportFiles(inner)
    for name in ("../secret.txt", "link.txt", str(tmp_path / "secret.txt"), "..\\secret.txt"):
        assert files.attachment(name) == ""
    with pytest.raises(DocumentError, match="can be read"):
        files.read("../secret.txt")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipes_of_an_export_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "conversations.json")  # opening it would wait for a writer for ever
    assert ExportFiles(tmp_path).names == []
    with pytest.raises(DocumentError, match="a pipe"):
        read_export(tmp_path / "conversations.json")


@table(
    "name, data",
    [
        ("conversations.json", b'[{"mapping": '),
        ("conversations.json", b"[" * 100_000),
        ("export.zip", b"PK\x03\x04 and nothing more"),
        ("notes.txt", b"Just a note."),
        ("conversations.json", b'{"a": 1}'),
        ("empty.json", b""),
    ],
)
def test_other_files_are_refused(name: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DocumentError, match=r"^Expected .*, got .*\. "):
        list(read_export(path)[1])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "content", [b"null", b"5", b'"x"', b'{"agents": [5], "blocks": [5]}', b'{"chats": {"list": 5}}']
)
def test_file_of_another_form_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    """The name of a format may be wrong, and a file may only look like one of its."""
    path = tmp_path / "conversations.json"
    path.write_bytes(content)
    for form in (name, None):
        with suppress(DocumentError):
            assert not [item for item in read_export(path, form)[1] if isinstance(item, Document)]


def test_broken_list_of_people_is_refused(tmp_path: Path) -> None:
    for name, people in (("users.json", [{"name": "ann"}]), ("channels.json", [{"id": "C1"}])):
        (tmp_path / name).write_text(json.dumps(people))
    with pytest.raises(DocumentError, match="an export of this format in its usual form, got one without it"):
        list(read_export(tmp_path)[1])


def test_open_brackets_of_slack_take_no_time(tmp_path: Path) -> None:
    for name, content in {
        "users.json": [{"id": "U1", "name": "ann"}],
        "channels.json": [{"id": "C1", "name": "all"}],
        "all/2024-05-01.json": [{"user": "U1", "ts": "1714557600.1", "text": "<" * 200_000}],
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    began = time.process_time()
    (document,) = documents_in(tmp_path)
    assert time.process_time() - began < 20  # half an hour, if each bracket is followed to the end
    assert document.text.count("<") == 200_000


def test_missing_file_and_unknown_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="No such file"):
        read_export(tmp_path / "none.zip")
    with pytest.raises(SettingsError, match="chatgpt"):
        read_export(tmp_path, "icq")


def test_quoted_lines_of_a_thread_are_left_out(tmp_path: Path) -> None:
    head = "From: {0}@a.b\nMessage-ID: <{0}@a.b>\nDate: Wed, 01 May 2024 1{1}:00:00 +0000\nSubject: Re: Tea\n"
    (tmp_path / "1.eml").write_text(head.format("ann", 0) + "\nDo you like tea?\n")
    (tmp_path / "2.eml").write_text(head.format("bob", 1) + "References: <ann@a.b>\n\nYes.\n> Do you like tea?\n")
    (document,) = documents_in(tmp_path)
    assert (document.key, document.title) == ("mail/ann@a.b", "Tea")
    assert document.text.count("Do you like tea?") == 1


def write_vault(folder: Path) -> Path:
    notes = {
        ".obsidian/app.json": "{}",
        "Kayak.md": "# My boat\n\nIt is red. See [[Paddle|the paddle]] and [[Nowhere]]. #boats\n",
        "gear/Paddle.md": "It broke. Bob mended it. #boats\n",
        "gear/image.png": "",
        "Tea.md": "Green.\n",
    }
    for name, text in notes.items():
        path = folder / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "notes"


def test_hostile_mail_neither_stops_nor_delays_the_others(tmp_path: Path) -> None:
    parts = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(2_000))
    hostile = (f"From: {'(' * 2_000}\n\nHi.", f"From: eve@x\n{parts}", f"From: {'a@b,' * 250_000}\n\nHi.")
    mails = [*hostile, "From: ann@x\nMessage-ID: <1@x>\n\nHello."]
    (tmp_path / "all.mbox").write_text("".join(f"From x\n{mail}\n\n" for mail in mails))

    began = time.process_time()
    *others, last = read_export(tmp_path / "all.mbox")[1]
    assert time.process_time() - began < 60  # for hours, if all of a header is parsed
    assert [isinstance(each, Failure) for each in others] == [True, True, False]
    assert isinstance(last, Document)
    assert last.key == "mail/1@x"


def test_long_ids_that_begin_alike_make_two_documents(tmp_path: Path) -> None:
    ids = [f"{'a' * 600}{number}@x" for number in range(2)]
    mails = [f"From x\nFrom: ann@x\nMessage-ID: <{own}>\n\nMail {own[-3]}.\n\n" for own in ids]
    path = tmp_path / "all.mbox"
    path.write_text("".join(mails))
    keys = {document.key for document in documents_in(path)}
    assert len(keys) == 2
    assert all(len(key) <= 480 and key.startswith("mail/aaa") for key in keys)


def test_vault_is_recognised_by_its_settings(tmp_path: Path) -> None:
    name, items = read_export(write_vault(tmp_path))
    found = {(item.key, item.title) for item in items if isinstance(item, Document)}
    assert name == "vault"
    assert found == {
        ("vault/notes/Kayak.md", "Kayak"),
        ("vault/notes/gear/Paddle.md", "Paddle"),
        ("vault/notes/Tea.md", "Tea"),
    }


def test_search_walks_over_links_and_tags(tmp_path: Path) -> None:
    """The kayak's note links to the paddle's; nothing else joins them."""
    with Memory(":memory:", **fakes()) as memory:
        list(memory.add_many(documents_in(write_vault(tmp_path))))
        names = {name for node in ("Kayak", "Paddle") for name in memory_names(memory, node)}
        evidence = memory.search("Who mended the part of my boat?", k=9)
    assert {"paddle", "nowhere", "boats"} <= names
    paths = {each.document_key: {carrier.entity.casefold() for carrier in each.path} for each in evidence}
    assert paths["vault/notes/gear/Paddle.md"] & {"paddle", "boats"}


def memory_names(memory: Memory, title: str) -> set[str]:
    (record,) = [each for each in memory.documents() if each.title == title]
    return {mention.normal for mention in memory._parts.store.list_mentions_by_document([record.id])[record.id]}


@table(
    "text",
    [
        "if [[ -f x ]]; then",
        "a[[0]] and b[[1, 2]]",
        "#include <x>",
        "#fff000",
        "a#b issue #12",
        "# Heading",
        "#!/bin/sh",
        "[[]]",
    ],
)
def test_programs_have_no_note_links(text: str) -> None:
    assert list(find_note_links(text)) == []
