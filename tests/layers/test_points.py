"""Test information points: how faulty output is treated, and that weights and levels are those of the paper."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import SplitDocument
from memgraph_rag.errors import SettingsError
from memgraph_rag.layers.points import PointsLayer, bullets, edge_weights, is_useless_from_here
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeModels, FakeRecognizer
from memgraph_rag.types import Generation, LayerRows, Prompt, Segment, Usage, make_id

NAMESPACE = "tests"


def segments(document_id: str, count: int, *, words: int = 60) -> list[Segment]:
    """Segments whose words differ from one to the next."""
    made, start = [], 0
    for index in range(count):
        text = " ".join(f"s{index}w{word}" for word in range(words)) + ". "
        tokens = FakeLanguageModel().count_tokens([text])[0]
        made.append(
            Segment(
                make_id(NAMESPACE, "segment", document_id, index),
                document_id,
                index,
                text,
                start,
                start + len(text),
                tokens,
            )
        )
        start += len(text)
    return made


def build(
    layer: PointsLayer, model: FakeLanguageModel, *documents: tuple[str, Sequence[Segment]], progress=None
) -> list[LayerRows]:
    models = FakeModels(model, FakeEmbedder(), FakeRecognizer())
    split = [SplitDocument(document_id, "", tuple(of_document)) for document_id, of_document in documents]
    return layer.build(split, namespace=NAMESPACE, models=models, progress=progress)


def said(text: str, *, complete: bool = True) -> list[str]:
    return [text[start:end] for start, end in bullets(text, complete=complete)[0]]


def assert_sound(rows: LayerRows, below: Sequence[Segment]) -> None:
    """Check that each point's edges have weights that sum to 1, and all lead to the level directly below it."""
    level = {node.id: 0 for node in below} | {point.id: point.level for point in rows.points}
    weights = defaultdict(list)
    for edge in rows.summarizes:
        assert edge.weight > 0
        assert level[edge.source_id] == level[edge.target_id] + 1
        weights[edge.source_id].append(edge.weight)
    assert set(weights) == {point.id for point in rows.points}
    assert [sum(of_point) for of_point in weights.values()] == pytest.approx([1.0] * len(weights))
    assert all(point.text.strip() and point.tokens > 0 for point in rows.points)
    places = Counter(point.level for point in rows.points)
    assert [(point.level, point.index) for point in rows.points] == [
        (at, index) for at in sorted(places) for index in range(places[at])
    ]


# ── bullets ──────────────────────────────────────────────────────────────────────────────────────────────────


@table(
    ("text", "points", "notes"),
    [
        ("* Tom ran.\n* Ann sat.\n", ["Tom ran.", "Ann sat."], {}),
        ("* Tom ran.\n* Ann sat.", ["Tom ran.", "Ann sat."], {}),
        ("Tom ran.\nAnn sat.\n", ["Tom ran.", "Ann sat."], {"no bullet": 1}),
        ("1. Tom ran.\n2. Ann sat.\n10) It rained.", ["Tom ran.", "Ann sat.", "It rained."], {}),
        ("Sure! Here it is:\n\n* Tom ran.\n", ["Tom ran."], {"preamble": 1}),
        ("* Tom ran.\nI hope this helps.", ["Tom ran."], {"line outside the list": 1}),
        ("* \n*\n* ...\n* Tom ran.", ["Tom ran."], {"empty point": 3}),
        ("* Tom ran.\n* TOM  ran.\n- Tom ran.", ["Tom ran."], {"repeated point": 2}),
        ("* **Tom** ran.\n* **Ann sat.**\n", ["Tom** ran.", "Ann sat."], {}),
        ("**Tom ran.**\n", ["Tom ran."], {"no bullet": 1}),
        ("* Tom ran.\r\n*\r\n* Ann sat.\r\n", ["Tom ran.", "Ann sat."], {"empty point": 1}),
        ("• Tom ran.\n•Ann sat.\n● It rained.\n– He left.", ["Tom ran.", "Ann sat.", "It rained.", "He left."], {}),
        ("  - Tom ran.\n\t* Ann sat.\n+ He left.", ["Tom ran.", "Ann sat.", "He left."], {}),
        ("* 1.5 million saw it.\n* -3 degrees.", ["1.5 million saw it.", "-3 degrees."], {}),
        ("* x * y is a product.", ["x * y is a product."], {}),
        ("* 狐狸跑了。\n* الثعلب هرب.", ["狐狸跑了。", "الثعلب هرب."], {}),
        ("", [], {}),
        (" \n\t\n", [], {}),
        ("***\n---", [], {"no bullet": 1, "empty point": 2}),
    ],
)
def test_points_are_parsed_from_any_output(text: str, points: list[str], notes: dict[str, int]) -> None:
    assert said(text) == points
    assert bullets(text, complete=True)[1] == notes


@table(
    ("text", "points", "notes"),
    [
        ("* Tom ran.\n* Ann s", ["Tom ran."], {"cut off": 1}),
        ("* Tom ran.\n* Ann sat.\n", ["Tom ran.", "Ann sat."], {}),
        ("* Tom ran.\n  ", ["Tom ran."], {}),
        ("* Tom r", [], {"cut off": 1}),
        ("* Tom ran.\n*", ["Tom ran."], {"cut off": 1}),
    ],
)
def test_incomplete_last_line_is_left_out(text: str, points: list[str], notes: dict[str, int]) -> None:
    assert said(text, complete=False) == points
    assert bullets(text, complete=False)[1] == notes


def test_a_huge_output_is_read_whole() -> None:
    text = "".join(f"* Point {number}.\n" for number in range(20_000))
    assert len(said(text)) == 20_000


@given(st.text(alphabet=st.sampled_from("ab*•-1.) \n\r\t\u2028é🙂\0"), max_size=60), st.booleans())
def test_every_line_is_a_point_or_counted(text: str, complete: bool) -> None:
    spans, notes = bullets(text, complete=complete)
    lines = [line for line in text.split("\n") if line.strip()]
    assert len(spans) + notes.total() - notes["no bullet"] == len(lines)
    previous = 0
    for start, end in spans:
        assert previous <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert "\n" not in text[start:end]
        previous = end


PROMPT = Prompt("", ("One input.", "Another."))


def test_writing_is_stopped_at_the_third_repetition() -> None:
    assert not is_useless_from_here(PROMPT, "* Tom ran.\n* Ann sat.\n* Tom ran.\n* Tom ran.\n")
    assert is_useless_from_here(PROMPT, "* Tom ran.\n* Ann sat.\n* Tom ran.\n* Ann sat.\n* Tom ran.\n")
    many = [f"* Point {number}.\n" for number in range(200)]
    assert not is_useless_from_here(PROMPT, "".join(many)), "a large batch has many points"


def test_a_loop_that_changes_one_word_is_a_repetition_from_its_third_turn() -> None:
    places = ["place", "country", "city", "house", "room"]
    text = "".join(f"* Alice is surprised to find herself in a new {place}.\n" for place in places)
    spans, notes = bullets(text, complete=True)
    assert [text[start:end].split()[-1] for start, end in spans] == ["place.", "country."]
    assert notes == {"repeated point": 3}
    assert is_useless_from_here(PROMPT, text)


def test_copied_list_is_stopped() -> None:
    inputs = tuple(f"Person {number} went home by way {number}." for number in range(9))
    copied = "".join(f"* {line}\n" for line in inputs)
    assert is_useless_from_here(Prompt("", inputs), copied)
    assert not is_useless_from_here(Prompt("", inputs), copied[: copied.index("4")])
    assert not is_useless_from_here(Prompt("", inputs), f"* All went home.\n{copied}")


def test_a_level_of_copies_is_dropped_and_counted() -> None:
    class Copyist(FakeLanguageModel):
        """Summarises segments, and copies points."""

        def generate(self, prompts, **options):
            copies = ["\n".join(f"* {line}" for line in prompt.inputs) for prompt in prompts]
            is_upper = all(len(line.split()) < 40 for line in prompts[0].inputs)
            return (FakeLanguageModel(copies) if is_upper else FakeLanguageModel()).generate(prompts, **options)

    below = segments("d", 30)
    (rows,) = build(PointsLayer(batch_tokens=640), Copyist(), ("d", below))
    assert {point.level for point in rows.points} == {1}
    assert rows.notes["level of copies"] == 1
    assert_sound(rows, below)


def test_similar_short_points_are_no_loop() -> None:
    text = "".join(f"* {name} went home.\n" for name in ("Ann", "Bob", "Cid", "Dan"))
    assert len(bullets(text, complete=True)[0]) == 4


# ── edge weights ─────────────────────────────────────────────────────────────────────────────────────────────


def plain_weights(generation: Generation, start: int, end: int) -> list[float]:
    """Follow PECAN, section 3.1, and decision 2, word for word."""
    rows = [
        row
        for row, (first, last) in zip(generation.attention.tolist(), generation.offsets.tolist(), strict=True)
        if any(start <= character < end for character in range(first, last))
    ]
    inputs = range(len(rows[0]))
    mean = [sum(row[j] for row in rows) / len(rows) for j in inputs]
    return [value / sum(mean) for value in mean]


def generation_of(lengths: Sequence[int], attention: Sequence[Sequence[float]]) -> Generation:
    """One written token for each length, in a text of one letter."""
    ends = np.cumsum(lengths)
    offsets = np.stack([ends - lengths, ends], axis=1).astype(np.int64)
    return Generation("x" * int(ends[-1]), offsets, np.array(attention, np.float32), "end", Usage())


@st.composite
def written(draw: st.DrawFn) -> tuple[Generation, int, int]:
    count, inputs = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    lengths = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    row = st.lists(st.integers(1, 7), min_size=inputs, max_size=inputs)
    generation = generation_of(lengths, draw(st.lists(row, min_size=count, max_size=count)))
    start = draw(st.integers(0, len(generation.text) - 1))
    return generation, start, draw(st.integers(start + 1, len(generation.text)))


@given(written())
def test_edge_weights_are_those_of_the_plain_reference(case: tuple[Generation, int, int]) -> None:
    generation, start, end = case
    weights = edge_weights(generation, start, end)
    assert weights.tolist() == pytest.approx(plain_weights(generation, start, end))
    assert weights.sum() == pytest.approx(1.0)


def test_edge_weight_counts_tokens_of_the_point_only() -> None:
    # "* ", "ab", "\n" before "c" stand outside the point "ab"
    generation = generation_of([2, 1, 1, 1, 1], [[9, 1], [1, 3], [3, 5], [9, 1], [9, 1]])
    assert edge_weights(generation, 2, 4).tolist() == pytest.approx([4 / 12, 8 / 12])


# ── levels ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_batch_makes_one_level() -> None:
    below = segments("d", 5)
    (rows,) = build(PointsLayer(batch_tokens=2048), FakeLanguageModel(), ("d", below))
    assert [point.level for point in rows.points] == [1, 1, 1]
    assert_sound(rows, below)
    assert rows.usage.model_calls == 1
    assert not rows.notes


def test_point_has_edges_to_its_inputs() -> None:
    below = segments("d", 5)
    (rows,) = build(PointsLayer(batch_tokens=2048), FakeLanguageModel(), ("d", below))
    heaviest = defaultdict(dict)
    for edge in rows.summarizes:
        heaviest[edge.source_id][edge.target_id] = edge.weight
    for point in rows.points:
        copied = {node.id for node in below if node.text.split()[0] in point.text}
        weights = heaviest[point.id]
        assert set(sorted(weights, key=weights.get)[-len(copied) :]) == copied


def test_several_batches_make_an_upper_level() -> None:
    below = segments("d", 12)
    (rows,) = build(PointsLayer(batch_tokens=768), FakeLanguageModel(), ("d", below))
    levels = Counter(point.level for point in rows.points)
    assert set(levels) == {1, 2}
    assert levels[2] < levels[1] < len(below)
    assert_sound(rows, below)
    summarized = {edge.target_id for edge in rows.summarizes}
    assert {node.id for node in below} <= summarized, "every segment is below some point"
    assert rows.usage.model_calls > 2


def test_level_that_does_not_shrink_ends_the_graph() -> None:
    below = segments("d", 4, words=130)  # one fills a batch

    def levels(words: int) -> set[int]:
        replies = [f"* {' '.join(f's{batch}w{word}' for word in range(words))}\n" for batch in range(4)]
        (rows,) = build(PointsLayer(batch_tokens=512), FakeLanguageModel(replies), ("d", below))
        assert_sound(rows, below)
        assert len([point for point in rows.points if point.level == 1]) == 4
        return {point.level for point in rows.points}

    assert levels(110) == {1}, "110 of 131 tokens are above 0.8"
    assert levels(100) > {1}


def test_single_point_ends_the_graph() -> None:
    below = segments("d", 8)
    (rows,) = build(PointsLayer(batch_tokens=512), FakeLanguageModel(["* Tom ran.\n", *[""] * 20]), ("d", below))
    assert [(point.level, point.text) for point in rows.points] == [(1, "Tom ran.")]
    assert rows.notes["batch without a point"] >= 1
    assert_sound(rows, below)


def test_the_graph_never_grows_higher_than_allowed() -> None:
    below = segments("d", 40)
    heights = []
    for most in (1, 2, 8):
        (rows,) = build(PointsLayer(batch_tokens=512, most_levels=most), FakeLanguageModel(), ("d", below))
        assert_sound(rows, below)
        heights.append(max(point.level for point in rows.points))
    assert heights[:2] == [1, 2]
    assert 2 < heights[2] <= 8


@table("attends", [True, False])
def test_tree_gives_each_node_one_parent(attends: bool) -> None:
    below = segments("d", 24)
    replies = [f"Here it is:\n\nTom ran to {place}. Ann sat there.\nHe left." for place in range(40)]
    (rows,) = build(
        PointsLayer(batch_tokens=512, parents="one"), FakeLanguageModel(replies, attends=attends), ("d", below)
    )
    assert_sound(rows, below)
    assert rows.points[0].text == "Tom ran to 0. Ann sat there. He left."
    assert len(rows.points) == rows.usage.model_calls, "each batch is one summary"
    top = max(point.level for point in rows.points)
    assert top > 1
    children = [*below, *(point for point in rows.points if point.level < top)]
    assert Counter(edge.target_id for edge in rows.summarizes) == Counter(node.id for node in children)


def test_unusable_summary_leaves_its_batch_without_parent() -> None:
    below = segments("d", 4)
    replies = ["Tom ran.", *["\n"] * 5]
    (rows,) = build(PointsLayer(batch_tokens=512, parents="one"), FakeLanguageModel(replies), ("d", below))
    assert [point.text for point in rows.points] == ["Tom ran."]
    assert rows.notes["batch without a point"] == rows.usage.model_calls - 1 > 0
    assert_sound(rows, below)


def test_other_number_of_parents_is_refused() -> None:
    with pytest.raises(SettingsError, match="Expected parents"):
        PointsLayer(parents="two")  # type: ignore[arg-type]


@table("count", [0, 1])
def test_single_segment_gets_no_points(count: int) -> None:
    assert build(PointsLayer(), FakeLanguageModel(), ("d", segments("d", count))) == [LayerRows()]


def test_no_documents_make_no_rows() -> None:
    assert build(PointsLayer(), FakeLanguageModel()) == []


def test_several_documents_at_once_equal_each_alone() -> None:
    documents = [(f"d{count}", segments(f"d{count}", count)) for count in (3, 1, 14, 0, 30)]
    layer = PointsLayer(batch_tokens=640)
    together = build(layer, FakeLanguageModel(), *documents)
    alone = [build(layer, FakeLanguageModel(), document)[0] for document in documents]
    assert together == alone
    ids = [point.id for rows in together for point in rows.points]
    assert len(ids) == len(set(ids)) > 10


def test_batches_keep_to_the_models_own_window() -> None:
    below = segments("d", 40)
    small = FakeLanguageModel(window=640)
    (rows,) = build(PointsLayer(batch_tokens=8192), small, ("d", below))
    assert_sound(rows, below)
    assert rows.usage.model_calls > 8


def test_progress_reports_level_and_batches() -> None:
    reports: list[tuple[str, int, int]] = []
    build(
        PointsLayer(batch_tokens=768),
        FakeLanguageModel(),
        ("d", segments("d", 12)),
        progress=lambda *what: reports.append(what),
    )
    first = [(done, total) for what, done, total in reports if what == "summarising, level 1"]
    assert first == [(done, len(first)) for done in range(1, len(first) + 1)]
    assert reports[-1] == ("summarising, level 2", 1, 1)


# ── odd output ───────────────────────────────────────────────────────────────────────────────────────────────

ODD = {
    "no bullet": "Tom ran home.\nAnn sat down.\n",
    "preamble": "Sure, here are the points:\n* Tom ran home.\n* Ann sat down.\n",
    "line outside the list": "* Tom ran home.\n* Ann sat down.\nThese are the points.",
    "empty point": "* Tom ran home.\n* \n* Ann sat down.",
    "repeated point": "* Tom ran home.\n* Ann sat down.\n" + "* Ann sat down.\n" * 500,
    "cut off": "* Tom ran home.\n* Ann sat down.\n* " + "and so on " * 2_000,
}


@table("kind", ODD)
def test_odd_output_is_counted_and_whole_points_are_kept(kind: str) -> None:
    below = segments("d", 3)
    (rows,) = build(PointsLayer(batch_tokens=1024), FakeLanguageModel([ODD[kind]]), ("d", below))
    assert [point.text for point in rows.points] == ["Tom ran home.", "Ann sat down."]
    assert rows.notes == {kind: 3 if kind == "repeated point" else 1}
    assert_sound(rows, below)


@table("reply", ["", "\n\n", "* \n* \n", "!!!", "* " + "x" * 100_000])
def test_output_without_a_point_is_counted(reply: str) -> None:
    (rows,) = build(PointsLayer(batch_tokens=1024), FakeLanguageModel([reply]), ("d", segments("d", 3)))
    assert (rows.points, rows.summarizes) == ((), ())
    assert rows.notes["batch without a point"] == 1
    assert rows.usage.model_calls == 1


def test_markdown_bold_is_taken_out_of_the_text_of_a_point() -> None:
    reply = "* **Tom**: he ran.\n* Ann **sat** down.\n* The area is x**2.\n"
    (rows,) = build(PointsLayer(), FakeLanguageModel([reply]), ("d", segments("d", 3)))
    assert [point.text for point in rows.points] == ["Tom: he ran.", "Ann sat down.", "The area is x**2."]


@given(st.lists(st.text(max_size=80) | st.text(alphabet="ab*- \n\r1.", max_size=80), min_size=1, max_size=12))
def test_arbitrary_output_never_raises_and_leaves_a_sound_graph(replies: list[str]) -> None:
    below = segments("d", 12)
    (rows,) = build(PointsLayer(batch_tokens=768), FakeLanguageModel(replies), ("d", below))
    level = {node.id: 0 for node in below} | {point.id: point.level for point in rows.points}
    weights: dict[str, float] = defaultdict(float)
    for edge in rows.summarizes:
        assert level[edge.source_id] == level[edge.target_id] + 1
        weights[edge.source_id] += edge.weight
    assert weights == pytest.approx({point.id: 1.0 for point in rows.points})
    assert all(point.text.strip() for point in rows.points)


def test_without_attention_edges_are_weighted_by_cosine() -> None:
    below = segments("d", 3)
    reply = f"* {' '.join(below[1].text.split()[:9])} s2w0.\n* Nothing of it.\n"
    (rows,) = build(PointsLayer(), FakeLanguageModel([reply], attends=False), ("d", below))
    weights: dict[str, list[float]] = defaultdict(list)
    for edge in rows.summarizes:
        weights[edge.source_id].append(edge.weight)
    near, nothing = (weights[point.id] for point in rows.points)
    assert max(near) > 0.4
    assert sum(near) == pytest.approx(1.0)
    assert sum(nothing) == pytest.approx(1.0)
    assert [edge.target_id for edge in rows.summarizes if edge.weight == max(near)] == [below[1].id]
    assert rows.notes == {"weights by similarity": 2}


def test_attention_weighs_points_without_vectors() -> None:
    (rows,) = build(PointsLayer(), FakeLanguageModel(["* s0w1 s1w1 ran."]), ("d", segments("d", 3)))
    assert "weights by similarity" not in rows.notes
