"""Who reads while a document is written sees it whole or not at all, behind each single statement of the write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from all_strategies import STRATEGIES
from fault_world import KEYS, TEXTS, Place, State, move, open_journaled

from memgraph_rag import Limits, Memory

MOVES: tuple[tuple[State, State], ...] = (((0, 1, 0), (1, 1, 0)), ((1, 1, 0), (2, 1, 0)), ((2, 1, 0), (0, 1, 0)))

PATIENCE_S = {"ladybug": 0.2, "neo4j": 3.0}
"""How long a write waits for its reader: on Ladybug it waits for the write, on Neo4j where it stores what it was
answered."""


def seen(memory: Memory, number: int) -> tuple[State, list[str]]:
    """Which version of each key a reader finds, and what it found of a document that is none of its versions."""
    records = {record.key: record for record in memory.documents()}
    held, torn = [], []
    for place, key in enumerate(KEYS):
        record = records.get(key)
        segments = memory._parts.store.list_segments(record.id) if record is not None else []
        text = "".join(segment.text for segment in segments)
        version = next((version for version in (1, 2) if TEXTS[key, version] == text), 0)
        held.append(version)
        if text and not version:
            torn.append(f"{KEYS[place]}: {text!r}")
        elif version and record is not None:
            counts = memory._parts.store.count_by_document([record.id])[record.id]
            torn += [f"{key}: {counts}"] if counts["Segment"] != len(segments) else []
    strategy = sorted(STRATEGIES)[number % len(STRATEGIES)]
    answer = memory.ask("Who built a wooden box?", strategy=strategy, limits=Limits(nodes=4))
    for cited in answer.citations:
        texts = [TEXTS[cited.document_key, version] for version in (1, 2)]
        if cited.quote not in [text[cited.start : cited.end] for text in texts]:
            torn.append(f"{strategy}: {cited}")
    return tuple(held), torn


@pytest.mark.parametrize(("before", "after"), MOVES, ids=["add", "replace", "forget"])
def test_reader_sees_whole_documents(place: Place, engine: str, before: State, after: State) -> None:
    memory, _ = open_journaled(place)
    elsewhere = memory if engine == "ladybug" else open_journaled(place)[0]  # a file has one memory
    sightings: list[tuple[State, list[str]]] = []
    readers: list[threading.Thread] = []

    def read() -> None:
        sightings.append(seen(elsewhere, len(readers)))

    def watched(do: Callable[..., Any]) -> Callable[..., Any]:
        def done(*arguments: Any, **given: Any) -> Any:
            result = do(*arguments, **given)
            reader = threading.Thread(target=read)
            readers.append(reader)
            reader.start()
            reader.join(PATIENCE_S[engine.partition("-")[0]])
            return result

        return done

    with memory, elsewhere:
        move(memory, (0, 0, 0), before)
        store = memory._parts.store
        transaction = store._transaction  # type: ignore[attr-defined]

        def watch(operation: str, work: Callable[..., Any], *given: Any, **options: Any) -> Any:
            if operation in ("remember", "learn"):  # a reader's own: what it was answered, and what it learnt
                return transaction(operation, work, *given, **options)

            def seen_work(write: Any) -> Any:
                return work(replace(write, run=watched(write.run), create=watched(write.create)))

            return transaction(operation, seen_work, *given, **options)

        store._transaction = watch  # type: ignore[attr-defined]
        move(memory, before, after)
        for reader in readers:
            reader.join(60)
        sightings.append(seen(elsewhere, 0))
        del store._transaction  # type: ignore[attr-defined]
        move(memory, after, (0, 0, 0))
    assert len(sightings) == len(readers) + 1 > 4
    assert [torn for _, torn in sightings if torn] == []
    assert {state for state, _ in sightings} <= {before, after}
    assert sightings[-1][0] == after
