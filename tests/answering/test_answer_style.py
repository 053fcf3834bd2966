"""The forms of an answer, with scripted replies; benchmarks/results/quality.md holds what real models make of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from memories import FOX, RIVER, embedder
from tables import table

from memgraph_rag import Memory
from memgraph_rag.answering.answer_style import mark_sentences, write_short_form
from memgraph_rag.errors import SettingsError, WindowExceeded
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.text.citations import Quotes
from memgraph_rag.types import Answer, Citation, Segment

QUESTION = "Where did Ann find the fox?"
SENTENCE = "Ann found the red fox in the old barn."


def shortened(sentence: str, *replies: str) -> tuple[str, int]:
    """The short form, and how many requests it cost."""
    with FakeLanguageModel(answer=replies).open_session(QUESTION) as session:
        session.append(["Ann found the red fox in the old barn."])
        before = session.usage.model_calls
        phrase = write_short_form(session, QUESTION, sentence)
        return phrase, session.usage.model_calls - before


@table(
    ("reply", "phrase"),
    [
        ("in the old barn", "in the old barn"),
        ("a barn", "a barn"),
        (' "The old barn." ', "The old barn"),
        ("\n\nthe old barn\nBecause she looked there.", "the old barn"),
        ("", "Ann found the red fox in the old barn"),
        ("Yes.", "Yes"),
        ("No sentence.", "Ann found the red fox in the old barn"),
        ("It was in the old barn, as the information above says twice.", "Ann found the red fox in the old barn"),
    ],
)
def test_short_form_is_one_line_of_the_reply(reply: str, phrase: str) -> None:
    assert shortened(SENTENCE, reply) == (phrase, 1)


@table(("sentence", "phrase"), [("Yes.", "Yes"), ("Ann Lee.", "Ann Lee"), ("B", "B"), ("1.5 km", "1.5 km")])
def test_short_answer_is_its_own_short_form(sentence: str, phrase: str) -> None:
    assert shortened(sentence) == (phrase, 0)


def test_full_window_leaves_short_form_empty() -> None:
    with FakeLanguageModel().open_session(QUESTION) as session:
        session.answer = _full  # type: ignore[method-assign]
        assert write_short_form(session, QUESTION, SENTENCE) == ""


def _full(*_: object, **__: object) -> str:
    raise WindowExceeded("full", tokens=9, window=8)


def quotes_of(*texts: str) -> Quotes:
    segments = [Segment(f"s{number}", f"d{number}", 0, text, 0, len(text), 9) for number, text in enumerate(texts)]
    keys = {segment.document_id: segment.document_id for segment in segments}
    return Quotes([(segment, 1.0) for segment in segments], keys=keys, embedder=FakeEmbedder(256))


def marked(said: str, quotes: Quotes) -> tuple[str, list[Citation]]:
    """What comes of it, however the model's pieces fall."""
    whole: list[Citation] = []
    text = "".join(mark_sentences([said], quotes, whole))
    by_character: list[Citation] = []
    assert "".join(mark_sentences(said, quotes, by_character)) == text
    assert by_character == whole
    return text, whole


BARN, WATER = "Ann found a fox in the barn.", "Tom rowed across the cold river."


def test_mark_names_the_citation_of_its_sentence() -> None:
    text, citations = marked("Tom rowed the river. Ann found a fox! The barn had a fox.", quotes_of(BARN, WATER))
    assert text == "Tom rowed the river [1]. Ann found a fox [2]! The barn had a fox [2]."
    assert [citation.quote for citation in citations] == [WATER, BARN]


@table(
    ("said", "expected"),
    [
        ("Ann found a fox.\n\nTom rowed.", "Ann found a fox [1].\n\nTom rowed [2]."),
        ("He said: \u201cAnn found a fox.\u201d", "He said: \u201cAnn found a fox [1].\u201d"),
        ("Ann found a fox. Tom rowed", "Ann found a fox [1]. Tom rowed [2]"),
        ("1. Ann found a fox.\n2. Tom rowed.", "1. Ann found a fox [1].\n2. Tom rowed [2]."),
        ("There are: 1. Ann found a fox. 2. Tom rowed.", "There are: 1. Ann found a fox [1]. 2. Tom rowed [2]."),
        ("", ""),
    ],
)
def test_marks_precede_the_full_stop_of_a_sentence(said: str, expected: str) -> None:
    assert marked(said, quotes_of(BARN, WATER))[0].strip() == expected


@table(
    ("said", "expected", "cited"),
    [
        ("Ann found a fox. Tom rowed acr", "Ann found a fox [1].", 1),
        ("Ann found a fox. Tom rowed.", "Ann found a fox [1]. Tom rowed [2].", 2),
        ("Ann found a f", "Ann found a f [1]", 1),
        ("1. Ann found a fox.\n2.", "1. Ann found a fox [1].", 1),
    ],
)
def test_incomplete_sentence_is_left_out(said: str, expected: str, cited: int) -> None:
    citations: list[Citation] = []
    pieces = mark_sentences(said, quotes_of(BARN, WATER), citations, was_cut=lambda: True)
    assert ("".join(pieces).strip(), len(citations)) == (expected, cited)


def test_sentence_without_evidence_has_no_mark() -> None:
    fake = FakeEmbedder(256)
    fake.unrelated_below = 0.2  # type: ignore[attr-defined]
    segment = Segment("s", "d", 0, BARN, 0, len(BARN), 9)
    quotes = Quotes([(segment, 1.0)], keys={"d": "d"}, embedder=fake)
    text, citations = marked("Ann found a fox. Bananas taste sweet.", quotes)
    assert text == "Ann found a fox [1]. Bananas taste sweet."
    assert len(citations) == 1


@pytest.mark.parametrize("style", ["short", "sentence", "detailed"])
def test_answer_has_the_requested_form(tmp_path: Path, style: str) -> None:
    said = {"short": '"the old barn."', "sentence": SENTENCE, "detailed": f"{SENTENCE} Tom sailed the wide river."}
    model = FakeLanguageModel(answer=[said[style], "the barn"])
    with Memory(tmp_path / "notes.lbug", model=model, embedder=embedder(), layers=()) as memory:
        memory.add(FOX, key="fox")
        memory.add(RIVER, key="river")
        *pieces, answer = memory.stream(QUESTION, style=style, strategy="top_k")  # type: ignore[arg-type]
        streamed = "".join(piece for piece in pieces if isinstance(piece, str))
    assert streamed == (answer.text if style == "detailed" else said[style])
    assert isinstance(answer, Answer)
    marks = {f"[{number}]" for number, _ in enumerate(answer.citations, 1)}
    assert answer.citations
    if style == "short":
        assert (answer.text, answer.short) == ("the old barn", "the old barn")
    elif style == "sentence":
        assert (answer.text, answer.short) == (SENTENCE, "the barn")
    else:
        assert answer.short == "the barn"
        assert set(re.findall(r"\[\d+\]", answer.text)) == marks
        assert re.sub(r" \[\d+\]", "", answer.text) == said[style]


@table("style", ["", "long", None, 3, ["short"]])
def test_unknown_style_is_refused_with_the_known_ones(tmp_path: Path, style: object) -> None:
    memory = Memory(tmp_path / "notes.lbug", model=FakeLanguageModel(), embedder=embedder(), layers=())
    with memory, pytest.raises(SettingsError, match="style as one of 'short', 'sentence', 'detailed', got"):
        memory.ask(QUESTION, style=style)  # type: ignore[arg-type]


def test_added_sentence_of_a_paragraph_is_recognised_as_echo(tmp_path: Path) -> None:
    text = "Ann found the red fox in the old barn near the road to town. Tom sailed the wide river."
    with Memory(
        tmp_path / "notes.lbug", model=FakeLanguageModel(answer=text), embedder=embedder(), layers=()
    ) as memory:
        memory.add(FOX, key="fox")
        answer = memory.ask(QUESTION, style="detailed", strategy="top_k")
        assert "[1]" in answer.text
        assert memory.add([{"role": "assistant", "content": text}], key="chat").counts["Segment"] == 1
        (record,) = [record for record in memory.documents() if record.key == "chat"]
        assert record.echoes == 1
