"""The layer ``communities``: what it builds, what its reports may say, and how little a change costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from meetings import GROUPS, PLACES, open_meetings
from memories import WithoutLanguage

from memgraph_rag import Failure, Memory, Receipt
from memgraph_rag.contracts import GraphStore, Models
from memgraph_rag.errors import ModelUnavailable
from memgraph_rag.systems.graphrag import communities
from memgraph_rag.systems.graphrag.communities import NO_PAIRS, CommunitiesLayer
from memgraph_rag.systems.graphrag.community_statements import Statements
from memgraph_rag.systems.graphrag.entity_graph import MOST_NAMED
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeModels, FakeRecognizer
from memgraph_rag.types import Action, Generation, Overview, OverviewRows, Prompt, Segment

SENTENCES = CommunitiesLayer(with_model=False)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_meetings(tmp_path / "m.lbug") as memory:
        yield memory


def deepen(memory: Memory, layer: CommunitiesLayer = SENTENCES, models: Models | None = None) -> list[OverviewRows]:
    store = memory._parts.store
    parts = []
    for rows in layer.build(store, models=models or FakeModels()):
        assert len(store.write_overviews(rows, as_of=store.version())) == len(rows.overviews)
        parts.append(rows)
    return parts


def stored(memory: Memory) -> list[Overview]:
    return memory._parts.store.overviews("communities")


def written(parts: list[OverviewRows]) -> int:
    return sum(len(rows.overviews) for rows in parts)


def names(store: GraphStore, overview: Overview) -> set[str]:
    return {entity.name for entity in store.entities(overview.entities)}


def assert_sound(memory: Memory) -> None:
    """One overview over all, whole children, exact spans, all documents that lie below."""
    store, overviews = memory._parts.store, {overview.id: overview for overview in stored(memory)}
    top = next(iter(overviews.values()))
    texts = {node.id: node for record in store.documents() for node in store.list_segments(record.id)}
    for overview in overviews.values():
        edges = store.successors([overview.id])
        assert sum(edge.weight for edge in edges) == pytest.approx(1)
        below = [overviews[edge.target_id] for edge in edges if edge.target_id in overviews]
        segments = [texts[edge.target_id] for edge in edges if edge.target_id in texts]
        documents = {segment.document_id for segment in segments}
        assert set(overview.documents) == documents.union(*(child.documents for child in below))
        assert overview.level == 1 + max((child.level for child in below), default=0)
        assert set(overview.entities) <= set(top.entities)
        if below:
            assert sorted(member for child in below for member in child.entities) == list(overview.entities)
        for span in (span for finding in overview.findings for span in finding.spans):
            segment = texts[span.segment_id]
            assert segment.start <= span.start < span.end <= segment.end


def test_people_who_meet_are_a_community(memory: Memory) -> None:
    parts = deepen(memory)

    assert_sound(memory)
    groups = [names(memory._parts.store, overview) for overview in stored(memory) if overview.level == 1]
    assert sorted(map(sorted, groups)) == sorted(
        sorted({*group, place}) for group, place in zip(GROUPS, PLACES, strict=True)
    )
    assert sum(rows.notes["report made of sentences"] for rows in parts) == written(parts)
    assert [rows.overviews[0].level for rows in parts] == sorted(rows.overviews[0].level for rows in parts)
    assert deepen(memory) == [], "what is there is not made again"


def test_reports_without_a_model_quote(memory: Memory) -> None:
    deepen(memory)
    texts = {
        node.id: node
        for record in memory._parts.store.documents()
        for node in memory._parts.store.list_segments(record.id)
    }
    for overview in stored(memory):
        assert overview.findings
        for finding in overview.findings:
            (span,) = finding.spans
            segment = texts[span.segment_id]
            assert finding.text == segment.text[span.start - segment.start : span.end - segment.start]


def test_keys_are_the_same_in_every_namespace(memory: Memory) -> None:
    deepen(memory)
    other = memory._parts.store.bind_namespace("elsewhere")
    parts = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": memory._parts.models.recognizer}
    with Memory(other, layers=["entities"], **parts) as second:
        for record in reversed(memory.documents()):
            second.add("".join(node.text for node in memory._parts.store.list_segments(record.id)), key=record.key)
        deepen(second)
        assert {overview.key for overview in stored(second)} == {overview.key for overview in stored(memory)}


def test_change_rebuilds_only_affected_communities(memory: Memory) -> None:
    deepen(memory)
    before = {overview.id for overview in stored(memory)}

    memory.add("Zoe met Hugo in Narvik.", key="new")
    parts = deepen(memory)

    assert_sound(memory)
    kept = before & {overview.id for overview in stored(memory)}
    assert len(kept) >= 2, "two groups have nothing to do with it"
    assert written(parts) == len(stored(memory)) - len(kept)
    assert deepen(memory) == []
    memory.forget("0-0")
    deepen(memory)
    assert_sound(memory)
    assert deepen(memory) == []


def test_document_without_shared_names_changes_no_community(memory: Memory) -> None:
    deepen(memory)
    memory.add("Yuri slept.", key="alone")
    memory.add("It rained.", key="nobody")
    assert deepen(memory) == []


def test_interrupted_build_keeps_written_reports(memory: Memory) -> None:
    store = memory._parts.store
    first = next(SENTENCES.build(store, models=FakeModels()))
    store.write_overviews(first, as_of=store.version())

    parts = deepen(memory)

    assert_sound(memory)
    assert {overview.id for overview in first.overviews} <= {overview.id for overview in stored(memory)}
    assert not any(rows.removed for rows in parts)


CROWD = [f"Guest{number}x" for number in range(MOST_NAMED + 1)]


@pytest.mark.parametrize("text", ["", "Ann slept.", "It rained all day.", f"{', '.join(CROWD)} came."])
def test_a_memory_without_pairs_has_no_communities(tmp_path: Path, text: str) -> None:
    recognizer = FakeRecognizer(dict.fromkeys(["Ann", *CROWD], "NAME"))
    parts = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": recognizer}
    with Memory(tmp_path / "m.lbug", layers=["entities"], **parts) as memory:
        if text:
            memory.add(text, key="only")
        *_, receipt = memory.deepen(layers=["communities"])
        assert receipt == Receipt("", "communities", Action.UNCHANGED, {}, notes={NO_PAIRS: 1})


EIGHT = list(range(1, 9))


def reply(*findings: object, **changes: Any) -> str:
    return json.dumps({"title": "A box", "summary": "", "rating": 7, "findings": list(findings), **changes})


def reported(memory: Memory, text: str) -> tuple[list[Overview], dict[str, int]]:
    """The lowest communities, where the model writes the same to every prompt, and what was odd."""
    parts = deepen(memory, CommunitiesLayer(), FakeModels(FakeLanguageModel([text] * 50)))
    notes: dict[str, int] = {}
    for rows in parts:
        for note, count in rows.notes.items():
            notes[note] = notes.get(note, 0) + count
    return [overview for overview in stored(memory) if overview.level == 1], notes


MADE = "report made of sentences: the model wrote none that holds"


def test_finding_has_spans_of_its_citations(memory: Memory) -> None:
    overviews, notes = reported(memory, reply(["Someone gave away a wooden box.", EIGHT]))

    assert {overview.title for overview in overviews} == {"A box"}
    assert {overview.rating for overview in overviews} == {7.0}
    assert MADE not in notes
    segments = {
        node.id: node
        for node in memory._parts.store.nodes([s.segment_id for o in overviews for s in o.findings[0].spans])
    }
    for overview in overviews:
        (finding,) = overview.findings
        quotes = [
            segment.text[span.start - segment.start : span.end - segment.start]
            for span in finding.spans
            if isinstance(segment := segments[span.segment_id], Segment)
        ]
        assert any("wooden box" in quote for quote in quotes)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("", "unreadable reply"),
        ("I cannot help with that.", "unreadable reply"),
        ("[1, 2]", "unreadable reply"),
        ('{"title": "A box", "findings": [["Someone gave', "report cut off"),
        (reply(), MADE),
        (reply(["Volcanoes erupted under glaciers.", [1]]), "finding that no source bears out"),
        (reply(["Someone gave away a wooden box.", [99]]), "citation of a source that is not there"),
        (reply(["Someone gave away a wooden box.", []]), "finding that no source bears out"),
        (reply(["Ann", EIGHT]), "finding that says nothing"),
        (reply([f"Someone gave away a wooden box{' and' * 80}", EIGHT]), "finding that says nothing"),
        (reply([["nested"], [1]], "text", 7), "finding that is incomplete"),
    ],
)
def test_unusable_parts_of_a_report_are_counted(memory: Memory, text: str, note: str) -> None:
    overviews, notes = reported(memory, text)
    assert notes[note] >= len(overviews)
    assert notes[MADE] >= len(overviews)
    assert all(overview.findings and overview.text for overview in overviews)


def test_a_model_that_writes_no_report_is_not_asked_again(tmp_path: Path) -> None:
    model = FakeLanguageModel([""] * 50)
    with open_meetings(tmp_path / "m.lbug", model=model) as memory:
        first, again = (list(memory.deepen(layers=["communities"]))[-1] for _ in range(2))

    assert isinstance(first, Receipt)
    assert first.usage.model_calls == first.notes[MADE] == first.counts["Overview"] == 5
    assert again == Receipt("", "communities", Action.UNCHANGED, {})


def test_failing_model_keeps_stored_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communities, "_WRITTEN_AT_ONCE", 2)
    fails = iter([False, True])

    class Failing(FakeLanguageModel):
        def generate(self, prompts: Sequence[Prompt], **options: Any) -> list[Generation]:
            if next(fails, False):
                raise ModelUnavailable("Expected an answer, got none.")
            return super().generate(prompts, **options)

    with open_meetings(tmp_path / "m.lbug", model=Failing()) as memory:
        *_, failure = memory.deepen(layers=["communities"])
        assert isinstance(failure, Failure)
        assert (failure.source, len(stored(memory))) == ("communities", 2)
        *_, receipt = memory.deepen(layers=["communities"])

        assert isinstance(receipt, Receipt)
        assert receipt.counts["Overview"] == 3
        assert_sound(memory)


def test_summary_without_support_is_left_out(memory: Memory) -> None:
    found = ["Someone gave away a wooden box.", EIGHT]
    overviews, notes = reported(memory, reply(found, found, summary="Volcanoes erupted under glaciers.", rating=99))
    assert {overview.text for overview in overviews} == {found[0]}
    assert notes.keys() >= {"summary that no source bears out", "repeated finding", "report without a rating"}


def test_without_a_model_reports_are_made_of_sentences(memory: Memory) -> None:
    parts = deepen(memory, CommunitiesLayer(), WithoutLanguage())
    assert sum(rows.notes["report made of sentences"] for rows in parts) == written(parts)
    assert written(deepen(memory, CommunitiesLayer(), FakeModels())) == written(parts), "a model writes them anew"


def test_reports_are_read_in_place_of_members(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[int, list[str]] = {}
    whole = Statements.list_sources

    def spy(statements: Statements, place: int, reports: dict[int, Overview]) -> Any:
        sources = whole(statements, place, reports)
        shown[place] = [source.text for source in sources]
        return sources

    monkeypatch.setattr(Statements, "list_sources", spy)
    text = reply(["Someone gave away a wooden box.", EIGHT])
    deepen(memory, CommunitiesLayer(source_tokens=60), FakeModels(FakeLanguageModel([text] * 50)))
    assert "Someone gave away a wooden box." in shown[max(shown)]
    assert "Someone gave away a wooden box." not in shown[min(shown)]
