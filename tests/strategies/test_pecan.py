"""Test the walk against a slow twin that computes PECAN's loop from full matrices at every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hand_made import HandMadeGraph, HandMadeSession, Known, ids, point, reading_context, segment
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.strategies import find_strategy
from memgraph_rag.strategies.pecan import Pecan
from memgraph_rag.types import Limits, Node, Step, StopReason, Summarizes, Vector

QUESTION = "Where is the fox?"


@dataclass
class World:
    """A graph with all its numbers: cosine, attention and probes."""

    nodes: list[Node]
    edges: list[Summarizes] = field(default_factory=list)
    similarity: dict[str, float] = field(default_factory=dict)
    attention: dict[str, float] = field(default_factory=dict)
    yes: Sequence[float] = ()
    window: int = 1_000_000
    calibration: Known | None = None

    @property
    def graph(self) -> HandMadeGraph:
        return HandMadeGraph(self.nodes, self.edges, similarity=self.similarity)

    @property
    def session(self) -> HandMadeSession:
        tokens = {node.id: node.tokens for node in self.nodes}
        return HandMadeSession(
            self.attention, yes=self.yes, window=self.window, tokens=tokens, calibration=self.calibration
        )

    def passes(
        self, pecan: Pecan | None = None, *, limits: Limits | None = None, documents: Sequence[str] | None = None
    ) -> list[tuple[Step, ...]]:
        return list(
            (pecan or Pecan()).read(
                QUESTION,
                reading_context(self.nodes, graph=self.graph, session=self.session, limits=limits, documents=documents),
            )
        )

    def walk(self, pecan: Pecan | None = None, **options) -> list[Step]:
        return [step for of_pass in self.passes(pecan, **options) for step in of_pass]


# ── the slow twin ────────────────────────────────────────────────────────────────────────────────────────────


def without(part: str) -> Pecan:
    """PECAN without one of its parts, as in its ablations."""
    return Pecan(**Pecan.ablations[f"without_{part}"])


def plain_walk(
    world: World, *, threshold: float, needed: int, linear: bool, similarity_weight: float
) -> list[tuple[str, float, float, float | None, StopReason | None]]:
    """Follow Seeds §1, "Search loop", steps 1 to 6, and §0, decisions 5 to 7; only S is kept from step to step."""
    names = sorted(node.id for node in world.nodes)
    place = {name: at for at, name in enumerate(names)}
    tokens = {node.id: node.tokens + 4 for node in world.nodes}
    E = np.zeros((len(names), len(names)))  # noqa: N806 - the paper's name
    for edge in world.edges:
        E[place[edge.source_id], place[edge.target_id]] = edge.weight
    similarity = np.array([max(world.similarity.get(name, 0.0), 0.0) for name in names])

    top = max(node.level for node in world.nodes)
    start = [node.id for node in sorted(world.nodes, key=lambda node: node.index) if node.level == top]
    if sum(tokens[name] for name in start) > world.window // 2:
        room, kept = world.window // 2, []
        for name in sorted(start, key=lambda name: (-world.similarity.get(name, 0.0), name)):
            if tokens[name] <= room or (not kept and tokens[name] <= world.window):
                kept.append(name)
                room -= tokens[name]
        start = [name for name in start if name in kept]

    S = list(start)  # noqa: N806 - the paper's name
    scores = [0.0] * len(S)
    rows: list[tuple[str, float, float, float | None, StopReason | None]] = []
    new = len(S)
    probes = 0
    while S:
        r = np.zeros(len(names))
        for n, name in enumerate(S, 1):
            r[place[name]] = world.attention.get(name, 0.0) * (n + 1 if linear else 1)
        z = E.T @ r
        unread = [name for name in names if name not in S]
        scaled = z / (z.sum() or 1.0) + similarity_weight * similarity / (similarity.sum() or 1.0)
        score = {name: scaled[place[name]] for name in unread}
        probed = world.yes[probes] if probes < len(world.yes) else 0.0
        probes += 1
        following = min(unread, key=lambda name: (-score[name], name), default=None)
        stop = None
        if sum(p > threshold for p in world.yes[:probes]) >= needed:
            stop = StopReason.ANSWERABLE
        elif following is None:
            stop = StopReason.EXHAUSTED
        elif sum(tokens[name] for name in S) + tokens[following] > world.window:
            stop = StopReason.WINDOW
        for name, of_node in zip(S[-new:], scores[-new:], strict=True):
            last = name == S[-1]
            attended = world.attention.get(name, 0.0)
            rows.append((name, of_node, attended, probed if last else None, stop if last else None))
        if stop is not None:
            break
        S.append(following)
        scores.append(score[following])
        new = 1
    return rows


sixteenths = st.integers(0, 16).map(lambda number: number / 16)  # sums of these are exact, so ties are ties


@st.composite
def worlds(draw: st.DrawFn) -> World:
    nodes: list[Node] = []
    for level, most in ((0, 5), (1, 4), (2, 3)):
        for index in range(draw(st.integers(1 if level == 0 else 0, most))):
            tokens = draw(st.integers(1, 30))
            made = segment(f"s{index}", index=index, tokens=tokens) if level == 0 else None
            nodes.append(made or point(f"{'pq'[level - 1]}{index}", level=level, index=index, tokens=tokens))
    edges = [
        Summarizes(upper.id, lower.id, weight)
        for upper in nodes
        for lower in nodes
        if upper.level == lower.level + 1 and (weight := draw(sixteenths)) > 0
    ]
    return World(
        nodes,
        edges,
        similarity={node.id: draw(st.integers(-4, 16)) / 16 for node in nodes},
        attention={node.id: draw(sixteenths) for node in nodes},
        yes=draw(st.lists(sixteenths, max_size=8)),
        window=draw(st.sampled_from([60, 120, 1_000_000])),
    )


@given(
    worlds(),
    st.sampled_from([0.0, 0.5, 0.9]),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_walk_equals_the_plain_reference(
    world: World, threshold: float, needed: int, linear: bool, similarity_weight: float
) -> None:
    pecan = Pecan(
        calibrated=not linear, yes_threshold=threshold, yes_needed=needed, similarity_weight=similarity_weight
    )
    world = world if linear else replace(world, calibration=Known())
    expected = plain_walk(world, threshold=threshold, needed=needed, linear=linear, similarity_weight=similarity_weight)
    steps = world.walk(pecan)
    assert ids(steps) == [name for name, *_ in expected]
    assert [step.score for step in steps] == pytest.approx([score for _, score, *_ in expected])
    assert [(step.attention, step.p_yes, step.stop) for step in steps] == [tuple(rest) for _, _, *rest in expected]


# ── by hand ──────────────────────────────────────────────────────────────────────────────────────────────────


def example(**changes) -> World:
    """Two points over three segments: p0 → s0 0.25, s1 0.75; p1 → s1 0.5, s2 0.5."""
    given = {
        "nodes": [*(segment(f"s{i}", index=i) for i in range(3)), *(point(f"p{i}", index=i) for i in range(2))],
        "edges": [
            Summarizes("p0", "s0", 0.25),
            Summarizes("p0", "s1", 0.75),
            Summarizes("p1", "s1", 0.5),
            Summarizes("p1", "s2", 0.5),
        ],
        "attention": {"p0": 0.25, "p1": 0.5, "s0": 0.125, "s1": 0.125, "s2": 0.125},
    }
    return World(**(given | changes))


def test_scores_of_a_small_walk_worked_out_by_hand() -> None:
    steps = example(similarity={"s0": 0.6, "s1": 0.2, "s2": 0.2}).walk()
    assert ids(steps) == ["p0", "p1", "s1", "s0", "s2"]
    # r = 0.25 x 2, 0.5 x 3; z(s1) = 0.5 x 0.75 + 1.5 x 0.5 = 1.125 of 2.0 in all; its similarity is 0.2 of 1.0
    # s1 counts in both sums also after it was read: s0 has 0.125 of 2.0 and 0.6 of 1.0 and wins against s2
    assert steps[2].score == pytest.approx(1.125 / 2.0 + 0.2 / 1.0)
    assert steps[3].score == pytest.approx(0.125 / 2.0 + 0.6 / 1.0)
    assert steps[4].score == pytest.approx(0.75 / 2.0 + 0.2 / 1.0)
    assert steps[4].stop is StopReason.EXHAUSTED


def test_the_start_set_is_one_pass_and_the_model_is_asked_after_it() -> None:
    passes = example(yes=[0.3, 0.4]).passes()
    assert [ids(of_pass) for of_pass in passes] == [["p0", "p1"], ["s1"], ["s2"], ["s0"]]
    assert [step.p_yes for step in passes[0]] == [None, 0.3]
    assert [step.score for step in passes[0]] == [0.0, 0.0]


def test_similarity_reaches_nodes_without_edges() -> None:
    world = example(edges=[Summarizes("p0", "s0", 1.0)], similarity={"s2": 1.0})
    assert ids(world.walk())[2:] == ["s0", "s2", "s1"], "a tie of 1 and 1 goes by id"
    assert ids(world.walk(Pecan(similarity_weight=2.0)))[2] == "s2"
    assert ids(world.walk(Pecan(similarity_weight=0.0)))[2:] == ["s0", "s1", "s2"]


def test_without_any_score_nodes_are_read_by_id() -> None:
    assert ids(example(attention={}).walk())[2:] == ["s0", "s1", "s2"]


@table(("needed", "read"), [(1, ["p0", "p1"]), (2, ["p0", "p1", "s1", "s2"]), (3, ["p0", "p1", "s1", "s2", "s0"])])
def test_reflection_counts_every_yes(needed: int, read: list[str]) -> None:
    steps = example(yes=[0.9, 0.1, 0.9, 0.9]).walk(Pecan(yes_needed=needed))
    assert ids(steps) == read
    assert steps[-1].stop is StopReason.ANSWERABLE
    assert all(step.stop is None for step in steps[:-1])


def test_a_yes_must_be_above_the_threshold() -> None:
    assert example(yes=[0.5]).walk()[-1].stop is StopReason.EXHAUSTED
    assert len(example(yes=[0.51]).walk()) == 2
    assert len(example(yes=[0.51]).walk(Pecan(yes_threshold=0.98))) == 5


# ── calibration ──────────────────────────────────────────────────────────────────────────────────────────────


def test_the_threshold_is_the_calibrations_unless_one_is_given() -> None:
    world = example(yes=[0.6], calibration=Known(yes_threshold=0.7))
    assert world.walk(Pecan(calibrated=True))[-1].stop is StopReason.EXHAUSTED
    assert len(world.walk(Pecan(calibrated=True, yes_threshold=0.55))) == 2
    assert len(example(yes=[0.4], calibration=Known(yes_threshold=0.3)).walk(Pecan(calibrated=True))) == 2


def test_pecan_is_the_papers_whatever_the_calibration() -> None:
    known = Known(yes_threshold=0.9, attention_weight=0.0)
    plain = example(yes=[0.2, 0.6], attention={"p0": 0.5, "p1": 0.375}, edges=[Summarizes("p1", "s2", 1.0)])
    calibrated = replace(plain, calibration=known)
    assert calibrated.walk(find_strategy("pecan")) == plain.walk(Pecan())
    assert calibrated.walk(Pecan(calibrated=True)) != plain.walk(Pecan())


def test_calibration_switches_position_factor_off() -> None:
    # with the position factor p1 (read second) outweighs p0; without it p0 does
    plain = example(
        attention={"p0": 0.5, "p1": 0.375}, edges=[Summarizes("p0", "s0", 1.0), Summarizes("p1", "s2", 1.0)]
    )
    known = replace(plain, calibration=Known())
    assert ids(plain.walk())[2] == "s2"
    assert ids(known.walk(Pecan(calibrated=True)))[2] == "s0"


def test_attention_counts_as_much_as_the_calibration_says() -> None:
    given = {"edges": [Summarizes("p0", "s0", 1.0)], "similarity": {"s1": 0.6, "s2": 0.4}}
    assert ids(example(**given).walk())[2:] == ["s0", "s1", "s2"]
    weak = example(**given, calibration=Known(attention_weight=0.5)).walk(Pecan(calibrated=True))
    assert [(step.node.id, step.score) for step in weak[2:]] == [("s1", 0.6), ("s0", 0.5), ("s2", 0.4)]
    off = example(**given, calibration=Known(attention_weight=0.0))
    assert ids(off.walk(Pecan(calibrated=True)))[2:] == ["s1", "s2", "s0"], "similarity alone"
    assert ids(off.walk(Pecan(calibrated=True, attention_weight=1.0)))[2] == "s0"


def test_reading_ends_where_the_next_node_does_not_fit() -> None:
    steps = example(window=14 * 4).walk()
    assert len(steps) == 4
    assert steps[-1].stop is StopReason.WINDOW
    assert example(window=14 * 5).walk()[-1].stop is StopReason.EXHAUSTED


# ── start set ────────────────────────────────────────────────────────────────────────────────────────────────


def many_points(**changes) -> World:
    nodes = [segment("s"), *(point(f"p{i}", index=i) for i in range(6))]
    similarity = {"p0": 0.1, "p1": 0.6, "p2": 0.2, "p3": 0.5, "p4": 0.3, "p5": 0.4}
    return World(nodes, similarity=similarity, **changes)


def test_start_set_above_half_the_window_keeps_the_most_similar() -> None:
    first = many_points(window=2 * 14 * 3).passes()[0]
    assert ids(first) == ["p1", "p3", "p5"]


def test_large_start_node_is_still_read() -> None:
    world = World([segment("s0", tokens=60), segment("s1", index=1, tokens=60)], similarity={"s1": 0.5}, window=100)
    assert [ids(of_pass) for of_pass in world.passes()] == [["s1"]]
    assert world.walk()[-1].stop is StopReason.WINDOW


def test_no_node_is_read_if_none_fits() -> None:
    assert World([segment("s0", tokens=60)], window=50).passes() == []


def test_the_start_set_keeps_to_the_budget() -> None:
    assert ids(many_points().passes(limits=Limits(nodes=2))[0]) == ["p1", "p3"]
    assert ids(many_points().passes(limits=Limits(tokens=3 * 14 + 4))[0]) == ["p1", "p3"], "the question took 5"
    assert ids(many_points().passes(limits=Limits(tokens=1))[0]) == ["p1"], "one is always read"


def test_a_trimmed_start_node_can_still_be_read_later() -> None:
    steps = many_points(window=2 * 14 * 3).walk()
    assert ids(steps)[:4] == ["p1", "p3", "p5", "p4"]


@table(("titles", "line"), [(False, "The fox. s"), (True, "Foxes: The fox. s")])
def test_titles_are_read_where_they_are_asked_for(titles: bool, line: str) -> None:
    lines: list[str] = []

    class Session(HandMadeSession):
        def append(self, texts: Sequence[str]) -> Vector:
            lines.extend(texts)
            return super().append(texts)

    node = replace(segment("s"), text="The fox. s")
    graph = HandMadeGraph([node], titles={node.document_id: "Foxes"})
    context = reading_context([node], graph=graph, session=Session())
    assert len(list(Pecan(titles=titles).read(QUESTION, context))) == 1
    assert lines == [line]


# ── documents ────────────────────────────────────────────────────────────────────────────────────────────────


def library(count: int) -> World:
    nodes = [segment(f"s{i:02}", f"d{i:02}") for i in range(count)]
    return World(nodes, similarity={node.id: 1 - place / 100 for place, node in enumerate(nodes)})


def test_few_documents_are_all_walked() -> None:
    assert len(library(8).walk()) == 8


def test_first_documents_of_search_are_walked() -> None:
    assert ids(library(30).walk()) == [f"s{i:02}" for i in range(8)]


def test_only_given_documents_are_walked() -> None:
    assert set(ids(library(30).walk(documents=["d20", "d03"]))) == {"s20", "s03"}


def test_a_document_without_points_enters_with_its_segments() -> None:
    world = World([segment("s0", "d"), point("p0", "d"), segment("t0", "e"), segment("t1", "e", index=1)])
    assert [ids(of_pass) for of_pass in world.passes()] == [["p0", "t0", "t1"], ["s0"]]


def test_empty_graph_gives_no_step() -> None:
    assert World([]).passes() == []


# ── ablations ────────────────────────────────────────────────────────────────────────────────────────────────


def tree() -> World:
    """Two points over three segments; the model says Yes at once, and the less similar point leads to "low"."""
    return World(
        [
            point("top"),
            point("side", index=1),
            *(segment(name, index=at) for at, name in enumerate(("near", "far", "low"))),
        ],
        [Summarizes("top", "near", 0.9), Summarizes("top", "far", 0.1), Summarizes("side", "low", 1.0)],
        similarity={"top": 0.5, "side": 0.4, "near": 0.3, "far": 0.6, "low": 0.1},
        attention={"top": 0.1, "side": 0.9, "near": 0.1, "far": 0.1, "low": 0.1},
        yes=[0.9] * 9,
    )


@table(
    ("count", "read"),
    [(None, ["top", "side", "low", "far", "near"]), (4, ["top", "side", "low", "far"]), (3, ["top", "near", "far"])],
)
def test_without_stop_a_fixed_count_is_read(count: int | None, read: list[str]) -> None:
    """A count of four over two levels gives a start set of two nodes, a count of three gives one."""
    assert ids(tree().walk(find_strategy("pecan"))) == ["top", "side"]
    steps = tree().walk(without("stop"), limits=Limits(nodes=count))
    assert ids(steps) == read
    assert steps[-1].stop is (StopReason.MAX_NODES if count else StopReason.EXHAUSTED)


def test_ablation_switches_each_signal_off() -> None:
    def third(name: str) -> str:
        world = replace(tree(), yes=[0.1] * 9)
        return ids(world.walk(without(name)))[2]

    assert third("attention") == "far", "the most similar of what is not read"
    assert third("similarity") == "low", "what the node below which it stands attended to"


@pytest.mark.parametrize("gone", [{"s1"}, {"s2"}, {"s1", "s2", "s3"}])
def test_forgotten_node_is_replaced_by_next_best(gone: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One top-level point is read; the segments under it fall from the first to the last."""
    segments = [segment(f"s{number}", "d", index=number) for number in range(6)]
    cosines = {passage.id: 1 - number / 10 for number, passage in enumerate(segments)}
    top = point("p", "d")
    world = World([*segments, top], [Summarizes("p", passage.id, 1 / 6) for passage in segments], {"p": 1.0, **cosines})
    nodes = HandMadeGraph.nodes
    monkeypatch.setattr(
        HandMadeGraph, "nodes", lambda graph, asked: [node for node in nodes(graph, asked) if node.id not in gone]
    )

    steps = world.walk(Pecan())

    assert ids(steps) == ["p", *(passage.id for passage in segments if passage.id not in gone)]
    assert steps[-1].stop is StopReason.EXHAUSTED
