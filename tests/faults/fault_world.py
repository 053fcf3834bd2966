"""A small world of documents that faults are tried on, and what its graph must be in each of its states.

A state says which version of each key is stored. It knows the public API and the stores' addresses. The invariant:
the graph of a state does not depend on how it was reached, so that after any fault the graph can be compared with
one that was built in peace.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memories import FOX, RIVER, options
from store_snapshot import Lines, whole_graph

from memgraph_rag import Memory
from memgraph_rag.contracts import Progress
from memgraph_rag.ingestion import list_known_layers
from memgraph_rag.models.files.journal import Journal, journal_key
from memgraph_rag.systems.raptor.clusters import ClustersLayer
from memgraph_rag.systems.raptor.soft_clusters import Clustering
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Generation, Prompt

State = tuple[int, ...]
"""For each key the version that is stored; 0 is none."""

Graph = tuple[Lines, Lines]

KEYS = ("ann", "tom", "mill")

# Versions of a key share names with each other and with other keys, and some sentences.
TEXTS = {
    ("ann", 1): FOX,
    ("ann", 2): f"{RIVER} Ann and Tom saw it.",
    ("tom", 1): " ".join(FOX.split(". ")[:6]) + ". TOM wrote it down. Tom told ANN of it.",
    ("tom", 2): f"{FOX}\n\n{RIVER}\n\n{FOX[::-1]}",
    ("mill", 1): RIVER,
    ("mill", 2): "Tom bought the mill. Ann lent him the money. The Miller moved to Rome. Rome was far away.",
}

ONE_CLUSTER = ClustersLayer(clustering=Clustering(dimensions=64))
"""RAPTOR's layer without UMAP, which compiles itself for 15 s in each process: up to 65 segments are one cluster."""

LAYERS = [ONE_CLUSTER if name == ONE_CLUSTER.name else name for name in list_known_layers()]
"""All layers."""

SECONDS_PER_PROMPT = 0.004  # so that a kill can fall between two of them


@dataclass(frozen=True)
class Place:
    """Where a memory is: the arguments of ``open_store``, and those of ``Memory``."""

    address: dict[str, Any]
    namespace: str
    cache: Path

    def open(self, **changes: Any) -> Memory:
        """A memory here whose model keeps a journal; a new one each time."""
        model = JournaledModel(self.cache / "journal")
        return Memory(
            self.address["address"],
            neo4j={name: value for name, value in self.address.items() if name != "address"},
            namespace=self.namespace,
            cache_dir=self.cache,
            **options(**{"model": model, "layers": LAYERS, **changes}),
        )


class JournaledModel(FakeLanguageModel):
    """Keeps what it writes in a journal, prompt by prompt, as the real model does.

    Attributes:
        written: how many prompts it wrote to, and did not find.
        told: called after each of them.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.written = 0
        self.told: Callable[[], None] = lambda: None

    def attach(self, journal: Journal) -> None:
        """Share the memory's journal, so that what the memory settles is what this kept."""
        self._journal = journal

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        done = []
        for prompt in prompts:
            key = journal_key(self.name, prompt, max_tokens, stop, schema)
            generation = self._journal.find(key)
            if generation is None:
                time.sleep(SECONDS_PER_PROMPT)
                (generation,) = super().generate([prompt], max_tokens=max_tokens, stop=stop, schema=schema)
                self._journal.keep(key, generation)
                self.written += 1
                self.told()
            done.append(generation)
        return done


def open_journaled(place: Place, **changes: Any) -> tuple[Memory, JournaledModel]:
    """A memory and its model, which keep one journal."""
    memory = place.open(**changes)
    model = memory.language_model
    assert isinstance(model, JournaledModel)
    model.attach(memory._parts.journal)
    return memory, model


def move(memory: Memory, before: State, after: State) -> None:
    """Bring one key from its version to another: add, replace, forget."""
    for key, held, wanted in zip(KEYS, before, after, strict=True):
        if held == wanted:
            continue
        if wanted:
            memory.add(TEXTS[key, wanted], key=key)
        else:
            memory.forget(key)


def read_some(memory: Memory) -> Any:
    """What a search finds, the counts and the keys, as values that can be compared."""
    results = memory.search("Who built a wooden box?", mode="hybrid", k=3)
    return (
        [evidence.segment.id for evidence in results],
        memory.status(),
        [record.key for record in memory.documents()],
    )


@dataclass
class World:
    """The graph of every state at a place, built in peace."""

    place: Place
    graphs: dict[State, Graph] = field(default_factory=dict)

    def graph(self, memory: Memory) -> Graph:
        return whole_graph(memory._parts.store, self.place.address)

    def build(self, states: Iterable[State] | None = None) -> None:
        """Walk through these states (by default all) and look at the graph of each; ends with nothing stored."""
        memory, _ = open_journaled(self.place)
        held = (0,) * len(KEYS)
        with memory:
            self.graphs[held] = self.graph(memory)
            for state in (*dict.fromkeys(_all_states() if states is None else states), held):
                for next_one in _single_moves(held, state):
                    move(memory, held, next_one)
                    held = next_one
                    graph = self.graph(memory)
                    assert self.graphs.setdefault(held, graph) == graph, f"{held} has two graphs"

    def name(self, graph: Graph) -> State | None:
        """The state that a graph is; None where it is none."""
        return next((state for state, known in self.graphs.items() if known == graph), None)


def _all_states() -> Iterator[State]:
    """Each once, each differing from the last in one key (a Gray code)."""
    held = [0] * len(KEYS)
    direction = [1] * len(KEYS)
    yield tuple(held)
    for _ in range(3 ** len(KEYS) - 1):
        for place in range(len(KEYS)):
            if 0 <= held[place] + direction[place] <= 2:
                held[place] += direction[place]
                break
            direction[place] *= -1
        yield tuple(held)


def _single_moves(held: State, wanted: State) -> Iterator[State]:
    for place, (version, other) in enumerate(zip(held, wanted, strict=True)):
        if version != other:
            held = (*held[:place], other, *held[place + 1 :])
            yield held


def neighbours(state: State) -> list[State]:
    """All states that one call leads to."""
    return [
        (*state[:place], version, *state[place + 1 :])
        for place, version in itertools.product(range(len(KEYS)), range(3))
        if state[place] != version
    ]


def route(count: int, seed: int) -> list[State]:
    """The states that ``count`` random calls lead to, one after the other, from nothing stored."""
    chance = random.Random(seed)
    states: list[State] = [(0,) * len(KEYS)]
    for _ in range(count):
        states.append(chance.choice(neighbours(states[-1])))
    return states[1:]


def changed(before: State, after: State) -> tuple[str, int]:
    """The key in which two states differ, and its version in the second."""
    return next((KEYS[at], after[at]) for at in range(len(KEYS)) if after[at] != before[at])
