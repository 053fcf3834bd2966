"""Records in a notebook: what a cell shows, and that no text of a document becomes markup."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

from records import ANSWER, CITATION, EVIDENCE, RECORD, SEGMENT, WARNING

from memgraph_rag.calls.record_list import RecordList

EVIL = '<script>alert("1")</script><img src=x onerror=alert(2)>&lt;'
OURS = {"p", "i", "b", "small", "table", "thead", "tbody", "tr", "th", "td"}


class Shown(HTMLParser):
    """The tags of some HTML, and its text as a reader sees it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_answer_shows_text_citations_and_warnings() -> None:
    shown = Shown(ANSWER._repr_html_())
    for text in (
        "Where is Ann?",
        "In Berlin.",
        "[1]",
        "talk",
        "I moved to Berlin yesterday.",
        "Careful:",
        "1 nodes read",
    ):
        assert text in shown.text


def test_search_hits_show_place_text_and_remarks() -> None:
    shown = Shown(RecordList([EVIDENCE])._repr_html_())
    for text in ("talk", "I moved to Berlin yesterday.", "0.75", "Ann", "home: since 11 May 2026: Berlin"):
        assert text in shown.text
    assert shown.tags["tr"] == 2


def test_documents_show_key_size_and_metadata() -> None:
    shown = Shown(RecordList([RECORD])._repr_html_())
    for text in ("talk", "A talk", "28", "entities", "date: 2026-05-12, pages: 2, read: True"):
        assert text in shown.text


def test_column_without_a_value_is_left_out() -> None:
    hits = RecordList([replace(EVIDENCE, relevance=None)])
    assert "relevance" not in hits._repr_html_()
    assert "relevance" in RecordList([*hits, EVIDENCE])._repr_html_()


def test_empty_list_says_so() -> None:
    assert Shown(RecordList()._repr_html_()).text == "Nothing was found."


def test_long_list_and_long_text_are_cut_and_counted() -> None:
    hit = replace(EVIDENCE, run=(replace(SEGMENT, text="word " * 1000),))
    shown = Shown(RecordList([hit] * 250)._repr_html_())
    assert shown.tags["tr"] == 101
    assert "… and 150 more" in shown.text
    assert len(shown.text) < 101 * 600


def test_hostile_text_stays_text() -> None:
    """In the text, the key and the title of a document, in its metadata, and in what a model wrote."""
    segment = replace(SEGMENT, text=EVIL, speaker=EVIL)
    record = replace(RECORD, key=EVIL, title=EVIL, metadata={EVIL: EVIL}, layers=(EVIL,))
    hit = replace(EVIDENCE, segment=segment, run=(), document_key=EVIL)
    cited = replace(CITATION, document_key=EVIL, quote=EVIL)
    warning = replace(WARNING, quote=EVIL, document_key=EVIL)
    answer = replace(ANSWER, question=EVIL, text=EVIL, citations=(cited,), warnings=(warning,))
    for value in (RecordList([hit]), RecordList([record]), answer):
        shown = Shown(value._repr_html_())
        assert EVIL in shown.text
        assert set(shown.tags) <= OURS
        assert shown.attributes <= {"style"}
