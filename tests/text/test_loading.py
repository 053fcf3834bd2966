"""Test that every valid source becomes a document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfWriter
from written_files import pdf_bytes, written

from memgraph_rag.errors import DocumentError
from memgraph_rag.text.chat import count_unread_times
from memgraph_rag.text.loading import load
from memgraph_rag.types import Document, Message, Turn

NESTED = 100_000


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_str_is_text_even_if_it_looks_like_a_path():
    document = load("/no/such/file")
    assert document.text == "/no/such/file"
    assert (document.title, document.source) == ("", "")
    assert document.key == load("/no/such/file").key != load("/no/such/text").key
    assert document.key.startswith("text-")
    assert len(document.key) == len("text-") + 12


@pytest.mark.filterwarnings("ignore:Expected text, got a str that names a file")
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


def test_path_is_read_as_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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
        "# Walks\n\nWe walked far.\nThen we rested.\n\nLater…\n\ntea\nbuns\n\na\tb\nc\td\n\nx = 1\n    y"
    )


SITE = """<html><head><title>Bread | Ann's site</title></head><body>
<header><a href=/>Ann's site</a></header><nav><ul><li>Home<li>About</ul></nav>
<main><article><header><h1>Bread</h1><p>by Ann</p></header><p>Flour and water.</p>
<aside>Salt helps.</aside><nav>Chapter 2</nav></article></main>
<aside>Related: cake</aside><div role="navigation">More</div><footer>Imprint</footer></body></html>"""


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (SITE, "# Bread\n\nby Ann\n\nFlour and water.\n\nSalt helps."),
        ("<header><h1>Bread</h1></header><nav>Home</nav><p>Flour.</p>", "# Bread\n\nFlour."),
        ("<h2><div>Two <br>lines</div></h2><h3> </h3><p>Yes</p>", "## Two lines\n\nYes"),
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
    assert document.text == "Rain fell.\f\nWe stayed."
    assert document.title == "On rain"
    unnamed = load(written(tmp_path, "download", pdf_bytes("Rain fell.")))
    assert (unnamed.text, unnamed.title) == ("Rain fell.", "download")


def bookmarked(pages: Sequence[str], bookmarks: Sequence[tuple[str, int, int]]) -> bytes:
    """Return a PDF of these pages with bookmarks as (title, page, place of the parent bookmark; -1 at the top)."""
    writer, file = PdfWriter(clone_from=BytesIO(pdf_bytes(*pages))), BytesIO()
    items: list[Any] = []
    for title, page, above in bookmarks:
        items.append(
            writer.add_outline_item(title=title, page_number=page, parent=items[above] if above >= 0 else None)
        )
    writer.write(file)
    return file.getvalue()


def test_bookmarks_of_a_pdf_are_headings(tmp_path: Path):
    bookmarks = [("RAIN", 0, -1), ("Where it  fell", 1, 0), ("Not there", 1, 0), ("1. Rain", 2, -1)]
    pages = ("1. Rain", "Where it fell", "Rain", "Rain")
    document = load(written(tmp_path, "paper.pdf", bookmarked(pages, bookmarks)))

    assert document.text == "# 1. Rain\f\n## Where it fell\f\nRain\f\nRain"


def test_damaged_bookmarks_cost_no_text(tmp_path: Path):
    data = bookmarked(["Rain", "Snow"], [("Rain", 0, -1), ("Snow", 1, 0)])
    for at in range(0, len(data) - 9, 7):
        damaged = data[:at] + b"/" + data[at + 1 :]
        if b"/First" in data[at - 20 : at + 20] or b"/Dest" in data[at - 20 : at + 20]:
            assert "Rain" in load(written(tmp_path, f"{at}.pdf", damaged)).text


def test_table_of_a_pdf_is_markdown_between_its_lines(tmp_path: Path):
    rows = [("Boat", "Seats"), ("Kayak / red", "2"), ("Canoe", "3")]
    cells = [
        f"{72 + 120 * column} {680 - 20 * row} 120 20 re S "
        f"BT /F1 12 Tf {76 + 120 * column} {686 - 20 * row} Td ({words}) Tj ET"
        for row, line in enumerate(rows)
        for column, words in enumerate(line)
    ]
    drawn = " ".join([*cells, "BT /F1 12 Tf 72 600 Td (All boats are insured.) Tj ET"])
    document = load(written(tmp_path, "boats.pdf", pdf_bytes("Boats of the club.", "The same.", drawn=drawn)))
    table = "| Boat | Seats |\n|---|---|\n| Kayak / red | 2 |\n| Canoe | 3 |"
    first, second = document.text.split("\f\n")
    assert first == f"Boats of the club.\n\n{table}\n\nAll boats are insured."
    assert second.startswith("The same.\n\n| Boat")


def scan(words: str) -> bytes:
    """Return a PDF with a picture of the words."""
    picture, file = Image.new("L", (1240, 400), 255), BytesIO()
    ImageDraw.Draw(picture).text((120, 150), words, font=ImageFont.load_default(size=44), fill=0)
    picture.save(file, "PDF", resolution=150)
    return file.getvalue()


@pytest.mark.skipif(which("tesseract") is None, reason="needs the program tesseract")
def test_page_that_is_a_picture_is_recognised(tmp_path: Path):
    document = load(written(tmp_path, "scan.pdf", scan("The harbour closed in March 1987.")))
    assert document.text.strip() == "The harbour closed in March 1987."


def test_pictures_without_tesseract_are_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = written(tmp_path, "scan.pdf", scan("Rain"))
    monkeypatch.setattr("memgraph_rag.text.pdf_pages.which", lambda _: None)
    with pytest.raises(DocumentError, match="need the program tesseract"):
        load(path)
    monkeypatch.setattr("memgraph_rag.text.pdf_pages.find_spec", lambda _: None)
    with pytest.raises(DocumentError, match=r"need the extra pdf .* and the program tesseract"):
        load(path)


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


def test_messages_become_turns():
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


@pytest.mark.filterwarnings("ignore:Expected text, got a str that names a file")  # hypothesis knows words of our code
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


def test_turns_change_the_hash_of_a_document():
    plain = Document("user: Why?\n\nuser: So.", "talk")
    chat = load([Message("user", "Why?"), Message("user", "So.")])
    assert chat.text == plain.text
    assert len({plain.sha256, chat.sha256, replace(chat, turns=(Turn(0, 22, "user"),)).sha256}) == 3


def test_document_without_turns_keeps_its_hash_of_older_versions():
    document = Document("Rain fell.", "rain", title="Rain", metadata={"year": 1901, "author": "Ann"})
    assert document.sha256 == "865aae52e883dd48ba7079f7098833fe3a337804252836ae9931bfb16d0777ec"


def test_messages_times_are_understood_or_counted():
    messages = [
        {"role": "a", "content": "x", "time": time} for time in ("1:56 pm on 8 May, 2023", "yesterday", "", None)
    ]
    document = load(messages)
    assert [turn.time for turn in document.turns] == ["2023-05-08T13:56:00", "", "", ""]
    assert "a (1:56 pm on 8 May, 2023): x" in document.text
    assert count_unread_times(messages, document.turns) == 1
    assert count_unread_times("yesterday", ()) == 0


# ── front matter, programs and notebooks ─────────────────────────────────────────────────────────────────


def test_front_matter_becomes_metadata(tmp_path: Path):
    text = "---\ntitle: Foxes\ntags: [red, quick]\ndate: 2024-05-01\nn: 3\nuser: eve\nnested: {a: 1}\n---\nText\n"
    document = load(written(tmp_path, "page.md", text))
    assert (document.text, document.title) == (text, "Foxes")
    assert document.metadata == {"tags": "red, quick", "date": "2024-05-01", "n": 3}
    assert load(tmp_path / "page.md", metadata={"n": 4}).metadata == {
        "tags": "red, quick",
        "date": "2024-05-01",
        "n": 4,
    }


@pytest.mark.parametrize(
    "fields",
    [
        "a: !!python/object/apply:os.system ['true']",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]",
        "a: " + "[" * 5_000,
        "a: 2024-13-45",
        "a: .nan\nb: " + "9" * 900,
        "[1, 2]: x\n? {a: b}\n: y",
        "a: 'open",
    ],
)
def test_hostile_front_matter_is_harmless(tmp_path: Path, fields: str):
    document = load(written(tmp_path, "page.md", f"---\n{fields}\n---\nText\n"))
    assert document.text.endswith("Text\n")
    assert all(isinstance(value, (str, int)) for value in document.metadata.values())


def test_a_program_has_its_path_as_title(tmp_path: Path):
    (tmp_path / "fox").mkdir()
    assert load(written(tmp_path / "fox", "run.py", "# not a title\n")).title.endswith("/fox/run.py")


def test_notebook_is_read_as_its_cells(tmp_path: Path):
    cells = [
        {"cell_type": "markdown", "source": ["# Foxes\n", "They run."]},
        {"cell_type": "code", "source": "fox.run()", "outputs": [{"text": "secret"}]},
    ]
    notebook = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}
    document = load(written(tmp_path, "page.ipynb", json.dumps(notebook)))
    assert document.text == "# Foxes\nThey run.\n\n```python\nfox.run()\n```\n"
    assert document.title == "Foxes"
    assert load(written(tmp_path, "other.ipynb", "[1]")).text == "[1]"
