"""Fuzzers: whatever bytes, texts and lists come, there is a document, a list, or an error of our own.

Each runs some hundred examples here; ``make fault-tests`` gives them thirty times as many (``FAULT_SHARE``).
"""

from __future__ import annotations

import os
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memgraph_rag.errors import DocumentError
from memgraph_rag.keywords import keywords
from memgraph_rag.layers.points import bullets, is_useless_from_here
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.text.citations import MAX_QUOTE, cite
from memgraph_rag.text.loading import load
from memgraph_rag.text.splitting import sentences, split
from memgraph_rag.types import Prompt, Segment

SHARE = float(os.environ.get("FAULT_SHARE", "1"))


def fuzz(examples: int) -> settings:
    return settings(max_examples=int(examples * SHARE), deadline=None, suppress_health_check=list(HealthCheck))


SUFFIXES = (".txt", ".md", ".html", ".pdf", ".xhtml", "", ".docx")

HEADS = (
    b"",
    b"%PDF-1.4\n",
    b"<!doctype html>",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
    b"---\ntitle: ",
    b"PK\x03\x04",
)

SCRAPS = (
    *(b"<", b">", b"<!--", b"-->", b"<script>", b"</script>", b"<p", b"<td>", b"&#x", b"<![CDATA[", b"]]>", b"<title>"),
    *(b"obj\n", b"endobj", b"stream\n", b"endstream", b"xref", b"trailer", b"<<", b">>", b"/Page ", b"1 0 R", b"%%EOF"),
    *(
        b"# ",
        b"* ",
        b"\n\n",
        b"```",
        b"\x00",
        b"\x1b",
        b"\xc3\xa4",
        b"\xff",
        b"\xd8\x00",
        b"charset=utf-7",
        b"\r\n",
        b"Ann.",
    ),
)

BYTES = st.one_of(
    st.binary(max_size=400),
    st.builds(lambda head, parts: head + b"".join(parts), st.sampled_from(HEADS), st.lists(st.sampled_from(SCRAPS))),
)

WORDS = (
    *("Ann", "ran.", "Mr.", "安妮。", "* ", "\n", "\n\n", "\u2028", "“Yes!”", "x" * 50),
    *("🦊👩\u200d👩\u200d👧", "1.", "- ", " ", "\t", "é\u0301", "?!"),
)

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=300),
    st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=60).map("".join),
)


@fuzz(300)
@given(data=BYTES, suffix=st.sampled_from(SUFFIXES))
def test_a_file_is_a_document_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzzed{suffix}"
    path.write_bytes(data)
    try:
        document = load(path)
    except DocumentError:
        return
    assert document.text.strip()
    (document.text + document.title).encode()
    assert "\0" not in document.text


VALUES = st.one_of(st.none(), st.integers(), st.booleans(), st.text(max_size=20), st.binary(max_size=5), st.floats())
MESSAGES = st.dictionaries(st.sampled_from(["role", "content", "time", "name", "x"]), VALUES, max_size=5)


@fuzz(200)
@given(messages=st.lists(MESSAGES, max_size=5))
def test_messages_are_a_document_or_refused(messages: list[dict[str, object]]) -> None:
    try:
        document = load(messages)
    except DocumentError:
        return
    assert document.turns
    assert document.turns[-1].end == len(document.text)


@fuzz(300)
@given(text=TEXTS, limit=st.integers(1, 40), cuts=st.lists(st.integers(-5, 400), max_size=5))
def test_spans_tile_the_text_within_the_limit(text: str, limit: int, cuts: list[int]) -> None:
    def count(texts: list[str]) -> list[int]:
        return [len(one.encode()) // 3 + bool(one) for one in texts]

    spans = split(text, count_tokens=count, max_tokens=limit, cuts=cuts)  # type: ignore[arg-type]
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert all(one.end == other.start for one, other in pairwise(spans))
    assert all(span.tokens <= limit or span.end - span.start == 1 for span in spans)
    assert not any(span.start < cut < span.end for span in spans for cut in cuts)
    assert [end for _, end in sentences(text)][-1:] == ([len(text)] if text else [])


@fuzz(400)
@given(text=TEXTS, complete=st.booleans())
def test_a_list_is_read_whatever_the_model_wrote(text: str, complete: bool) -> None:
    spans, notes = bullets(text, complete=complete)
    said = [" ".join(text[start:end].split()).casefold() for start, end in spans]
    assert all(said)
    assert len(said) == len(set(said))
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(count > 0 for count in notes.values())
    is_useless_from_here(Prompt("", (text,)), text)


@fuzz(200)
@given(texts=st.lists(TEXTS.filter(str.strip), min_size=1, max_size=4), question=TEXTS, answer=TEXTS)
def test_quotes_stand_where_they_say(texts: list[str], question: str, answer: str) -> None:
    segments = [(Segment(f"{n}", f"d{n}", 0, text, 7, 7 + len(text), 1), n / 2) for n, text in enumerate(texts)]
    keys = {f"d{number}": f"key {number}" for number in range(1, len(texts) + 1)}
    for cited in cite(question, answer, segments, keys=keys, embedder=FakeEmbedder(8)):
        text = texts[int(cited.segment_id)]
        assert text[cited.start - 7 : cited.end - 7] == cited.quote
        assert 0 < len(cited.quote) <= MAX_QUOTE
        assert cited.document_id in keys


@fuzz(300)
@given(text=st.text(max_size=200))
def test_a_keyword_is_no_operator(text: str) -> None:
    for word in keywords(text):
        assert not set(word) & set('"\\ \t\n+-&|!(){}[]^~*?:/')
