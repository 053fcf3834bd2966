"""Test QRMeM on graphs with a known right way, and which segments it drops from a full window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import get_args

import pytest
from hand_made import HandMadeGraph, HandMadeSearch, HandMadeSession, ids, reading_context, relation, segment
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import Strategy
from memgraph_rag.errors import SettingsError
from memgraph_rag.strategies import find_strategy, list_required_layers
from memgraph_rag.strategies.qrmem import Qrmem, Variant
from memgraph_rag.types import OPEN_KIND, Entity, Limits, Node, Relation, Segment, Step, StopReason, entity_id

QUESTION = "Where does the sister of Ann live?"
WAY = [
    relation("Ann", "Ben", "s1", "Ann has a sister, Ben"),
    relation("Ben", "Cay", "s2", "Ben lives with Cay"),
    relation("Cay", "Dan", "s3", "Cay lives in Dan"),
    relation("Ann", "Eve", "s4", "Ann met Eve"),
]
NO, YES = "-1 A fact is missing.", "-2 In Dan."
COSINES = {WAY[0].id: 0.9, WAY[1].id: 0.8, WAY[2].id: 0.7, WAY[3].id: 0.1}


def shelf(count: int) -> list[Segment]:
    return [segment(f"s{number}", f"d{number}") for number in range(count)]


def world(**changes) -> HandMadeGraph:
    options = {"relations": WAY, "mentions": {"s0": ["Ann"]}, "similarity": COSINES} | changes
    return HandMadeGraph(shelf(6), **options)


def read(
    strategy: Strategy,
    *,
    graph: HandMadeGraph | None = None,
    session: HandMadeSession | None = None,
    search: HandMadeSearch | None = None,
    limits: Limits | None = None,
    documents: Sequence[str] | None = None,
    extract=None,
) -> list[Step]:
    session = session or HandMadeSession()
    steps: list[Step] = []
    passes = strategy.read(
        QUESTION,
        reading_context(
            graph=graph or world(),
            search=search or HandMadeSearch(shelf(6), named=["Ann", "Ben", "Cay", "Dan", "Eve"]),
            session=session,
            limits=limits,
            documents=documents,
            extract=extract,
        ),
    )
    for of_pass in passes:
        steps += of_pass
        dropped = {node_id for step in steps for node_id in step.dropped}
        assert session.read == [step.node.id for step in steps if step.node.id not in dropped], "told, and no more"
        if limits and limits.nodes is not None and len(steps) >= limits.nodes:
            break
    return steps


# ── KN ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_qrmem_follows_relations_of_current_entities() -> None:
    graph = world(mentions={"s0": ["Ann"]}, relations=WAY[:3])
    graph._mentions |= {"s1": {"Ben"}}
    # The question names Ann: what names her is read first, then the way from Ann over Ben and Cay to Dan: the segment
    # that states an edge, and all of the entity that it reaches.
    steps = read(Qrmem(asks_names=False, start_tokens=14), graph=graph, session=HandMadeSession(replies=[NO, NO, YES]))
    assert ids(steps) == ["s0", "s1", "s2", "s3"]
    assert [step.via for step in steps] == ["", *(WAY[place].description for place in (0, 0, 1))]
    assert [step.score for step in steps] == [0.0, 0.9, 0.9, 0.8]
    assert [step.sources for step in steps[1:]] == [{"relation": 0.9}, {"relation": 0.9}, {"relation": 0.8}]
    assert [step.stop for step in steps] == [None] * 3 + [StopReason.ANSWERABLE]


def test_each_no_carries_missing_fact() -> None:
    session = HandMadeSession(replies=["-1 The sister.", "Action: -1: Where Ben lives.", "-2 In Dan."])
    steps = read(Qrmem(asks_names=False, start_tokens=14), session=session)
    assert [step.reason for step in steps] == ["The sister.", "", "Where Ben lives.", ""]
    assert len(session.requests) == 3


def test_reply_without_a_verdict_is_asked_for_again() -> None:
    session = HandMadeSession(replies=["Perhaps.", "", "-2 In Dan."])
    steps = read(Qrmem(asks_names=False, start_tokens=14), session=session)
    assert (ids(steps), steps[-1].stop) == (["s0"], StopReason.ANSWERABLE)
    assert [temperature for _, temperature, _ in session.requests] == [0.0, 0.7, 0.7]


def test_p_yes_is_traced_and_decides_nothing() -> None:
    steps = read(
        Qrmem(asks_names=False, start_tokens=14), session=HandMadeSession(yes=[0.9, 0.9, 0.1], replies=[NO, YES])
    )
    assert [step.p_yes for step in steps] == [0.9, 0.9, 0.1]
    assert steps[-1].stop is StopReason.ANSWERABLE


def test_segments_of_entity_keep_token_limit_of_paper() -> None:
    long = [segment(f"s{number}", f"d{number}") for number in range(30)]
    mentions = {"s0": ["Ann"]} | {f"s{number}": ["Ben"] for number in range(1, 30)}
    tokens = {node.id: 496 for node in long}
    nodes = [replace(node, tokens=496) for node in long]
    graph = HandMadeGraph(nodes, relations=WAY[:1], mentions=mentions, similarity=COSINES)
    steps = read(
        Qrmem(asks_names=False, start_tokens=500, rounds=1),
        graph=graph,
        session=HandMadeSession(tokens=tokens, replies=[NO] * 9),
    )
    assert len(steps) == 8, "of 500 tokens each"


def test_segments_of_the_questions_entities_are_read_first_together() -> None:
    session = HandMadeSession(yes=[0.9], replies=[YES])
    steps = read(Qrmem(asks_names=False), session=session, graph=world(similarity={**COSINES, "s4": 0.5}))
    assert ids(steps) == ["s4", "s0", "s1"], "those that name Ann, nearest first"
    assert [step.p_yes for step in steps] == [None, None, 0.9]


@table("rounds", [8, 0])
def test_all_segments_of_the_questions_entities_are_read_first(rounds: int) -> None:
    nodes = [replace(segment(f"s{number}", "d"), tokens=270) for number in range(16)]
    graph = HandMadeGraph(nodes, mentions={node.id: ["Ann"] for node in nodes[:15]})
    session = HandMadeSession(tokens={node.id: 270 for node in nodes}, window=8000, replies=[YES])
    steps = read(Qrmem(asks_names=False, rounds=rounds), graph=graph, session=session)
    assert len(steps) == 14, "of 274 tokens each, within 4,096"


def test_first_segments_may_fill_the_window() -> None:
    graph = world(mentions={f"s{number}": ["Ann"] for number in range(6)})
    steps = read(Qrmem(asks_names=False), graph=graph, session=HandMadeSession(window=14 * 5, replies=[NO]))
    assert len(steps) == 5
    assert steps[-1].stop is StopReason.WINDOW


class Listing(HandMadeGraph):
    """A graph that knows one entity, whose name is in lower case."""

    known = entity_id("tests", "red mill")

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        return [Entity(self.known, "red mill", "red mill", ()) for each in entity_ids if each == self.known]


@table(
    ("strategy", "replies"),
    [
        (Qrmem(), ["Ann, The red mill", YES]),
        (Qrmem("TE"), ["Ann, The red mill", YES]),
        (Qrmem("TE", asks_names=False), [NO, "the red mill", YES]),
    ],
)
def test_names_listed_by_the_model_lead_to_segments(strategy: Strategy, replies: list[str]) -> None:
    graph = Listing(shelf(6), mentions={"s0": ["Ann"], "s3": [Listing.known], "s5": [Listing.known]})
    steps = read(strategy, graph=graph, session=HandMadeSession(replies=replies))
    assert ids(steps) == ["s0", "s3", "s5"]
    assert steps[-1].stop is StopReason.ANSWERABLE


def test_question_without_names_begins_with_search_results() -> None:
    steps = read(
        Qrmem(asks_names=False, start_tokens=28),
        search=HandMadeSearch(shelf(6)[3:]),
        session=HandMadeSession(replies=[YES]),
    )
    assert ids(steps) == ["s3", "s4"]


def test_qrmem_without_relations_follows_mentions() -> None:
    graph = world(relations=[], mentions={"s0": ["Ann"], "s1": ["Ann", "Ben"], "s2": ["Ben"]})
    steps = read(Qrmem(asks_names=False, start_tokens=14), graph=graph)
    assert ids(steps) == ["s0", "s1", "s2"]
    assert steps[-1].stop is StopReason.EXHAUSTED


def test_a_circle_ends_and_each_segment_is_read_once() -> None:
    circle = [relation("Ann", "Ben", "s0"), relation("Ben", "Cay", "s1"), relation("Cay", "Ann", "s2")]
    steps = read(Qrmem(asks_names=False, start_tokens=14), graph=world(relations=circle, mentions={}))
    assert sorted(ids(steps)) == ["s0", "s1", "s2"]
    assert steps[-1].stop is StopReason.EXHAUSTED


class Fading(HandMadeGraph):
    """A graph whose ``gone`` nodes are still found, but no longer there when they are read."""

    gone: frozenset[str] = frozenset()

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        return [node for node in super().nodes(node_ids) if node.id not in self.gone]


def test_segment_forgotten_after_search_is_skipped() -> None:
    mentions = {f"s{number}": ["Ann"] for number in range(4)}
    graph = Fading(shelf(6), relations=[], mentions=mentions, similarity=COSINES)
    steps = read(Qrmem(asks_names=False, start_tokens=14, rounds=1), graph=graph)
    assert ids(steps) == ["s0", "s1"]
    graph.gone = frozenset({"s1", "s2"})
    steps = read(Qrmem(asks_names=False, start_tokens=14), graph=graph)
    assert ids(steps) == ["s0", "s3"]


def test_relation_with_forgotten_segment_is_passed() -> None:
    graph = Fading(shelf(6), relations=WAY, mentions={"s0": ["Ann"]}, similarity=COSINES)
    graph.gone = frozenset({"s1"})
    steps = read(Qrmem(asks_names=False, start_tokens=14), graph=graph)
    assert ids(steps) == ["s0", "s2", "s3", "s4"]


@table(
    ("name", "ways", "requests"),
    [
        ("", [WAY[0].description], 2),
        ("without_navigation", [], 1),
        ("without_open_entities", [WAY[0].description], 2),
        ("without_reflection", [WAY[0].description], 2),
    ],
)
def test_ablation_switches_each_part_off(name: str, ways: list[str], requests: int) -> None:
    graph = world(
        mentions={"s0": ["Ann"], "s5": ["Eve"]},
        kinds=dict.fromkeys(("Ann", "Ben", "Eve"), ("PERSON",)) | {"Cay": (OPEN_KIND,), "Dan": (OPEN_KIND,)},
    )
    session = HandMadeSession(replies=[NO, YES])
    strategy = Qrmem(asks_names=False, **Qrmem.ablations[name] if name else {})
    steps = read(strategy, graph=graph, session=session)
    assert ids(steps)[:3] == ["s0", "s1", "s4"], "what names Ann"
    assert [step.via for step in steps[3:]] == ways
    assert len(session.requests) == requests
    assert {step.reason for step in steps} == {
        "",
        *(["A fact is missing."] if name != "without_reflection" and ways else []),
    }


def test_ablation_avoids_relations_to_open_entities() -> None:
    kinds = dict.fromkeys(("Ann", "Ben", "Eve"), ("PERSON",)) | {"Cay": (OPEN_KIND,), "Dan": (OPEN_KIND,)}
    steps = read(Qrmem(asks_names=False, open_entities=False), graph=world(kinds=kinds))
    assert not {WAY[1].description, WAY[2].description} & {step.via for step in steps}
    steps = read(Qrmem(asks_names=False), graph=world(kinds=kinds))
    assert WAY[1].description in {step.via for step in steps}


@table(("name", "times"), [("", 1), ("without_update", 0)])
def test_qrmem_without_update_keeps_graph(name: str, times: int) -> None:
    given: list[Sequence[Segment]] = []
    read(
        Qrmem(asks_names=False, **Qrmem.ablations[name] if name else {}),
        extract=lambda _, segments: given.append(segments),
    )
    assert len(given) == times


def test_qrmem_ends_after_its_rounds() -> None:
    steps = read(Qrmem(asks_names=False, start_tokens=14, rounds=2))
    assert [step.via for step in steps] == ["", *(WAY[place].description for place in (0, 0, 1))]
    assert steps[-1].stop is StopReason.MAX_ROUNDS


@pytest.mark.slow
def test_entity_in_2_000_segments_costs_a_bounded_number_of_rounds() -> None:
    nodes = [segment(f"s{number:05}", f"d{number:05}") for number in range(2_000)]
    graph = HandMadeGraph(nodes, mentions={node.id: ["Ann"] for node in nodes})
    steps = read(Qrmem(asks_names=False), graph=graph)
    assert len(steps) == 256 + 8, "the nearest 256, then one a round"
    assert graph.calls["segments_naming"] <= 1 + 2 * 8
    assert graph.calls["expand"] <= 8 * 8


def test_full_window_drops_the_lowest_edge_never_the_beginning() -> None:
    relations = [
        relation("Ann", "Ben", "s1"),
        relation("Ann", "Cay", "s2"),
        relation("Cay", "Dan", "s3"),
    ]
    cosines = {relations[0].id: 0.5, relations[1].id: 0.4, relations[2].id: 0.9}
    session = HandMadeSession(window=14 * 3)
    steps = read(
        Qrmem(asks_names=False, start_tokens=14), graph=world(relations=relations, similarity=cosines), session=session
    )
    assert ids(steps) == ["s0", "s1", "s2", "s3"]
    assert [step.dropped for step in steps] == [(), (), (), ("s2",)]
    assert session.read == ["s0", "s1", "s3"]


def test_full_window_of_better_segments_ends_reading() -> None:
    session = HandMadeSession(window=14 * 3)
    steps = read(Qrmem(asks_names=False, start_tokens=14), session=session)
    assert ids(steps) == ["s0", "s1", "s2"]
    assert steps[-1].stop is StopReason.WINDOW


def test_working_set_is_searched_for_relations_within_the_limit() -> None:
    graph = world(relations=WAY[1:])
    asked: list[tuple[str, list[str]]] = []

    def extract(question: str, segments: Sequence[Segment]) -> list[Relation]:
        asked.append((question, [passage.id for passage in segments]))
        graph.relations.append(new)
        return [new]

    new = relation("Ann", "Fay", "s5", "Ann is a twin of Fay")
    graph._cosine[new.id] = 1.0
    session = HandMadeSession(yes=[0.1, 0.9], replies=["-1 The twin.", YES])
    steps = read(Qrmem(asks_names=False, start_tokens=14, updates=1), graph=graph, session=session, extract=extract)
    assert asked == [(f"{QUESTION} The twin.", ["s0"])]
    assert ids(steps) == ["s0", "s5"]
    assert steps[1].via == "Ann is a twin of Fay"
    asked.clear()
    read(Qrmem(asks_names=False, start_tokens=14, updates=0), extract=extract)
    assert asked == []


def test_first_segments_are_extracted_before_the_first_verdict() -> None:
    graph = world(relations=[], mentions={"s0": ["Ann"]})
    events: list[object] = []

    class Listening(HandMadeSession):
        def reply(self, request: str, **options) -> str:
            events.append("verdict")
            return super().reply(request, **options)

    def extract(question: str, segments: Sequence[Segment]) -> list[Relation]:
        events.append((question, [node.id for node in segments]))
        graph.relations.append(WAY[0])
        return WAY[:1]

    strategy = Qrmem(asks_names=False, extracts_first=True, updates=0)
    steps = read(strategy, graph=graph, session=Listening(replies=[NO, YES]), extract=extract)
    assert events == [(QUESTION, ["s0"]), "verdict", "verdict"]
    assert ids(steps) == ["s0", "s1"]


def test_segments_of_a_fused_relation_are_read_together() -> None:
    fused = [relation("Ann", "Ben", name, "Ann has a brother, Ben, in York") for name in ("s1", "s5")]
    graph = world(relations=[*fused, WAY[3]], similarity={fused[0].id: 0.9, fused[1].id: 0.9, WAY[3].id: 0.1})
    graph._mentions["s5"] = {"Ben"}
    strategy = Qrmem(asks_names=False, start_tokens=14)
    steps = read(strategy, graph=graph, session=HandMadeSession(replies=[NO, NO, YES]))
    assert ids(steps) == ["s0", "s1", "s5", "s4"]
    assert [step.via for step in steps] == ["", fused[0].description, fused[0].description, WAY[3].description]
    assert graph.calls["expand"] == 2, "both relations are followed at once"


# ── TE and GES ───────────────────────────────────────────────────────────────────────────────────────────────


def test_entity_trial_reads_all_segments_of_requested_entities() -> None:
    session = HandMadeSession(replies=["-1 Where Cay lives.", "Cay", "-1 Who Eve is.", "Eve", YES])
    strategy = Qrmem("TE", asks_names=False, start_tokens=14)
    steps = read(strategy, session=session, graph=world(similarity={"s3": 0.5}))
    assert ids(steps) == ["s0", "s3", "s2", "s4"]
    assert [step.reason for step in steps] == ["Where Cay lives.", "", "Who Eve is.", ""]
    assert steps[-1].stop is StopReason.ANSWERABLE


def test_entity_trial_ends_when_all_requested_segments_are_read() -> None:
    session = HandMadeSession(replies=[NO, "Ann"])
    steps = read(Qrmem("TE", asks_names=False), session=session)
    assert ids(steps) == ["s0", "s1", "s4"]
    assert steps[-1].stop is StopReason.EXHAUSTED


def test_graph_expansion_reads_results_of_one_query_of_relations() -> None:
    session = HandMadeSession(replies=["Where do Cay and Dan live?"])
    search = HandMadeSearch(shelf(6), named=["Ann"])
    steps = read(Qrmem("GES", asks_names=False), session=session, search=search)
    ((request, _, _),) = session.requests
    assert [edge.description in request for edge in WAY] == [True, True, True, False]
    assert search.queries == [f"{QUESTION} Where do Cay and Dan live?"]
    assert ids(steps) == ["s0", "s1", "s2", "s3", "s4"]
    assert {step.p_yes for step in steps} == {None}


def test_graph_expansion_without_relations_is_the_search_itself() -> None:
    session = HandMadeSession()
    search = HandMadeSearch(shelf(6), named=["Ann"])
    read(Qrmem("GES", asks_names=False), graph=world(relations=[]), session=session, search=search)
    assert (session.requests, search.queries) == ([], [QUESTION])


# ── what holds for all ───────────────────────────────────────────────────────────────────────────────────────


@st.composite
def graphs(draw: st.DrawFn) -> HandMadeGraph:
    names, places = st.sampled_from(["Ann", "Ben", "Cay", "Dan"]), st.integers(0, 5)
    made = draw(st.lists(st.tuples(names, names, places), max_size=8, unique=True))
    relations = [relation(source, target, f"s{place}") for source, target, place in made]
    cosine = st.integers(0, 16).map(lambda number: number / 16)
    return HandMadeGraph(
        shelf(6),
        relations=relations,
        mentions={f"s{place}": draw(st.lists(names, max_size=2)) for place in range(6)},
        similarity={
            element_id: draw(cosine) for element_id in (*(edge.id for edge in relations), *(f"s{i}" for i in range(6)))
        },
    )


@pytest.mark.parametrize("variant", get_args(Variant))
@given(
    graph=graphs(),
    window=st.integers(1, 6),
    most=st.one_of(st.none(), st.integers(1, 4)),
    replies=st.lists(st.sampled_from(["Ben", "-1 Cay lives there", "", "No", "-2 Dan"]), max_size=9),
)
def test_bounds(variant: Variant, graph: HandMadeGraph, window: int, most: int | None, replies: list[str]) -> None:
    def again() -> list[Step]:
        session = HandMadeSession(window=14 * window, replies=replies)
        return read(Qrmem(variant), graph=graph, session=session, limits=Limits(nodes=most))

    steps = again()
    assert len(set(ids(steps))) == len(steps), "each segment at most once"
    assert most is None or len(steps) <= most
    assert again() == steps
    for before, after in pairwise(steps):
        assert set(after.dropped) <= set(ids(steps)) - {after.node.id}
        assert before.stop is None


def test_unknown_variant_is_refused() -> None:
    with pytest.raises(SettingsError, match="KN, TE, GES"):
        find_strategy("qrmem", variant="te")


@table(
    ("variant", "arguments", "takers"),
    [
        ("TE", {"extracts_first": True}, "KN"),
        ("TE", {"updates": 0}, "KN"),
        ("TE", {"open_entities": False}, "KN"),
        ("GES", {"updates": 0}, "KN"),
        ("GES", {"reflects": False}, "KN or TE"),
        ("GES", {"most_tokens": 2048}, "KN or TE"),
        ("GES", {"start_tokens": 1024}, "KN or TE"),
    ],
)
def test_argument_of_another_variant_is_refused(variant: str, arguments: dict[str, object], takers: str) -> None:
    with pytest.raises(SettingsError, match=f"for the variant {takers} of qrmem, got {next(iter(arguments))}="):
        find_strategy("qrmem", variant=variant, **arguments)


def test_entity_trial_needs_no_relations() -> None:
    assert [list_required_layers(Qrmem(variant)) for variant in get_args(Variant)] == [
        ("relations",),
        ("entities",),
        ("relations",),
    ]
