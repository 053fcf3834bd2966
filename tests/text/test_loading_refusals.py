"""Test sources that cannot be loaded: each refusal says what was expected, what was given, and what to do."""

from __future__ import annotations

import math
import os
import re
import sys
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter
from pypdf.errors import DependencyError
from tables import table
from written_files import pdf_bytes, written

from memgraph_rag.errors import DocumentError
from memgraph_rag.text import markup, pdf
from memgraph_rag.text.chat import MAX_SPEAKER
from memgraph_rag.text.files import MAX_BYTES
from memgraph_rag.text.loading import MAX_KEY, MAX_METADATA, MAX_TITLE, load
from memgraph_rag.types import Document, Message, Turn

# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────


def refusal(source: object, **arguments: object) -> str:
    with pytest.raises(DocumentError, match=r"Expected .+ got ") as caught:
        load(source, **arguments)  # type: ignore[arg-type]
    return str(caught.value)


@table("source", ["", " \n\t ", "\u3000", Document("", "key")])
def test_empty_text_is_refused(source: object):
    assert "empty or only white space" in refusal(source)


@table(
    ("source", "hint"),
    [
        (None, "NoneType"),
        (7, "int"),
        (b"bytes", "Decode it first, or pass the Path"),
        (bytearray(b"x"), "Decode it first"),
        (memoryview(b"x"), "memoryview"),
        ({"role": "user", "content": "x"}, "list of messages"),
        (Message("user", "x"), "in a list"),
        (iter(["x"]), "iterator"),
        ([], "at least one chat message"),
        (["one", "two"], "add_many"),
        ([Path("a.txt")], "add_many"),
        ([{"content": "x"}], "role of message 0"),
        ([{"role": "user", "content": "x"}, {"role": "user"}], "content of message 1"),
        ([{"role": "user", "content": None}], "content of message 0"),
        ([{"role": "user", "content": ["x"]}], "got list"),
        ([Message("", "x")], "role of message 0"),
        ([Message("user", " ")], "content of message 0"),
        ([{"role": "user", "content": "x", "time": 5}], "time of message 0"),
        (Document(b"x", "key"), "text of a document"),  # type: ignore[arg-type]
        (Document("x", "key", turns=None), "tuple of Turn"),  # type: ignore[arg-type]
        (Document("x", "key", turns=((0, 1, "user"),)), "turn 0 as a Turn"),  # type: ignore[arg-type]
        (Document("x", "key", turns=(Turn(0, 1.0, "user"),)), "end of turn 0 as int"),  # type: ignore[arg-type]
        (Document("x", "key", turns=(Turn(False, 1, "user"),)), "start of turn 0 as int"),
        (Document("x", "key", turns=(Turn(0, 1, None),)), "speaker of turn 0 as str"),  # type: ignore[arg-type]
        (Document("x", "key", turns=(Turn(0, 1, "user", None),)), "time of turn 0"),  # type: ignore[arg-type]
        (Document("x", "key", turns=(Turn(0, 1, "user", "at noon"),)), "ISO 8601"),
        (Document("two", "key", turns=(Turn(1, 3, "user"),)), "start at 0"),
        (Document("two", "key", turns=(Turn(0, 2, "user"),)), "Expected the last turn to end"),
        (Document("two", "key", turns=(Turn(0, 4, "user"),)), "got [0, 4)"),
        (Document("two", "key", turns=(Turn(0, 1, "user"), Turn(2, 3, "user"))), "turn 1 to start at 1"),
        (Document("two", "key", turns=(Turn(0, 2, "user"), Turn(2, 1, "user"))), "got [2, 1)"),
    ],
)
def test_other_types_of_source_are_refused(source: object, hint: str):
    assert hint in refusal(source)


@table("key", ["", "  ", "k" * (MAX_KEY + 1), 7, "a\x00", "a\ud800"])
def test_keys_that_cannot_work_are_refused(key: object):
    assert "key" in refusal("text", key=key)
    assert load("text", key="k" * MAX_KEY).key == "k" * MAX_KEY


@table(
    "value",
    [math.nan, math.inf, None, [1], {"a": 1}, b"x", 10**5000, -(10**5000)],
)
def test_metadata_that_cannot_be_stored_is_refused(value: object):
    assert "metadata['when']" in refusal("text", metadata={"when": value})


@table("metadata", [["a"], {1: "a"}, {"": "a"}])
def test_metadata_is_a_mapping_with_names(metadata: object):
    refusal("text", metadata=metadata)


def test_dates_in_metadata_become_iso():
    document = load("text", metadata={"date": date(2024, 5, 1), "time": datetime(2024, 5, 1, 10, 0)})
    assert document.metadata == {"date": "2024-05-01", "time": "2024-05-01T10:00:00"}


def test_long_fields_except_text_are_refused():
    assert "at most 1,000" in refusal("text", title="t" * (MAX_TITLE + 1))
    assert "at most 65,536 bytes" in refusal("text", metadata={"a": "x" * MAX_METADATA})
    assert "at most 65,536 bytes" in refusal("text", metadata={f"{n:06}": 1 for n in range(10_000)})
    assert "at most 256" in refusal([{"role": "r" * (MAX_SPEAKER + 1), "content": "Hello."}])
    assert "at most 256" in refusal(Document("x", "key", turns=(Turn(0, 1, "r" * (MAX_SPEAKER + 1)),)))
    assert "source of at most" in refusal(Document("x", "key", source="s" * 10**6))
    longest = load(
        [{"role": "r" * MAX_SPEAKER, "content": "Hello."}], title="t" * MAX_TITLE, metadata={"a": "x" * 65_000}
    )
    assert (longest.turns[0].speaker, longest.title) == ("r" * MAX_SPEAKER, "t" * MAX_TITLE)


def test_plain_metadata_is_copied():
    given = {"author": "Potter", "year": 1901, "price": 0.5, "colour": True}
    document = load("text", metadata=given)
    assert document.metadata == given
    assert document.metadata is not given


class Name(str):
    """A subclass of str, as other libraries may use."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another"


def test_subclass_of_str_becomes_str():
    text, key, title = (Name(value) for value in ("Ann left.", "k", "T"))
    for document in (
        load(text, key=key, title=title, metadata={Name("a"): Name("b")}),
        load(Document(text, key, title=title, source=Name("s"), metadata={Name("a"): Name("b")})),
        load([{"role": Name("Ann"), "content": text}], key=key),
    ):
        texts = [document.text, document.key, document.title, document.source, *document.metadata]
        texts += [*document.metadata.values(), *(turn.speaker for turn in document.turns)]
        assert {type(value) for value in texts} == {str}
        assert document.key == "k"


def test_title_that_is_no_str_is_refused():
    assert "title" in refusal("text", title=3)


def test_missing_files_and_folders_are_refused(tmp_path: Path):
    assert str(tmp_path / "none.txt") in refusal(tmp_path / "none.txt")
    assert f"add_many(Path({str(tmp_path)!r}))" in refusal(tmp_path)
    refusal(Path("nul\x00.txt"))
    refusal(tmp_path / ("n" * 5000))


@pytest.mark.skipif(sys.platform == "win32", reason="no FIFOs")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in refusal(tmp_path / "pipe")


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = written(tmp_path, "secret.txt", "x")
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read everything

        def denied(*_: object) -> None:
            raise PermissionError

        monkeypatch.setattr(Path, "open", denied)
    assert "permission" in refusal(path)


def test_too_much_is_refused_before_it_is_read(tmp_path: Path):
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert f"{MAX_BYTES:,}" in refusal(path)
    assert f"{MAX_BYTES:,}" in refusal("é" * (MAX_BYTES // 2 + 1))


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("empty.txt", b"", "empty"),
        ("blank.md", b" \n", "empty"),
        ("letter.docx", b"PK\x03\x04\x14\x00\x06\x00", "Word"),
        ("letter.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", "old Word"),
        ("letter.rtf", rb"{\rtf1 }", "Rich Text"),
        ("image.txt", b"\x89PNG\r\n\x1a\n\x00", "PNG"),
        ("photo.jpg", b"\xff\xd8\xff\xe0\x00", "JPEG"),
        ("notes.txt.gz", b"\x1f\x8b\x08\x00", "gzip"),
        ("nul.txt", b"text\x00text", "NUL"),
        ("odd.txt", b"\xff\xfea", "encoding"),
        ("noise.txt", bytes(range(1, 256)) * 4, ""),
        ("bells.txt", b"\x01\x02\x03 bell", "control characters"),
        ("script.html", b"<html><script>x()</script></html>", "Save pages"),
        ("torn.pdf", b"%PDF-1.4\n1 0 obj\n<< /Type", "damaged"),
        ("text.pdf", b"no PDF at all", "damaged"),
        ("scan.pdf", pdf_bytes(""), "got one without"),
        ("empty.pdf", b"", "damaged"),
    ],
)
def test_files_without_text_are_refused(tmp_path: Path, name: str, content: bytes, hint: str):
    message = refusal(written(tmp_path, name, content))
    assert hint in message
    assert name in message


def test_an_encrypted_pdf_is_refused(tmp_path: Path):
    writer = PdfWriter(clone_from=PdfReader(written(tmp_path, "open.pdf", pdf_bytes("Secret."))))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(tmp_path / "closed.pdf")
    assert "encrypted" in refusal(tmp_path / "closed.pdf")


def test_a_pdf_that_only_its_owner_may_change_is_read(tmp_path: Path):
    writer = PdfWriter(clone_from=PdfReader(written(tmp_path, "open.pdf", pdf_bytes("Open to all."))))
    writer.encrypt("", "owner", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    assert load(tmp_path / "locked.pdf").text == "Open to all."


def test_a_pdf_that_needs_another_package_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def lacking(_: object) -> None:
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    monkeypatch.setattr(pdf, "_MeasuredReader", lacking)
    assert "cryptography" in refusal(written(tmp_path, "aes.pdf", pdf_bytes("x")))


@given(st.integers(0, 700), st.binary(min_size=1, max_size=8))
def test_a_damaged_pdf_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, at: int, bytes_: bytes):
    whole = pdf_bytes("Rain fell.")
    path = written(tmp_path_factory.getbasetemp(), "torn.pdf", whole[:at] + bytes_ + whole[at + len(bytes_) :])
    with suppress(DocumentError):
        load(path)


@pytest.mark.parametrize("error", [ValueError, RecursionError, KeyError, UnicodeError, OSError])
def test_error_of_parser_becomes_document_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type):
    def broken(*_: object) -> None:
        raise error("parser")

    monkeypatch.setattr(markup, "read_html", broken)
    with pytest.raises(DocumentError, match=error.__name__) as caught:
        load(written(tmp_path, "page.html", "<p>text"))
    assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_loading_passes_errors_that_end_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type):
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(markup, "read_html", broken)
    with pytest.raises(error):
        load(written(tmp_path, "page.html", "<p>text"))


@pytest.mark.parametrize("name", ["table.csv", "data.json", "program.py", "notes.tex", "log", "lines.jsonl"])
def test_whatever_is_text_is_read(tmp_path: Path, name: str):
    text = 'day,who\n2026-08-27,"Ann, Tom"\n{"a": [1, 2]}\ndef left(): return "<p>"\n'
    assert load(written(tmp_path, name, text)).text == text


@pytest.mark.parametrize("text", ["RIFF is a format.", "GIF87 and GIF89 differ.", "BZh91 is a header.", "RIFF", "GIF8"])
def test_text_may_begin_like_a_signature(tmp_path: Path, text: str):
    assert load(written(tmp_path, "page.txt", text)).text == text


@pytest.mark.parametrize(
    "data",
    [b"RIFF\x24\x08\x00\x00WEBPVP8 ", b"RIFF    WAVEfmt ", b"GIF89a\x01", b"BZh91AY&SY\x01", b"BZh9\x17rE8P\x90"],
)
def test_binary_formats_are_named(tmp_path: Path, data: bytes):
    assert re.search("WebP|GIF|bzip2", refusal(written(tmp_path, "page.txt", data)))
