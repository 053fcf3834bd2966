"""What can be added becomes a document; what cannot is refused with a word on what to do."""

from __future__ import annotations

import math
import os
import re
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter
from pypdf.errors import DependencyError

from memgraph_rag.errors import DocumentError
from memgraph_rag.text import markup, pdf
from memgraph_rag.text.chat import unread_times
from memgraph_rag.text.loading import MAX_BYTES, MAX_KEY, MAX_METADATA, MAX_SPEAKER, MAX_TITLE, load
from memgraph_rag.types import Document, Message, Turn

NESTED = 100_000


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def pdf_bytes(*pages: str, title: str = "") -> bytes:
    """A minimal PDF with one line of text per page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, page in enumerate(pages):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>"
        )
        content = f"BT /F1 12 Tf 72 720 Td ({page}) Tj ET" if page else ""
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{trailer}\nstartxref\n{len(body)}\n%%EOF\n"
    return (body + end).encode("latin-1")


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_str_is_always_text():
    document = load("/no/such/file")
    assert document.text == "/no/such/file"
    assert (document.title, document.source) == ("", "")
    assert document.key == load("/no/such/file").key != load("/no/such/text").key
    assert document.key.startswith("text-")
    assert len(document.key) == len("text-") + 12


@given(st.text(st.characters(blacklist_categories=()), min_size=1).filter(str.strip))
@example("a\x00b\ud800c")
@example("مرحبا 👩‍👩‍👧 e\u0301\r\n\x07")
def test_text_keeps_its_length_and_can_be_stored(text: str):
    document = load(text)
    assert len(document.text) == len(text)
    assert "\x00" not in document.text
    document.text.encode()
    if "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text):
        assert document.text == text


def test_a_document_passes_and_can_be_given_other_names():
    document = Document("Rain fell.", "rain", title="Rain", source="/tmp/rain.txt", metadata={"year": 1901})
    assert load(document) == document
    other = load(document, key="wet", title="Wet", metadata={"dry": False})
    assert (other.key, other.title, other.metadata, other.source) == ("wet", "Wet", {"dry": False}, "/tmp/rain.txt")


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_path_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "notes").mkdir()
    written(tmp_path, "notes/rain.txt", "Rain fell.")
    monkeypatch.chdir(tmp_path)
    document = load(Path("notes/rain.txt"))
    assert document.text == "Rain fell."
    assert document.key == "notes/rain.txt"
    assert document.title == "rain"
    assert document.source == str(tmp_path / "notes" / "rain.txt")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_are_found(tmp_path: Path, encoding: str):
    text = "Le café était fermé à cause de la grève générale, et la fenêtre resta entrouverte toute la journée.\n" * 5
    assert load(written(tmp_path, "café.txt", text.encode(encoding))).text == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Café"),
        ("cp1252", "El niño comió una manzana, ¿verdad? ¡Sí, señor!"),
        ("cp1250", "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i praw."),
        ("cp1251", "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему."),
        ("shift_jis", "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"),
    ],
)
def test_encodings_without_a_mark_are_guessed(tmp_path: Path, encoding: str, text: str):
    assert load(written(tmp_path, "old.txt", text.encode(encoding))).text == text


def test_line_ends_are_those_of_read_text(tmp_path: Path):
    path = written(tmp_path, "dos.txt", b"one\r\ntwo\rthree\n")
    assert load(path).text == path.read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("Intro\n\n# The *Tale* of `Peter`\n\nText", "The Tale of Peter"),
        ("Setext heading\n===\n\n# Other", "Setext heading"),
        ("---\ntitle: 'From the front'\ntags: x\n---\n# Heading\n", "From the front"),
        ("---\ntags: x\n---\n# Heading\n", "Heading"),
        ("```\n# a comment in code\n```\n", "page"),
        ("no heading", "page"),
    ],
)
def test_markdown_is_kept_and_its_title_found(tmp_path: Path, content: str, title: str):
    document = load(written(tmp_path, "page.md", content))
    assert document.text == content
    assert document.title == title


HTML = """<!DOCTYPE html><html><head><title> A  walk &amp; a&nbsp;talk </title><style>p {color: red}</style>
<script>alert("no")</script></head><body><!-- no --><h1>Walks</h1><p>We <b>walked</b>
  far.<br>Then we   rested.<p>Later&hellip;<ul><li>tea<li>buns</ul>
<table><tr><td>a<td>b</tr>
 <tr> <th>c</th> <td><i> d</i> </td></tr></table><pre>x = 1
    y</pre></body></html>"""


def test_html_is_read_as_a_reader_sees_it(tmp_path: Path):
    document = load(written(tmp_path, "page.html", HTML))
    assert document.title == "A walk & a talk"
    assert document.text == (
        "Walks\n\nWe walked far.\nThen we rested.\n\nLater…\n\ntea\nbuns\n\na\tb\nc\td\n\nx = 1\n    y"
    )


SITE = """<html><head><title>Bread | Ann's site</title></head><body>
<header><a href=/>Ann's site</a></header><nav><ul><li>Home<li>About</ul></nav>
<main><article><header><h1>Bread</h1><p>by Ann</p></header><p>Flour and water.</p>
<aside>Salt helps.</aside><nav>Chapter 2</nav></article></main>
<aside>Related: cake</aside><div role="navigation">More</div><footer>Imprint</footer></body></html>"""


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (SITE, "Bread\n\nby Ann\n\nFlour and water.\n\nSalt helps."),
        ("<header><h1>Bread</h1></header><nav>Home</nav><p>Flour.</p>", "Bread\n\nFlour."),
        ("<div><nav>Home</div><p>Flour.</p>", "Flour."),  # whose end tag is missing
        ("<nav><a>Home</a></nav><footer>Imprint</footer>", "Home\n\nImprint"),  # nothing else is there
        ("<p hidden>No</p><p style='color: red; display : none'>No</p><p hidden=until-found>Yes</p>", "Yes"),
        ("<svg><title>No</title><text>No</text></svg><template>No</template><p title='a > b'>Yes</p>", "Yes"),
        ("<p>Yes<script>'<p>No</p>'</script><textarea><b></textarea></p>", "Yes<b>"),
        ("<title>T<p>Yes", "T\n\nYes"),  # a title without end
        ("<p>&#0065;&#x42;&#9" + "9" * 5000 + ";&nosuch;&amp;lt;</p>", "AB\ufffd&nosuch;&lt;"),
    ],
)
def test_html_without_what_leads_elsewhere_or_is_hidden(tmp_path: Path, page: str, text: str):
    assert load(written(tmp_path, "page.html", page)).text == text


def test_html_is_known_by_its_content_too(tmp_path: Path):
    assert load(written(tmp_path, "page", '<?xml version="1.0"?>\n<!-- x --><html><p>One<p>Two')).text == "One\n\nTwo"
    assert load(written(tmp_path, "page.txt", "<html><p>One")).text == "<html><p>One"
    assert load(written(tmp_path, "xml.html", '<?xml version="1.0"?><feed>One</feed>')).text == "One"
    assert load(written(tmp_path, "name.html", "name.html")).text == "name.html"


def test_html_without_end_of_head_keeps_its_body(tmp_path: Path):
    assert load(written(tmp_path, "page.html", "<head><title>T</title><body>Words")).text == "Words"


def test_a_found_title_is_kept_short(tmp_path: Path):
    assert len(load(written(tmp_path, "page.html", f"<title>{'t' * 5000}</title><p>Words")).title) == 300


def test_html_says_its_encoding(tmp_path: Path):
    page = '<html><head><meta charset="iso-8859-2"></head><p>Zażółć gęślą jaźń</p></html>'
    assert load(written(tmp_path, "page.html", page.encode("iso-8859-2"))).text == "Zażółć gęślą jaźń"
    unknown = '<html><head><meta charset="no-such"></head><p>Le café est fermé</p></html>'
    assert "caf" in load(written(tmp_path, "other.html", unknown.encode("latin-1"))).text


@pytest.mark.parametrize("page", ["<div>" * NESTED + "deep" + "</div>" * NESTED, "<b>" * 20_000 + "deep"])
def test_deeply_nested_html_is_read(tmp_path: Path, page: str):
    assert load(written(tmp_path, "deep.html", page)).text == "deep"


def test_a_pdf_is_read_page_by_page(tmp_path: Path):
    document = load(written(tmp_path, "paper.pdf", pdf_bytes("Rain fell.", "We stayed.", title="On  rain")))
    assert document.text == "Rain fell.\nWe stayed."
    assert document.title == "On rain"
    unnamed = load(written(tmp_path, "download", pdf_bytes("Rain fell.")))
    assert (unnamed.text, unnamed.title) == ("Rain fell.", "download")


# ── chat ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_chat_becomes_paragraphs():
    document = load(
        [
            Message("user", "Is it raining?", "2024-05-01T10:00"),
            {"role": "assistant", "content": "No.\nNot yet.", "time": datetime(2024, 5, 1, 10, 1), "id": 7},
            {"role": "user", "content": "Good."},
        ]
    )
    assert document.text == (
        "user (2024-05-01T10:00): Is it raining?\n\nassistant (2024-05-01T10:01:00): No.\nNot yet.\n\nuser: Good."
    )
    assert document.key.startswith("chat-")
    assert document.title == ""


def test_messages_are_turns():
    document = load(
        [
            Message("user", "Is it\n\nraining?", "2024-05-01T10:00Z"),
            {"role": "assistant", "content": " No. \n", "time": datetime(2024, 5, 1, 10, 1)},
            {"role": "user", "content": "Good.", "time": date(2024, 5, 1)},
            {"role": "Ann Lee", "content": "Why?", "time": "two minutes later"},
            {"role": "user", "content": "So."},
        ]
    )
    assert [(document.text[turn.start : turn.end], turn.speaker, turn.time) for turn in document.turns] == [
        ("user (2024-05-01T10:00Z): Is it\n\nraining?\n\n", "user", "2024-05-01T10:00:00+00:00"),
        ("assistant (2024-05-01T10:01:00):  No. \n\n\n", "assistant", "2024-05-01T10:01:00"),
        ("user (2024-05-01): Good.\n\n", "user", "2024-05-01"),
        ("Ann Lee (two minutes later): Why?\n\n", "Ann Lee", ""),
        ("user: So.", "user", ""),
    ]
    assert_turns_tile(document)


anything = st.text(st.characters(blacklist_categories=()), min_size=1).filter(str.strip)


@given(st.lists(st.builds(Message, anything, anything, st.none() | anything), min_size=1, max_size=8))
@example([Message("a\x00", "\ud800\x00!", "\udfff"), Message("b", "c\x00", "2024-05-01")])
def test_turns_hold_their_messages_after_unstorable_text_is_replaced(messages: list[Message]):
    document = load(messages)
    assert_turns_tile(document)
    for message, turn in zip(messages, document.turns, strict=True):
        stored = load(message.content).text
        assert document.text[turn.start : turn.end].rstrip("\n").endswith(stored.rstrip("\n"))
        assert turn.speaker == load(message.role).text
        assert document.text.startswith(turn.speaker, turn.start)
    assert load(document) == document


def assert_turns_tile(document: Document) -> None:
    cuts = [0, *(turn.end for turn in document.turns)]
    assert [(turn.start, turn.end) for turn in document.turns] == list(pairwise(cuts))
    assert cuts[-1] == len(document.text)


def test_a_document_can_be_given_with_turns():
    turns = (Turn(0, 4, "a"), Turn(4, 7, "b\x00", "2024-05-01 10:00Z"), Turn(7, 7, ""), Turn(7, 10, "a"))
    document = load(Document("Why?\n\n\nNo.", "talk", turns=turns), title="Talk")
    expected = replace(turns[1], speaker="b\ufffd", time="2024-05-01T10:00:00+00:00")
    assert document.turns == (turns[0], expected, turns[2], turns[3])
    assert load(Document("Why?\n\n\nNo.", "talk", turns=list(turns)), title="Talk") == document  # type: ignore[arg-type]


def test_turns_are_content():
    plain = Document("user: Why?\n\nuser: So.", "talk")
    chat = load([Message("user", "Why?"), Message("user", "So.")])
    assert chat.text == plain.text
    assert len({plain.sha256, chat.sha256, replace(chat, turns=(Turn(0, 22, "user"),)).sha256}) == 3


def test_without_turns_the_hash_is_what_it_was():
    document = Document("Rain fell.", "rain", title="Rain", metadata={"year": 1901, "author": "Ann"})
    assert document.sha256 == "865aae52e883dd48ba7079f7098833fe3a337804252836ae9931bfb16d0777ec"


def test_messages_times_are_understood_or_counted():
    messages = [
        {"role": "a", "content": "x", "time": time} for time in ("1:56 pm on 8 May, 2023", "yesterday", "", None)
    ]
    document = load(messages)
    assert [turn.time for turn in document.turns] == ["2023-05-08T13:56:00", "", "", ""]
    assert "a (1:56 pm on 8 May, 2023): x" in document.text
    assert unread_times(messages, document.turns) == 1
    assert unread_times("yesterday", ()) == 0


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────


def refusal(source: object, **arguments: object) -> str:
    with pytest.raises(DocumentError, match=r"Expected .+ got ") as caught:
        load(source, **arguments)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize("source", ["", " \n\t ", "\u3000", Document("", "key")])
def test_empty_text_is_refused(source: object):
    assert "empty or only white space" in refusal(source)


@pytest.mark.parametrize(
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
def test_what_is_no_source_is_refused(source: object, hint: str):
    assert hint in refusal(source)


@pytest.mark.parametrize("key", ["", "  ", "k" * (MAX_KEY + 1), 7, "a\x00", "a\ud800"])
def test_keys_that_cannot_work_are_refused(key: object):
    assert "key" in refusal("text", key=key)
    assert load("text", key="k" * MAX_KEY).key == "k" * MAX_KEY


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, None, [1], {"a": 1}, b"x", 10**5000, -(10**5000)],
    ids=lambda value: type(value).__name__,
)
def test_metadata_that_cannot_be_stored_is_refused(value: object):
    assert "metadata['when']" in refusal("text", metadata={"when": value})


@pytest.mark.parametrize("metadata", [["a"], {1: "a"}, {"": "a"}])
def test_metadata_is_a_mapping_with_names(metadata: object):
    refusal("text", metadata=metadata)


def test_dates_in_metadata_become_iso():
    document = load("text", metadata={"date": date(2024, 5, 1), "time": datetime(2024, 5, 1, 10, 0)})
    assert document.metadata == {"date": "2024-05-01", "time": "2024-05-01T10:00:00"}


def test_all_but_the_text_is_short():
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
    """What another library may take its strings for."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another"


def test_what_is_a_str_of_some_kind_becomes_a_str():
    text, key, title = (Name(value) for value in ("Ann left.", "k", "T"))
    for document in (
        load(text, key=key, title=title, metadata={Name("a"): Name("b")}),
        load(Document(text, key, title=title, source=Name("s"), metadata={Name("a"): Name("b")})),
        load([{"role": Name("Ann"), "content": text}], key=key),
    ):
        texts = [document.text, document.key, document.title, document.source, *document.metadata]
        texts += [*document.metadata.values(), *(turn.speaker for turn in document.turns)]
        assert {type(one) for one in texts} == {str}
        assert document.key == "k"


def test_title_is_a_str():
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
        ("letter.rtf", rb"{\rtf1 hello}", "Rich Text"),
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
        ("scan.pdf", pdf_bytes(""), "OCR"),
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
def test_whatever_a_parser_raises_is_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type):
    def broken(*_: object) -> None:
        raise error("parser")

    monkeypatch.setattr(markup, "read_html", broken)
    with pytest.raises(DocumentError, match=error.__name__) as caught:
        load(written(tmp_path, "page.html", "<p>text"))
    assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_what_ends_the_process_goes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type):
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(markup, "read_html", broken)
    with pytest.raises(error):
        load(written(tmp_path, "page.html", "<p>text"))


@pytest.mark.parametrize("name", ["table.csv", "data.json", "program.py", "notes.rst", "log", "lines.jsonl"])
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
