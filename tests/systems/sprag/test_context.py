"""The context layer: titles that are known, sentences that a model writes, and segments under their sections."""

from __future__ import annotations

from dataclasses import replace

from memories import WithoutLanguage
from tables import table

from memgraph_rag.contracts import LanguageModel, SplitDocument
from memgraph_rag.systems.sprag.context import ContextLayer, Part, list_parts
from memgraph_rag.testing import FakeLanguageModel, FakeModels
from memgraph_rag.types import Annotation, Heading, LayerRows, Segment, make_sections

PAPER = (
    "It begins without a heading.\n\n# Methods\n\nWe asked foxes.\n\n## Data\n\nThere were nine foxes.\n\n"
    "Results\n-------\n\n```\n# no heading\n```\n\nAll of them slept.\n"
)


def document(*texts: str, title: str = "", speaker: str = "") -> SplitDocument:
    """A document of these segments, one behind the other."""
    segments: list[Segment] = []
    start = 0
    for index, text in enumerate(texts):
        segments.append(Segment(f"s{index}", "d", index, text, start, start + len(text), len(text), speaker))
        start += len(text)
    return SplitDocument("d", title, tuple(segments))


def built(layer: ContextLayer, item: SplitDocument, language: LanguageModel | None = None) -> LayerRows:
    models = WithoutLanguage() if language is None else FakeModels(language)
    (rows,) = layer.build([item], namespace="n", models=models)
    return rows


def texts_of(rows: LayerRows) -> list[tuple[str, tuple[str, ...]]]:
    return [(item.text, item.segment_ids) for item in rows.annotations]


def test_headings_make_sections_under_all_titles_above_them() -> None:
    parts = list_parts(document(PAPER))
    assert [part.titles for part in parts] == [("Methods",), ("Methods", "Data"), ("Methods", "Results")]
    assert [PAPER[part.start : part.end].split()[0] for part in parts] == ["#", "##", "Results"]
    assert [part.end for part in parts] == [*(part.start for part in parts[1:]), len(PAPER)]
    assert list_parts(document("# Not mine", speaker="Ann")) == list_parts(document()) == []
    assert list_parts(document("# \n\n#No heading\n\n    # Code\n")) == []


def test_without_a_model_a_header_says_what_is_known() -> None:
    methods, results = PAPER.index("# Methods"), PAPER.index("Results")
    texts = PAPER[:methods], PAPER[methods:results], PAPER[results:]
    rows = built(ContextLayer(), document(*texts, title="Foxes"))
    assert texts_of(rows) == [("Foxes", ()), ("Methods › Data", ("s1",)), ("Methods › Results", ("s2",))]
    assert rows.annotations[0].properties == {"title": "Foxes", "summary": ""}
    assert rows.notes == {"no language model to say what it is about": 1}
    assert not rows.usage.model_calls


def test_a_segment_stands_under_the_section_that_holds_most_of_it() -> None:
    item = document("0123456", "789", "01234", "567890123456789")
    headings = [Heading(4, 1, "A"), Heading(10, 1, "B"), Heading(17, 1, "C")]
    rows = built(ContextLayer(), replace(item, sections=make_sections("n", item.id, headings, length=30)))
    # s0 stands before all sections with more than half of it; s1 is A's, s2 B's, s3 C's.
    assert texts_of(rows) == [("A", ("s1",)), ("B", ("s2",)), ("C", ("s3",))]


def test_unknown_document_has_no_header() -> None:
    assert built(ContextLayer(), document("It rained.")).annotations == ()
    assert built(ContextLayer(), document()).annotations == ()


def test_a_model_says_what_document_and_sections_are_about() -> None:
    methods, results = PAPER.index("# Methods"), PAPER.index("Results")
    replies = ['"Nine Foxes"\nand more', "This document is about: foxes.", "", "x" * 999]
    item = document(PAPER[:methods], PAPER[methods:results], PAPER[results:])
    rows = built(ContextLayer(), item, FakeLanguageModel(replies))
    first, data, slept = rows.annotations
    assert (first.text, first.kind) == ("Nine Foxes\nThis document is about: foxes.", "document")
    assert (data.text, data.kind) == ("Methods › Data", "section")
    assert slept.text == f"Methods › Results\n{'x' * 300}"
    assert rows.notes == {"nothing in what the model wrote": 1}
    assert rows.usage.model_calls == 4


def test_sections_may_go_without_their_sentence() -> None:
    replies = ["This document is about: foxes."]
    rows = built(ContextLayer(summarizes_sections=False), document(PAPER, title="Foxes"), FakeLanguageModel(replies))
    assert rows.annotations[0].text == "Foxes\nThis document is about: foxes."
    assert [item.properties["summary"] for item in rows.annotations[1:]] == [""] * (len(rows.annotations) - 1)


@table(
    "texts",
    [
        ("word " * 300,) * 67,
        ("Nine foxes slept.\n\n",) * 3_000,
        ("红狐狸睡在旧谷仓里。",),
        ("# " * 5_000,),
        ("\n" * 900,),
    ],
)
def test_document_of_any_shape_gets_at_most_one_header(texts: tuple[str, ...]) -> None:
    for language in (None, FakeLanguageModel([""] * 9), FakeLanguageModel(["Foxes."] * 9)):
        rows = built(ContextLayer(), document(*texts), language)
        assert all(isinstance(item, Annotation) and item.text.strip() for item in rows.annotations)
        assert len(rows.annotations) <= 2


def test_sections_of_an_outline_are_taken_before_headings() -> None:
    item = document("# Written\n\nOne. ", "Two. ", "Three. ")
    headings = [Heading(0, 1, "Low water"), Heading(item.segments[1].start, 2, "Repairs")]
    sections = make_sections("n", item.id, headings, length=item.segments[-1].end)
    first, second = item.segments[0], item.segments[1]
    assert list_parts(replace(item, sections=sections)) == [
        Part(0, first.end, ("Low water",)),
        Part(second.start, item.segments[-1].end, ("Low water", "Repairs")),
    ]
