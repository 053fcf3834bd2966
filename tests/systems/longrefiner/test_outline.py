"""Outlines: from headings, from what a model writes, and what becomes of odd texts and odd replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from memories import WithoutLanguage
from recording_model import RecordingModel
from tables import table

from memgraph_rag.contracts import SplitDocument
from memgraph_rag.systems.longrefiner.outline import OutlineLayer, join_segments
from memgraph_rag.systems.longrefiner.outline_reply import find_headings, is_useless_from_here, parts
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeModels
from memgraph_rag.types import Heading, LayerRows, Prompt, Section, Segment, list_leaves, make_sections

STORY = (
    "The mill was built in 1843. It stood there for ninety years.\n\n"
    "THE FIRE\n\nOne night in May the mill burnt down to the river. Nobody was hurt, they said.\n\n"
    "It began with a lamp. A lamp fell over.\n\n"
    "They built it again in stone. It still stands there."
)
REPLY = [
    ["abstract", "", ["The mill was ... for ninety years."]],
    ["section", "The fire", ["One night in May ... to the river.", "Nobody was hurt ... they said."]],
    ["sub-section", "Its cause", ["It began with ... fell over."]],
    ["section", "Afterwards", ["They built it … stands there."]],
]


def segments(text: str, size: int = 60) -> tuple[Segment, ...]:
    """The text in segments of that many characters, of about a token each four."""
    starts = range(0, len(text), size)
    return tuple(
        Segment(f"s{index}", "d", index, text[start : start + size], start, min(start + size, len(text)), size // 4)
        for index, start in enumerate(starts)
    )


def built(text: str, *replies: Any, size: int = 60, window: int = 8192, title: str = "") -> LayerRows:
    model = FakeLanguageModel(
        [item if isinstance(item, str) else json.dumps({"parts": item}) for item in replies], window=window
    )
    document = SplitDocument("d", title, segments(text, size))
    (rows,) = OutlineLayer().build([document], namespace="n", models=FakeModels(model, FakeEmbedder()))
    assert_whole(rows.sections, document.segments, text)
    return rows


def assert_whole(sections: Sequence[Section], of_document: Sequence[Segment], text: str) -> None:
    """Every character lies in exactly one leaf, and a section below another within it."""
    leaves = list_leaves(sections, of_document)
    assert "".join(text[leaf.start : leaf.end] for leaf in leaves) == text
    assert all(before.end == after.start for before, after in pairwise(leaves))
    by_id = {section.id: section for section in sections}
    for section in sections:
        parent = by_id.get(section.parent_id)
        assert section.level == (parent.level + 1 if parent else 1)
        assert parent is None or parent.start <= section.start <= section.end <= parent.end


def outline(rows: LayerRows, text: str) -> list[tuple[int, str, str]]:
    """Level, title, and the first word of each section."""
    return [(item.level, item.title, text[item.start :].split()[0]) for item in rows.sections]


# ── headings ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_headings_make_sections_without_a_model() -> None:
    text = "# The mill\n\nIt stood.\n\n## Fire\n\nIt burnt.\n\n### Cause\n\nA lamp.\n\n## After\n\nNew.\n"
    rows = built(text)

    assert outline(rows, text) == [(1, "The mill", "#"), (1, "Fire", "##"), (2, "Cause", "###"), (1, "After", "##")]
    assert [section.is_abstract for section in rows.sections] == [True, False, False, False]
    assert (rows.usage.model_calls, rows.notes) == (0, {})


def test_text_before_the_first_heading_is_the_abstract() -> None:
    rows = built("It stood.\n\n## A\n\n## B\n\ntext")

    assert [(section.title, section.is_abstract) for section in rows.sections] == [
        ("", True),
        ("A", False),
        ("B", False),
    ]


def test_repeated_and_empty_sections_stay_apart() -> None:
    text = "## A\n\n## A\n\ntext\n\n##\n\n## A\n"

    assert [section.title for section in built(text).sections] == ["A", "A", "A"]


def test_headings_in_code_do_not_count() -> None:
    text = "## A\n\n```\n# no\n```\n\n## B\n"

    assert [section.title for section in built(text).sections] == ["A", "B"]


def test_a_conversation_has_no_headings_of_its_own() -> None:
    said = tuple(replace(item, speaker="Ann") for item in segments("# A\n\n# B\n\ntext"))

    assert OutlineLayer().uses_language(SplitDocument("d", "", (*said, *said)))


# ── by the model ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_model_divides_a_text_without_headings() -> None:
    rows = built(STORY, REPLY)

    assert outline(rows, STORY) == [
        (1, "", "The"),
        (1, "The fire", "THE"),
        (2, "Its cause", "It"),
        (1, "Afterwards", "They"),
    ]
    assert (rows.notes, rows.usage.model_calls) == ({}, 1)


def test_section_without_paragraphs_keeps_its_sub_sections() -> None:
    reply = [
        ["section", "The building", ["The mill was ... ninety years."]],
        ["section", "The fire", []],
        ["sub-section", "The night", ["One night in May ... they said."]],
        ["sub-section", "Its cause", ["It began with ... fell over."]],
        ["section", "Lost", []],
        ["section", "Afterwards", ["They built it ... stands there."]],
    ]
    rows = built(STORY, reply)

    assert outline(rows, STORY) == [
        (1, "The building", "The"),
        (1, "The fire", "THE"),
        (2, "The night", "One"),
        (2, "Its cause", "It"),
        (1, "Afterwards", "They"),
    ]
    assert rows.notes == {"section that is not in the text": 1}, "nothing is below it either"


def test_section_goes_on_in_the_next_window() -> None:
    story = "".join(f"Part {number} begins here. {'It went on. ' * 40}\n\n" for number in range(2))
    replies = [
        [["section", "Title", []], ["sub-section", str(number), [f"Part {number} begins ... went on."]]]
        for number in range(2)
    ]
    rows = built(story, *replies, size=len(story) // 2, window=700)

    assert [(section.level, section.title) for section in rows.sections] == [(1, "Title"), (2, "0"), (2, "1")]


@table("skip", ["...", " <skip> "])
def test_reply_with_tags_gives_the_same_outline(skip: str) -> None:
    reply = (
        f"<abstract>The mill was{skip}for ninety years.</abstract>"
        f"<section: The fire>One night in May{skip}to the river."
        f'<br>Nobody was hurt{skip}they said.<sub-section: "Its cause">It began with{skip}fell over.'
        f'</sub-section: "Its cause"></section: The fire><section: Afterwards>They built it{skip}stan'
    )
    assert outline(built(STORY, reply), STORY) == outline(built(STORY, REPLY), STORY)


def test_trained_model_is_asked_in_the_words_of_its_training() -> None:
    def ask(**options: Any) -> tuple[Prompt, Any]:
        model = RecordingModel(["<section: A>The mill was...years."])
        document = SplitDocument("d", "", segments(STORY))
        OutlineLayer(**options).build([document], namespace="n", models=FakeModels(model, FakeEmbedder()))
        return model.prompts[0], model.schemas[0]

    prompt, schema = ask(instruction="Make chapters.")
    assert (prompt.instruction, prompt.task, schema) == ("Make chapters.", "", None)
    prompt, schema = ask(form="xml", words=8)
    assert "<skip>" in prompt.task
    assert "first 8 words" in prompt.task
    assert schema is None
    assert "JSON" in ask()[0].task
    assert ask()[1] is not None


def test_windows_of_a_long_text_make_one_outline() -> None:
    story = "".join(f"Part {number} begins here. {'It went on. ' * 40}\n\n" for number in range(6))
    replies = [[["section", f"Title {number // 2}", [f"Part {number} begins ... went on."]]] for number in range(6)]
    rows = built(story, *replies, size=len(story) // 6, window=650)

    assert [section.title for section in rows.sections] == ["Title 0", "Title 1", "Title 2"]


@table(
    ("reply", "note"),
    [
        ("no JSON", "unreadable reply"),
        ([], "no sections in what the model wrote"),
        ([["section", "Elsewhere", ["Quite another ... text."]]], "section that is not in the text"),
        ([["section", "Nothing", []]], "section that is not in the text"),
        ([["section", "A", []], ["sub-section", "B", ["made up"]]], "section that is not in the text"),
        ([["section", "Half", ["One night in ...", "made up"]]], "paragraph of an outline that is not in the text"),
        ([["chapter", "x", []], 7, ["section", "y"]], "part of an outline that is incomplete"),
        ('{"parts": [["section", "Cut", ["One night in May ... to', "outline cut off"),
    ],
)
def test_odd_replies_are_counted_and_sections_stay(reply: Any, note: str) -> None:
    rows = built(STORY, reply)

    assert note in rows.notes
    assert rows.sections


def test_text_without_sections_is_one_section() -> None:
    (section,) = built(STORY, []).sections

    assert (section.title, section.start, section.end, section.is_abstract) == ("", 0, len(STORY), False)


def test_without_a_model_the_receipt_says_so() -> None:
    document = SplitDocument("d", "", segments(STORY))
    (rows,) = OutlineLayer().build([document], namespace="n", models=WithoutLanguage())

    assert rows.notes == {"no headings in the text, and no language model to divide it": 1}
    assert len(rows.sections) == 1


@table(
    "text",
    ["One.", " \n ", "word " * 20_000, "The same paragraph.\n\n" * 3_000, "从前有一座磨坊。它烧毁了。" * 50],
)
def test_odd_texts_keep_every_character(text: str) -> None:
    assert_whole(built(text, size=1200).sections, segments(text, 1200), text)


def test_chinese_is_found_by_characters() -> None:
    text = "从前有一座磨坊,它在河边站了九十年。\n\n五月的一个夜晚,磨坊烧毁了,没有人受伤。"
    rows = built(text, [["section", "火灾", ["五月的一个夜晚 ... 没有人受伤。"]]], size=20)

    assert outline(rows, text) == [(1, "", text.split()[0]), (1, "火灾", text.split()[1])]


# ── any text, any reply ──────────────────────────────────────────────────────────────────────────────────────

WORDS = st.lists(st.sampled_from(["the", "mill", "burnt", "\n\n", "# A\n", "...", "第", "(", "."]), max_size=40).map(
    " ".join
)
PARTS = st.lists(
    st.tuples(st.sampled_from(["abstract", "section", "sub-section"]), WORDS, st.lists(WORDS, max_size=3)), max_size=6
)


@settings(max_examples=60)
@given(text=WORDS.filter(bool), reply=st.lists(PARTS, min_size=1, max_size=3), size=st.integers(1, 50))
def test_any_reply_leaves_each_character_in_one_leaf(text: str, reply: list[Any], size: int) -> None:
    built(text, *reply, *([[]] * 50), size=size, window=900)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(1, 6)), max_size=12).map(sorted),
    st.integers(1, 30),
    st.sets(st.integers(0, 20)),
)
def test_leaves_are_the_evidence(starts: list[tuple[int, int]], size: int, echoes: set[int]) -> None:
    text = "x" * 100
    headings = [Heading(0, 1, ""), *(Heading(start, level, "t") for start, level in starts)]
    of_document = [replace(item, echo=item.index in echoes) for item in segments(text, size)]
    leaves = list_leaves(make_sections("n", "d", headings, length=100), of_document)

    evidence = [place for item in of_document if not item.echo for place in range(item.start, item.end)]
    assert [place for leaf in leaves for place in range(leaf.start, leaf.end)] == evidence


def test_layers_that_see_gaps_keep_the_places() -> None:
    first, _, third = segments("abc" * 40, 40)

    assert join_segments([first, third]) == "abc" * 13 + "a" + "\n" * 40 + third.text


@table(
    ("useless", "items"),
    [
        (True, [("A", "It rained."), ("A", "We stayed."), ("A", "Then it stopped.")]),
        (True, [("A", "No."), ("B", "Nor this."), ("C", "Nor that.")]),
        (True, [("A", "Then it stopped."), ("B", "It rained."), ("C", "It rained."), ("D", "It rained.")]),
        (False, [("A", "It rained."), ("B", "made up"), ("C", "Then it stopped.")]),
        (False, [("A", "No."), ("B", "No.")]),
    ],
)
def test_a_useless_reply_is_stopped(useless: bool, items: list[tuple[str, str]]) -> None:
    said = json.dumps({"parts": [["section", title, [paragraph]] for title, paragraph in items]})

    assert is_useless_from_here(Prompt("", ("It rained.", "We stayed. Then it stopped.")), said[:-2]) is useless


def test_paragraphs_are_looked_for_behind_one_another() -> None:
    text = "A fox ran. A fox ran. A fox ran."
    said, _ = parts(json.dumps({"parts": [["section", str(number), ["A fox ran."]] for number in range(4)]}))
    headings, notes = find_headings(said, text, 0, len(text))

    assert [heading.start for heading in headings] == [0, 11, 22]
    assert notes == {"paragraph of an outline that is not in the text": 1, "section that is not in the text": 1}
