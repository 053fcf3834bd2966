"""Test the walk against a slow twin that adds up every score again, and on graphs with a known right way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hand_made import (
    HandMadeGraph,
    HandMadeSearch,
    HandMadeSession,
    Known,
    ids,
    point,
    reading_context,
    relation,
    segment,
)
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.strategies.candidates import Weights
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.types import Limits, Node, Relation, Segment, Step, StopReason, Summarizes

QUESTION = "Where is the fox?"
ENTRY_ONLY = Weights(attention=0, similarity=0, relation=0)
COST = 14  # of a node of ten tokens, with its bullet
ALL = 99  # segments: more than there are


@dataclass
class World:
    """A graph, the results of its search, and all numbers; ``entry`` are ids."""

    nodes: list[Node]
    entry: list[str]
    edges: list[Summarizes] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    mentions: dict[str, list[str]] = field(default_factory=dict)
    similarity: dict[str, float] = field(default_factory=dict)
    attention: dict[str, float] = field(default_factory=dict)
    yes: Sequence[float] = ()
    window: int = 1_000_000
    calibration: Known | None = field(default_factory=Known)
    named: Sequence[str] = ()
    attends: bool = True

    def __post_init__(self) -> None:
        self.graph = HandMadeGraph(
            self.nodes, self.edges, similarity=self.similarity, mentions=self.mentions, relations=self.relations
        )
        self.session = HandMadeSession(
            self.attention,
            yes=self.yes,
            window=self.window,
            tokens={node.id: node.tokens for node in self.nodes},
            calibration=self.calibration,
            attends=self.attends,
        )

    def passes(self, walk: Walk, *, limits: Limits | None = None, documents=None) -> list[tuple[Step, ...]]:
        segments = {node.id: node for node in self.nodes if isinstance(node, Segment)}
        passes = walk.read(
            QUESTION,
            reading_context(
                graph=self.graph,
                search=HandMadeSearch([segments[name] for name in self.entry], named=self.named),
                session=self.session,
                limits=limits,
                documents=documents,
            ),
        )
        taken = []
        for steps in passes:
            taken.append(steps)
            assert self.session.read == [step.node.id for of_pass in taken for step in of_pass], (
                "told, and nothing else"
            )
            if limits and limits.nodes is not None and len(self.session.read) >= limits.nodes:
                break
        return taken

    def walk(self, walk: Walk | None = None, **options) -> list[Step]:
        return [step for of_pass in self.passes(walk or Walk(), **options) for step in of_pass]


def shelf(count: int, *, tokens: int = 10) -> list[Node]:
    """Documents of one segment each: s00, s01 …"""
    return [segment(f"s{number:02}", f"d{number:02}", tokens=tokens) for number in range(count)]


# ── the slow twin ────────────────────────────────────────────────────────────────────────────────────────────


def plain_scores(world: World, weights: Weights, read: Sequence[str]) -> dict[str, float]:
    """Return the score of every unread node after these nodes were read, from the world's own tables."""
    nodes = {node.id: node for node in world.nodes}
    attended = {
        name: world.attention.get(name, 0.0) * (1 if world.calibration else place) for place, name in enumerate(read, 2)
    }
    largest = max(attended.values(), default=0.0) or 1.0
    trust = world.calibration.attention_weight if world.calibration else 1.0
    scope = {nodes[name].document_id for name in world.entry}
    inside = [name for name, node in nodes.items() if node.document_id in scope]
    nearest = max((max(world.similarity.get(name, 0.0), 0.0) for name in inside), default=0.0) or 1.0
    named_by = {
        name: {*world.mentions.get(name, ())}
        | {end for link in world.relations if link.segment_id == name for end in (link.source_id, link.target_id)}
        for name in nodes
    }
    scores = {}
    for name in nodes:
        entry = 10 / (10 + world.entry.index(name)) if name in world.entry else 0.0
        down = sum(
            attended[edge.source_id] * edge.weight
            for edge in world.edges
            if edge.target_id == name and edge.source_id in attended
        )
        over = max(
            (
                attended[other] * world.similarity.get(link.id, 0.0)
                for link in world.relations
                if link.segment_id == name
                for other in attended
                if nodes[other].level == 0 and named_by[other] & {link.source_id, link.target_id}
            ),
            default=0.0,
        )
        cosine = max(world.similarity.get(name, 0.0), 0.0) if name in inside and name not in world.entry else 0.0
        if nodes[name].level == 0:
            cosine *= 10 / (10 + len(world.entry))
        reached = any(edge.target_id == name and edge.source_id in attended for edge in world.edges)
        if name in read or not (entry or over or reached or (weights.similarity and name in inside)):
            continue
        scores[name] = (
            weights.entry * entry
            + trust * weights.attention * down / largest
            + weights.similarity * cosine / nearest
            + trust * weights.relation * over / largest
        )
    return scores


sixteenths = st.integers(0, 16).map(lambda number: number / 16)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    documents = draw(st.integers(1, 4))
    nodes: list[Node] = []
    edges: list[Summarizes] = []
    for document in range(documents):
        below = [segment(f"s{document}{i}", f"d{document}", index=i) for i in range(draw(st.integers(1, 3)))]
        points = [point(f"p{document}{i}", f"d{document}", index=i) for i in range(draw(st.integers(0, 2)))]
        nodes += [*below, *points]
        for parent in points:
            reached = draw(st.lists(st.sampled_from([node.id for node in below]), unique=True, min_size=1))
            edges += [Summarizes(parent.id, target, 1 / len(reached)) for target in reached]
    segments = [node.id for node in nodes if node.level == 0]
    names = ["Ann", "Ben", "Cay", "Dan"]
    relations = {
        (link := relation(source, target, where)).id: link
        for source, target, where in draw(
            st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names), st.sampled_from(segments)), max_size=6)
        )
    }
    everything = [*(node.id for node in nodes), *relations]
    return World(
        nodes,
        draw(st.lists(st.sampled_from(segments), unique=True, min_size=1)),
        edges,
        list(relations.values()),
        {segment_id: draw(st.lists(st.sampled_from(names), unique=True, max_size=2)) for segment_id in segments},
        dict(
            zip(everything, draw(st.lists(sixteenths, min_size=len(everything), max_size=len(everything))), strict=True)
        ),
        {node.id: draw(sixteenths) for node in nodes},
        calibration=draw(st.sampled_from([None, Known(), Known(attention_weight=0.5)])),
    )


@given(worlds(), st.integers(1, 3))
def test_walk_chooses_best_of_recomputed_scores(world: World, start_nodes: int) -> None:
    weights = Weights()
    passes = world.passes(Walk(weights, start_nodes=start_nodes, most_segments=ALL))
    read: list[str] = []
    for steps in passes:
        scores = plain_scores(world, weights, read)
        for step in steps:
            assert step.score == pytest.approx(scores[step.node.id])
            assert sum(step.sources.values()) == pytest.approx(step.score)
        others = [score for name, score in scores.items() if name not in ids(steps)]
        assert min(step.score for step in steps) >= max(others, default=0.0) - 1e-9
        read += ids(steps)
    assert len(set(read)) == len(read), "each node at most once"
    if passes[-1][-1].stop is StopReason.EXHAUSTED:
        assert not plain_scores(world, weights, read)


@given(worlds(), st.integers(1, 4), st.integers(0, 5))
def test_walk_by_entry_alone_keeps_order_of_search(world: World, start_nodes: int, more: int) -> None:
    steps = world.walk(Walk(ENTRY_ONLY, start_nodes=start_nodes, most_segments=ALL, more_tokens=more * COST))
    assert ids(steps) == world.entry[: start_nodes + more]


@given(worlds(), st.integers(1, 6))
def test_the_budget_is_kept_and_the_walk_is_the_same_again(world: World, most: int) -> None:
    limits = Limits(nodes=most)
    steps = world.walk(limits=limits)
    assert len(steps) <= most
    assert steps == World(**{name: getattr(world, name) for name in World.__dataclass_fields__}).walk(limits=limits)


# ── ways that are known ──────────────────────────────────────────────────────────────────────────────────────


def test_attention_without_ranking_reads_in_the_order_of_entry() -> None:
    nodes = shelf(12)
    relations = [relation("Ann", "Ben", "s11"), relation("Ann", "Cay", "s00")]
    world = World(
        nodes,
        [f"s{number:02}" for number in range(12)],
        relations=relations,
        similarity=dict.fromkeys((link.id for link in relations), 1.0),
        attention=dict.fromkeys((node.id for node in nodes), 1.0),
        calibration=Known(attention_weight=0.0),
    )
    assert ids(world.walk(Walk(most_segments=ALL))) == world.entry


def test_a_relation_leads_to_a_segment_that_search_did_not_find() -> None:
    way = relation("Ann", "Ben", "s05", "Ann is Ben's sister")
    world = World(
        shelf(6),
        ["s00", "s01", "s02"],
        relations=[way],
        mentions={"s00": ["Ann"], "s01": ["Dan"]},
        similarity={way.id: 1.0},
        attention={"s00": 1.0, "s01": 0.1},
    )
    steps = world.walk(Walk(Weights(relation=1.0), start_nodes=2))
    assert ids(steps) == ["s00", "s01", "s05", "s02"]
    assert steps[2].via == "Ann is Ben's sister"
    assert steps[2].sources == {"relation": 1.0}
    assert [step.via for step in steps if step.node.id != "s05"] == [""] * 3
    assert ids(replaced(world, Weights(relation=0.0))) == ["s00", "s01", "s02"]


def replaced(world: World, weights: Weights) -> list[Step]:
    return replace(world).walk(Walk(weights, start_nodes=2))


def test_attention_to_a_point_is_passed_down_to_what_it_summarises() -> None:
    nodes = [*(segment(f"s{i}", index=i) for i in range(4)), point("p0"), point("p1", index=1)]
    world = World(
        nodes,
        ["s0"],
        [Summarizes("p0", "s1", 0.75), Summarizes("p0", "s2", 0.25), Summarizes("p1", "s3", 1.0)],
        similarity={"p0": 0.5, "p1": 0.4},
        attention={"s0": 0.2, "p0": 1.0, "p1": 0.1},
    )
    steps = world.walk(Walk(start_nodes=1))
    assert ids(steps) == ["s0", "p0", "s1", "p1", "s2", "s3"]
    assert steps[2].sources == pytest.approx({"attention": 0.75})


def test_segment_outside_of_search_follows_its_results() -> None:
    nodes = [*(segment(f"s{i:02}", index=i) for i in range(40)), point("p0")]
    hits = [f"s{number:02}" for number in range(32)]
    world = World(nodes, hits, similarity={"s39": 0.8, "s38": 0.7, "p0": 0.4, "s00": 0.1})
    steps = world.walk(Walk(start_nodes=5, most_segments=ALL, more_tokens=1000))
    assert ids(steps)[:34] == [*hits[:17], "p0", *hits[17:], "s39"]
    assert steps[17].sources == {"similarity": pytest.approx(0.75 / 2)}
    assert steps[33].sources == {"similarity": pytest.approx(0.75 * 10 / 42)}


def test_reading_stops_when_the_model_says_yes() -> None:
    hits = [f"s{number:02}" for number in range(9)]
    for yes, read in (([0.9], 3), ([0.1, 0.9], 4), ([0.1, 0.2, 0.51], 5)):
        steps = World(shelf(9), hits, yes=yes).walk(Walk(start_nodes=3))
        assert len(steps) == read
        assert [step.p_yes for step in steps] == [None] * 2 + yes
        assert [step.stop for step in steps] == [None] * (read - 1) + [StopReason.ANSWERABLE]


def test_yes_does_not_count_before_the_start_is_read() -> None:
    hits = [f"s{number:02}" for number in range(9)]
    steps = World(shelf(9), hits, yes=[0.9] * 9).walk(Walk(most_segments=ALL))
    assert [step.p_yes for step in steps] == [None, None, None, None, 0.9]
    assert steps[-1].stop is StopReason.ANSWERABLE
    long = World(shelf(9, tokens=300), hits, yes=[0.9] * 9).walk()
    assert ids(long) == hits[:3], "no more fit the tokens of the start"
    assert long[-1].stop is StopReason.ANSWERABLE


def test_yes_does_not_count_before_all_names_of_the_question_are_read() -> None:
    nodes, hits = [*shelf(4), segment("fox", "d9")], ["s00", "s01", "s02", "fox", "s03"]
    steps = World(nodes, hits, yes=[0.9, 0.9], named=["fox", "hen"]).walk(Walk(start_nodes=3))
    assert ids(steps) == hits[:4]
    assert steps[-1].stop is StopReason.ANSWERABLE
    assert ids(World(nodes, hits, yes=[0.9] * 9, named=["fox", "Where"]).walk()) == hits


def test_last_step_names_stop_reason() -> None:
    hits = [f"s{number:02}" for number in range(9)]
    whole = Walk(most_segments=ALL)
    assert World(shelf(9), hits).walk()[-1].stop is StopReason.MAX_NODES
    assert World(shelf(9), hits).walk(whole)[-1].stop is StopReason.EXHAUSTED
    assert World(shelf(9), hits).walk(Walk(most_segments=ALL, more_tokens=2 * COST))[-1].stop is StopReason.MAX_TOKENS
    assert World(shelf(9), hits, window=14 * 7 + 13).walk(whole)[-1].stop is StopReason.WINDOW
    assert World(shelf(9), []).walk() == []
    assert World(shelf(9), hits, window=13).walk() == []


def test_points_do_not_count_among_the_segments() -> None:
    nodes = [*(segment(f"s{i}", index=i) for i in range(6)), *(point(f"p{i}", index=i) for i in range(3))]
    world = World(nodes, [f"s{i}" for i in range(6)], similarity={"p0": 1.0, "p1": 0.9, "p2": 0.8})
    steps = world.walk(Walk(most_segments=5))
    assert ids(steps) == ["s0", "s1", "s2", "s3", "p0", "s4"]
    assert steps[-1].stop is StopReason.MAX_NODES


def test_a_circle_of_relations_ends() -> None:
    relations = [relation("Ann", "Ben", "s00"), relation("Ben", "Cay", "s01"), relation("Cay", "Ann", "s02")]
    world = World(
        shelf(3), ["s00"], relations=relations, similarity=dict.fromkeys((link.id for link in relations), 1.0),
        attention={"s00": 1.0, "s01": 1.0, "s02": 1.0},
    )  # fmt: skip
    steps = world.walk(Walk(start_nodes=1))
    assert ids(steps) == ["s00", "s01", "s02"]
    assert steps[-1].stop is StopReason.EXHAUSTED


def test_entity_in_2_000_segments_costs_a_bounded_number_of_rounds() -> None:
    nodes: list[Node] = [segment(f"s{number:05}", f"d{number:05}") for number in range(2_000)]
    relations = [relation("Ann", f"n{number}", f"s{number:05}") for number in range(2_000)]
    world = World(nodes, ["s00000"], relations=relations, attention={"s00000": 1.0},
                  similarity=dict.fromkeys((link.id for link in relations), 0.5))  # fmt: skip
    steps = world.walk(Walk(start_nodes=5, most_segments=ALL, more_tokens=5 * COST + 1))
    assert len(steps) == 7
    assert steps[-1].stop is StopReason.MAX_TOKENS
    assert world.graph.calls["expand"] == 7
    assert world.graph.calls["list_mentioned_entities"] == 7
    assert world.graph.calls["segments_naming"] == 0


@pytest.mark.parametrize("gone", [["s01"], ["s01", "s02", "s03", "s04", "s05"]], ids=len)
def test_forgotten_node_is_replaced_by_next_best(gone: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(shelf(8), [f"s{number:02}" for number in range(8)])
    nodes = world.graph.nodes
    reads: list[Sequence[str]] = []

    def reading(node_ids: Sequence[str]) -> list[Node]:
        reads.append(node_ids)
        return [node for node in nodes(node_ids) if len(reads) == 1 or node.id not in gone]

    monkeypatch.setattr(world.graph, "nodes", reading)
    steps = world.walk(Walk(ENTRY_ONLY, start_nodes=1, most_segments=ALL))
    assert ids(steps) == ["s00", *(f"s{number:02}" for number in range(1, 8) if f"s{number:02}" not in gone)]
    assert steps[-1].stop is StopReason.EXHAUSTED
    assert len(reads) <= len(steps) + 3, "what is gone is asked for once"


def test_walk_reads_only_requested_documents() -> None:
    way = relation("Ann", "Ben", "s03")
    world = World(shelf(4), ["s00", "s01", "s02"], relations=[way], mentions={"s00": ["Ann"]},
                  similarity={way.id: 1.0}, attention={"s00": 1.0})  # fmt: skip
    assert ids(world.walk(documents=["d00", "d02"])) == ["s00", "s02"]


def test_without_attention_a_relation_passes_on_its_cosine() -> None:
    near, far = relation("Ann", "Ben", "s03"), relation("Ann", "Cay", "s02")
    world = World(
        shelf(4), ["s00"], [], [near, far], {"s00": ["Ann"]}, {near.id: 0.9, far.id: 0.3},
        calibration=None, attends=False,
    )  # fmt: skip
    steps = world.walk(Walk(Weights(similarity=0), start_nodes=1))
    assert ids(steps) == ["s00", "s03", "s02"]
    assert [step.sources for step in steps[1:]] == [{"relation": pytest.approx(0.9)}, {"relation": pytest.approx(0.3)}]
    assert [step.attention for step in steps] == [0.0] * 3
