"""Extracted elements: what is kept of a reply, how documents are merged, and what a report on a community is told.

The expected table, requests and statements are those that GraphRAG 3.1.2 makes of the same replies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import canned
import pytest
from canned import ENTITIES, TEXTS, Canned, memory_parts, open_canned
from tables import table

from memgraph_rag import Memory, Receipt
from memgraph_rag.systems.graphrag import CommunitiesLayer, ElementsLayer, ElementSummariesLayer, GraphragLocal
from memgraph_rag.systems.graphrag.communities import NO_SUMMARY
from memgraph_rag.systems.graphrag.drift_search import GraphragDrift
from memgraph_rag.systems.graphrag.element_reply import (
    EXAMPLE_NAMES,
    claims_task,
    elements_task,
    parse_claims,
    parse_elements,
)
from memgraph_rag.systems.graphrag.element_summaries import NO_ELEMENTS
from memgraph_rag.testing import FakeModels
from memgraph_rag.types import Overview, Segment

ALL = ["elements", "element_summaries", "communities"]
ENTITY_ROWS = {
    "ANN LEE": ["Ann Lee keeps bees in Leeds."],
    "LEEDS": ["Leeds is where Ann Lee keeps bees.", "Leeds is where Cleo Vane visits Ben Ross."],
    "BEN ROSS": ["Ben Ross keeps bees with Ann Lee.", "Ben Ross leads the Leeds Honey Guild."],
    "LEEDS HONEY GUILD": [
        "The Leeds Honey Guild buys the honey of Ann Lee.",
        "The Leeds Honey Guild is led by Ben Ross.",
    ],
    "CLEO VANE": ["Cleo Vane owns the Harbour Press.", "Cleo Vane visits Ben Ross every May."],
    "HARBOUR PRESS": ["The Harbour Press is in Hull."],
    "HULL": ["Hull has the Harbour Press."],
    "DAN MOOR": ["Dan Moor prints for the Harbour Press."],
    "EVE MOOR": ["Eve Moor edits in Hull."],
}
WEIGHTS = {
    "ANN LEE → LEEDS": 7.0,
    "ANN LEE → BEN ROSS": 10.0,
    "ANN LEE → LEEDS HONEY GUILD": 6.0,
    "BEN ROSS → LEEDS HONEY GUILD": 9.0,
    "CLEO VANE → BEN ROSS": 4.0,
    "CLEO VANE → HARBOUR PRESS": 9.0,
    "HARBOUR PRESS → HULL": 6.0,
    "DAN MOOR → HARBOUR PRESS": 8.0,
    "EVE MOOR → HULL": 3.0,
    "DAN MOOR → EVE MOOR": 5.0,
}


@pytest.fixture
def model() -> Canned:
    return Canned()


@pytest.fixture
def memory(tmp_path: Path, model: Canned) -> Iterator[Memory]:
    with open_canned(tmp_path / "m.lbug", model) as memory:
        yield memory


def deepen(memory: Memory, layers: list[Any] | None = None) -> dict[str, Receipt]:
    outcomes = list(memory.deepen(layers=layers or ALL))
    assert all(isinstance(outcome, Receipt) for outcome in outcomes), outcomes
    return {outcome.key: outcome for outcome in outcomes if isinstance(outcome, Receipt)}


def summaries(memory: Memory) -> dict[str, Overview]:
    return {item.title: item for item in memory._parts.store.overviews("element_summaries")}


def test_documents_merge_as_in_the_released_code(memory: Memory, model: Canned) -> None:
    layers = [ElementsLayer(least_borne_out=0), "element_summaries", "communities"]
    receipts = deepen(memory, layers)

    merged = summaries(memory)
    assert {title: item.text for title, item in merged.items() if title in ENTITY_ROWS} == {
        title: " ".join(descriptions) for title, descriptions in ENTITY_ROWS.items()
    }
    assert merged.keys() == ENTITY_ROWS.keys() | WEIGHTS.keys()
    assert merged["ANN LEE → BEN ROSS"].text == "Ann Lee keeps bees with Ben Ross. Ann Lee visits Ben Ross."
    assert receipts["element_summaries"].notes == {"element without its entity": 1}
    asked = [list(prompt.inputs) for prompt in model.prompts if "All of them describe" in prompt.task]
    several = [descriptions for descriptions in ENTITY_ROWS.values() if len(descriptions) > 1]
    assert sorted(asked) == sorted([*several, ["Ann Lee keeps bees with Ben Ross.", "Ann Lee visits Ben Ross."]])
    strengths: dict[str, float] = {}
    for item in memory._parts.store.layer_annotations("elements"):
        if item.kind == "relation":
            title = f"{item.properties['source']} → {item.properties['target']}"
            strengths[title] = strengths.get(title, 0) + float(item.properties["strength"])
    assert strengths == WEIGHTS | {"ANN LEE → ZOE": 5.0}


def test_reports_list_relations_by_degree_after_entities(memory: Memory, model: Canned) -> None:
    deepen(memory, [ElementsLayer(least_borne_out=0, claims=True), "element_summaries", "communities"])

    told = [prompt.inputs for prompt in model.prompts if "Write a report" in prompt.task]
    titles = [[line.partition(". ")[2].partition(": ")[0] for line in lines] for lines in told]
    bees = ["ANN LEE", "BEN ROSS", "LEEDS HONEY GUILD", "LEEDS", "ANN LEE ⊢ TRADE", "ANN LEE → BEN ROSS"]
    bees += ["ANN LEE → LEEDS HONEY GUILD", "BEN ROSS → LEEDS HONEY GUILD", "ANN LEE → LEEDS"]
    press = ["CLEO VANE", "HARBOUR PRESS", "HULL", "DAN MOOR", "EVE MOOR", "CLEO VANE → HARBOUR PRESS"]
    press += ["HARBOUR PRESS → HULL", "DAN MOOR → HARBOUR PRESS", "EVE MOOR → HULL", "DAN MOOR → EVE MOOR"]
    assert titles[:2] == [bees, press]
    assert set(titles[2]) == {*bees, *press, "CLEO VANE → BEN ROSS"}


def test_reports_stand_for_elements_that_do_not_fit(memory: Memory, model: Canned) -> None:
    deepen(memory, ["elements", "element_summaries", CommunitiesLayer(source_tokens=150)])

    *lower, highest = (prompt.inputs for prompt in model.prompts if "Write a report" in prompt.task)
    assert all("→" in " ".join(lines) for lines in lower)
    assert len(highest) < sum(map(len, lower))
    assert any("CLEO VANE → BEN ROSS" in line for line in highest)


def test_first_relation_is_kept_in_a_full_prompt(memory: Memory, model: Canned) -> None:
    deepen(memory, ["elements", "element_summaries", CommunitiesLayer(source_tokens=1)])

    *lower, _ = (prompt.inputs for prompt in model.prompts if "Write a report" in prompt.task)
    assert [sum("→" in line for line in lines) for lines in lower] == [1, 1]


def test_communities_rest_on_summaries_and_documents(memory: Memory) -> None:
    deepen(memory)

    store, by_id = memory._parts.store, {item.id: item for item in summaries(memory).values()}
    highest, *lowest = store.overviews("communities")
    assert len(lowest) == 2
    for report in lowest:
        below = [by_id[edge.target_id] for edge in store.successors([report.id])]
        assert set(report.documents) == {document for item in below for document in item.documents}
    assert {store.entities([entity])[0].name for entity in highest.entities} == {"Ann Lee", "Leeds", "Cleo Vane"}
    for item in by_id.values():
        for segment in store.nodes([span.segment_id for span in item.findings[0].spans]):
            assert isinstance(segment, Segment)
            assert all(end.title() in segment.text for end in item.title.split(" → "))
    assert memory.maintenance.examine() == []


def test_archive_keeps_elements_and_communities(memory: Memory, tmp_path: Path) -> None:
    deepen(memory)
    memory.maintenance.export_to(tmp_path / "archive.jsonl")
    with Memory(tmp_path / "other.lbug", **memory_parts(), layers=["entities"]) as other:
        list(other.maintenance.import_from(tmp_path / "archive.jsonl"))
        for layer in ALL[1:]:
            keys = [{item.key for item in each._parts.store.overviews(layer)} for each in (memory, other)]
            assert keys[0] == keys[1] != set()
        assert {receipt.action.value for receipt in deepen(other).values()} == {"unchanged"}


def test_elements_that_the_text_does_not_hold_are_counted(
    memory: Memory, model: Canned, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up = [("Zorro", "person", "Zorro fights."), ("Ben Ross", "person", "Ben Ross sails distant oceans.")]
    monkeypatch.setitem(ENTITIES, "a", [*ENTITIES["a"][:2], *made_up])
    receipt = deepen(memory, ["elements"])["a"]

    assert receipt.notes == {
        "entity with a name that is not in the text": 1,
        "relation with a name that is not in the text": 1,
        "description of entity that the text does not bear out": 1,
    }
    stored = [item for item in memory._parts.store.layer_annotations("elements") if item.kind == "entity"]
    assert "ZORRO" not in {item.properties["name"] for item in stored}
    assert "BEN ROSS" in {item.text for item in stored}, "a name stays without its description"
    memory.forget("b")
    deepen(memory)
    told = [line for prompt in model.prompts if "Write a report" in prompt.task for line in prompt.inputs]
    assert any("ANN LEE → BEN ROSS: " in line for line in told)
    assert not any("BEN ROSS: BEN ROSS" in line for line in told)


def test_example_of_the_request_is_never_kept(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [task.rpartition("form:\n")[2] for task in (elements_task(["person"]), claims_task(["person"]))]
    (entities, _), (claims, _) = parse_elements(examples[0]), parse_claims(examples[1])
    names = {
        str(item.properties[field]) for item in entities for field in ("name", "source") if field in item.properties
    }
    assert {*names, *(str(item.properties["subject"]) for item in claims)} == EXAMPLE_NAMES
    copied = ("Mary Smith", "person", "Mary Smith is a teacher who moved to Leeds.")
    monkeypatch.setitem(ENTITIES, "a", [*ENTITIES["a"], copied])
    receipt = deepen(memory, [ElementsLayer(least_borne_out=0)])["a"]
    assert receipt.notes == {"entity with a name that is not in the text": 1}


@pytest.mark.parametrize(("gleanings", "calls"), [(0, 1), (1, 2), (3, 3)])
def test_gleanings_go_on_while_the_model_says_yes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, gleanings: int, calls: int
) -> None:
    """Three gleanings: the first, a Y or N for the second, which the fake answers with something else."""
    written = Canned._reply
    monkeypatch.setattr(
        Canned, "_reply", lambda self, prompt: "N" if "Are entities" in prompt.task else written(self, prompt)
    )
    receipt = deepen(memory, [ElementsLayer(gleanings=gleanings)])["a"]
    assert receipt.usage.model_calls == calls


def test_change_of_a_document_takes_only_its_elements_away(memory: Memory, model: Canned) -> None:
    deepen(memory)
    before = {item.id for item in summaries(memory).values()}
    assert all(receipt.action.value == "unchanged" for receipt in deepen(memory).values())

    memory.forget("c")
    asked = len(model.prompts)
    deepen(memory)

    assert "HULL" not in summaries(memory)
    assert len(before & {item.id for item in summaries(memory).values()}) >= 8
    assert not any("List the entities" in prompt.task for prompt in model.prompts[asked:])
    assert memory.maintenance.examine() == []


def test_without_summaries_receipts_say_what_is_missing(memory: Memory) -> None:
    layer = ElementSummariesLayer()
    (alone,) = layer.build(memory._parts.store, models=FakeModels())
    assert alone.notes == {NO_ELEMENTS: 1}
    deepen(memory)
    memory.add("Ben Ross leads the Leeds Honey Guild. Cleo Vane visits Ben Ross in Leeds every May.", key="b2")
    receipts = deepen(memory, ["elements", "communities"])
    assert receipts["communities"].notes[NO_SUMMARY] > 0


def test_largest_component_alone_has_communities(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = "Gus Hay and Ida Fox met."
    monkeypatch.setitem(TEXTS, "d", alone)
    monkeypatch.setitem(ENTITIES, "d", [("Gus Hay", "person", alone), ("Ida Fox", "person", alone)])
    monkeypatch.setitem(canned.RELATIONS, "d", [("Gus Hay", "Ida Fox", alone, 9)])
    monkeypatch.setitem(canned.GLEANED_ENTITIES, "d", [])
    monkeypatch.setitem(canned.GLEANED_RELATIONS, "d", [])
    memory.add(alone, key="d")

    deepen(memory)
    assert any("Gus" in report.text for report in memory._parts.store.overviews("communities"))
    deepen(memory, [CommunitiesLayer(use_lcc=True)])
    assert not any("Gus" in report.text for report in memory._parts.store.overviews("communities"))


def test_local_search_reads_reports_elements_and_segments(memory: Memory) -> None:
    deepen(memory)
    answer = memory.ask("Who prints for the Harbour Press?", strategy=GraphragLocal(most_tokens=400, entities=3))

    layers = [getattr(step.node, "layer", "segment") for step in answer.trace]
    assert list(dict.fromkeys(layers)) == ["communities", "element_summaries", "segment"]
    sources = [next(iter(step.sources)) for step in answer.trace]
    assert sources == sorted(sources, key=["report", "similarity", "relation", "entry"].index)
    titles = [step.via for step in answer.trace if "similarity" in step.sources]
    assert titles[0] in {"DAN MOOR", "HARBOUR PRESS"}
    assert answer.text.endswith("Dan Moor prints for the Harbour Press.")
    assert any(citation.document_key == "c" for citation in answer.citations)


def test_local_search_keeps_its_shares(memory: Memory) -> None:
    deepen(memory)
    strategy = GraphragLocal(most_tokens=200)
    nodes = [step.node for step in memory.ask("Who prints for the Harbour Press?", strategy=strategy).trace]

    overviews = [node for node in nodes if isinstance(node, Overview)]
    assert 0 < sum(node.tokens for node in nodes if isinstance(node, Segment)) <= 100
    assert sum(node.tokens for node in overviews if node.layer == "communities") <= 30
    assert sum(node.tokens for node in overviews if node.layer != "communities") <= 70


def test_drift_answers_follow_ups_by_local_search(tmp_path: Path) -> None:
    follow_up = "Who leads the Leeds Honey Guild?"
    model = Canned(yes=[0.1, 0.9], said=["A press is in Hull.", f"1. {follow_up}"])
    with open_canned(tmp_path / "m.lbug", model) as memory:
        deepen(memory)
        answer = memory.ask("Who prints for the Harbour Press?", strategy=GraphragDrift(reports=1, local_tokens=50))
    found = [step.node for step in answer.trace if step.via == follow_up]
    assert found
    assert len({step.node.id for step in answer.trace}) == len(answer.trace)


@table(
    ("reply", "note"),
    [
        ("nonsense", "unreadable reply"),
        ('{"entities": [["Ann", "person"]]}', "entity without a name, a type and a description"),
        ('{"entities": [["' + "A" * 150 + '", "person", "x"]]}', "entity without a name, a type and a description"),
        ('{"relations": [["Ann", "", "x", 3]]}', "relation without two names and a description"),
        ('{"relations": ["Ann"]}', "relation without two names and a description"),
        ('{"relations": [["Ann", "ann", "x", 3]]}', "relation of one name"),
        ('{"relations": [["Ann", "Ben", "x", "strong"]]}', "relation without a strength"),
        ('{"entities": [["Ann", "person", "Ann fl', "elements cut off"),
    ],
)
def test_unparsable_items_are_counted(reply: str, note: str) -> None:
    found, notes = parse_elements(reply)
    assert notes[note] == 1
    assert [item.properties.get("strength") for item in found] in ([], [1.0])


def test_claims_keep_their_fields() -> None:
    claim = ["Acme", "", "bid → rigging", "TRUE", "2022-01-10", "NONE", "Acme was fined.", "fined"]
    assert parse_claims(json.dumps({"claims": [claim, claim[:3]]}))[1] == {"claim that is incomplete": 2}
    claim[1] = "none"
    ((found,), _) = parse_claims(json.dumps({"claims": [claim]}))
    assert (found.text, found.properties["object"], found.properties["type"]) == (
        "Acme was fined.",
        "NONE",
        "BID RIGGING",
    )
