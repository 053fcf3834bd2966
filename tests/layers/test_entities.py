"""Test entities: the places of mentions, and which texts name which entity."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import Named, SplitDocument
from memgraph_rag.layers.entities import EntitiesLayer
from memgraph_rag.models.recognizers import find_recognizer
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeModels, FakeRecognizer
from memgraph_rag.types import LayerRows, Segment, make_id

NAMESPACE = "tests"


def document(key: str, *texts: str, title: str = "", speakers: Sequence[str] = ()) -> SplitDocument:
    made, start = [], 0
    for index, text in enumerate(texts):
        made.append(
            Segment(
                make_id(NAMESPACE, "segment", key, index),
                key,
                index,
                text,
                start,
                start + len(text),
                len(text.split()),
                speaker=speakers[index] if speakers else "",
            )
        )
        start += len(text)
    return SplitDocument(key, title, tuple(made))


def build(*documents: SplitDocument, recognizer=None, layer: EntitiesLayer | None = None, progress=None):
    models = FakeModels(FakeLanguageModel(), FakeEmbedder(), recognizer or FakeRecognizer())
    return (layer or EntitiesLayer()).build(documents, namespace=NAMESPACE, models=models, progress=progress)


def told(rows: LayerRows) -> list[tuple[str, str, str]]:
    return [(mention.kind, mention.normal, mention.surface) for mention in rows.mentions]


def of_kind(kind: str, text: str, **more) -> list[str]:
    (rows,) = build(document("d", text, **more))
    return [mention.surface for mention in rows.mentions if mention.kind == kind]


def assert_sound(rows: LayerRows, of: SplitDocument) -> None:
    """Check that every mention is at its place, within its segment, in order, once, with the id of its name."""
    text = "".join(segment.text for segment in of.segments)
    order = {segment.id: segment for segment in of.segments}
    places = []
    for mention in rows.mentions:
        segment = order[mention.segment_id]
        assert segment.start <= mention.start < mention.end <= segment.end
        assert text[mention.start : mention.end] == mention.surface
        assert mention.entity_id == make_id(NAMESPACE, "entity", mention.normal)
        places.append((segment.index, mention.start, mention.end, mention.kind))
    assert places == sorted(set(places))
    assert all(title.entity_id == make_id(NAMESPACE, "entity", title.normal) for title in rows.titles)
    assert all(rows.notes.values())


# ── mentions ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_offsets_are_the_documents() -> None:
    of = document("d", "A fox met Ann Lee.\n", "The Ann Lee’s fox saw", " Oslo.")
    (rows,) = build(of)
    assert_sound(rows, of)
    assert told(rows) == [
        ("NAME", "ann lee", "Ann Lee"),
        ("NAME", "ann lee", "Ann Lee’s"),
        ("NAME", "oslo", "Oslo"),
    ]
    assert [(mention.start, mention.end) for mention in rows.mentions] == [(10, 17), (23, 32), (41, 45)]
    assert len({mention.entity_id for mention in rows.mentions}) == 2


def test_all_segments_of_all_documents_are_read_in_one_batch() -> None:
    class Counting(FakeRecognizer):
        calls = 0

        def recognize(self, texts):
            self.calls += 1
            return super().recognize(texts)

    counting = Counting()
    texts = ["they saw Ann here. ", "they saw Bob here. ", "they saw Cid here. "]
    documents = [document(f"d{count}", *texts[:count]) for count in (3, 0, 1)]
    together = build(*documents, recognizer=counting)
    assert counting.calls == 1
    assert [len(rows.mentions) for rows in together] == [3, 0, 1]
    assert together == [build(of)[0] for of in documents]
    for rows, of in zip(together, documents, strict=True):
        assert_sound(rows, of)


def test_each_kind_at_a_place_is_one_mention() -> None:
    class Twice:
        name = "twice"

        def recognize(self, texts):
            return [[Named(0, 3, "PERSON"), Named(0, 3, "ORG"), Named(0, 3, "ORG")] for _ in texts]

    (rows,) = build(document("d", "Ann ran."), recognizer=Twice())
    assert told(rows) == [("ORG", "ann", "Ann"), ("PERSON", "ann", "Ann")]


def test_unusable_name_is_counted() -> None:
    class Odd:
        name = "odd"

        def recognize(self, texts):
            return [[Named(0, 4, "DATE"), Named(5, 8, "NAME"), Named(9, len(text), "NAME")] for text in texts]

    (rows,) = build(document("d", "1999 ... " + "word " * 100), recognizer=Odd())
    assert rows.mentions == ()
    assert rows.notes == {"name without a letter": 2, "name too long": 1}


def test_mentions_of_a_segment_are_limited_and_counted() -> None:
    of = document("d", " ".join(f"Ann{index}," for index in range(300)), "Bob ran.")
    (rows,) = build(of)
    assert_sound(rows, of)
    assert [mention.surface for mention in rows.mentions] == [f"Ann{index}" for index in range(256)] + ["Bob"]
    assert rows.notes == {"mention beyond the limit": 44}


def test_progress_counts_segments() -> None:
    steps = []
    build(document("d", "Ann ran.", "Bob ran."), progress=lambda *step: steps.append(step))
    build(progress=lambda *step: steps.append(step))
    assert steps == [("finding names", 0, 2), ("finding names", 2, 2)]


# ── titles ───────────────────────────────────────────────────────────────────────────────────────────────────


@table(
    ("title", "normals"),
    [
        ("Tenderness (film)", ["tenderness (film)", "tenderness"]),
        ("  The Hobbit ", ["hobbit"]),
        ("(film)", ["film"]),
        ("1917 (film)", ["1917 (film)"]),
        ("1917", []),
        ("", []),
        ("x" * 5_000 + " (film)", []),
        ("(" * 100_000, []),
    ],
)
def test_title_names_entity_with_and_without_parenthesis(title: str, normals: list[str]) -> None:
    (rows,) = build(document("d", "x", title=title))
    assert [row.normal for row in rows.titles] == normals
    assert all(row.surface in title for row in rows.titles)


def test_a_title_and_a_mention_of_one_name_are_one_entity() -> None:
    rows, other = build(document("a", "x", title="Ann Lee"), document("b", "we met Ann Lee’s"))
    assert rows.titles[0].entity_id == other.mentions[0].entity_id


# ── headings ─────────────────────────────────────────────────────────────────────────────────────────────────


@table(
    ("text", "headings"),
    [
        ("# The film\nIt is long.\n## 2.1 Cast ##\n", []),
        ("#hashtag and #1\n    # code\n####### seven\n#\n# \n", []),
        ("My title\n========\n\nNext title\n---\ntext", ["My title", "Next title"]),
        ("the end of a paragraph.\nlast line\n---\n", []),
        ("a | b\n--- | ---\n", []),
        ("CHAPTER I. Down the Rabbit-Hole\n\nAlice was tired.", ["Down the Rabbit-Hole"]),
        ("Chapter 12: The Pool\n", ["The Pool"]),
        ("CHAPTER II.\nThe Pool of Tears\n\nShe swam.", ["The Pool of Tears"]),
        ("CHAPTER II\n\nThe Pool of Tears\n\nShe swam.", ["The Pool of Tears"]),
        ("CHAPTER III\n\nIt was a dark night.\n\nShe swam.", []),
        ("CHAPTER III\n\nIt was a dark\nnight.", []),
        ("in\nchapter 3 we see\npart of it\nsection 2 says so", []),
        ("", []),
    ],
)
def test_chapters_are_mentions_and_headings_of_markdown_are_not(text: str, headings: list[str]) -> None:
    assert of_kind("heading", text) == headings


# ── speakers ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_speaker_is_mentioned_if_text_holds_the_name() -> None:
    of = document(
        "d",
        "Caroline (2023-05-08T13:56): Hey Melanie!\n\n",
        "user: I am Caroline.\n\n",
        "and so on",
        "Carolines: x",
        speakers=("Caroline", "user", "Caroline", "Caroline"),
    )
    (rows,) = build(of, recognizer=FakeRecognizer({"Melanie": "PERSON"}))
    assert_sound(rows, of)
    assert told(rows) == [("speaker", "caroline", "Caroline"), ("PERSON", "melanie", "Melanie")]


@table("speaker", ["a.b", "Ann (she)", "[x]", "東京", "\\d", "🙂"])
def test_speaker_is_found_by_any_name(speaker: str) -> None:
    of = document("d", f"{speaker}: hello", speakers=(speaker,))
    (rows,) = build(of, recognizer=FakeRecognizer({"nobody": "PERSON"}))
    assert [mention.surface for mention in rows.mentions] == ([] if speaker == "🙂" else [speaker])


# ── odd input ────────────────────────────────────────────────────────────────────────────────────────────────

LINES = st.lists(
    st.sampled_from(
        ["# ", "Ann", " ", "\n", "\r\n", "===", "---", "CHAPTER I", ".", "Oslo’s", "1.2 ", "#", "\ud800", "の"]
    )
    | st.text(max_size=8),
    max_size=30,
).map("".join)


@given(st.lists(LINES.filter(bool), max_size=4), st.text(max_size=20), st.text(max_size=5))
def test_arbitrary_text_never_raises_and_gives_sound_rows(texts: list[str], title: str, speaker: str) -> None:
    of = document("d", *texts, title=title, speakers=[speaker] * len(texts))
    for recognizer in (FakeRecognizer(), find_recognizer("rules")):
        (rows,) = build(of, recognizer=recognizer)
        assert_sound(rows, of)
        assert build(of, recognizer=recognizer) == [rows]


@table("unit", ["# ", "\n", "CHAPTER I\n", "a\n---\n", "(", " ", "\n \n", "# #", "#", "- ", "A"])
def test_hostile_segments_have_few_mentions(unit: str) -> None:
    of = document("d", unit * 50_000, speakers=["A"])
    (rows,) = build(of, recognizer=FakeRecognizer({"nobody": "PERSON"}))
    assert len(rows.mentions) <= 256


def test_a_passage_with_the_recognizer_of_this_machine() -> None:
    of = document(
        "d",
        "# Tenderness\n\nTenderness is a 2009 film directed by John Polson, with Russell Crowe.\n",
        title="Tenderness (film)",
    )
    (rows,) = build(of, recognizer=find_recognizer("auto"))
    assert_sound(rows, of)
    assert {"john polson", "russell crowe"} <= {mention.normal for mention in rows.mentions}
    assert "2009" not in {mention.normal for mention in rows.mentions}


def test_names_hold_no_markup_and_no_address() -> None:
    text = (
        "# `GZip` Class { #gzip }\n\nAsk **Ann Lee** or to [Tom](https://tom.example/Tom), at <b>Acme</b> about"
        " `GZipMiddleware` at https://Acme.example/Ann.\n\n```python\nTom.run_fast()\n```\n"
    )
    (rows,) = build(document("d", text), recognizer=find_recognizer("rules"))
    names = {mention.normal for mention in rows.mentions}
    assert {"ann lee", "tom", "acme", "gzipmiddleware", "gzip", "run_fast"} <= names
    assert not any(mark in name for name in names for mark in "`*{}[]()#<>:/")
    for mention in rows.mentions:
        assert text[mention.start : mention.end] == mention.surface


def test_the_names_of_a_program_are_its_identifiers() -> None:
    (rows,) = build(document("d", "def get_user(Ann): return HTTPError", title="app/users.py"))
    assert {mention.normal for mention in rows.mentions} == {"get_user", "httperror"}
