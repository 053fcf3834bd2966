"""A memory of four groups of people, each of which meets five times at a place of its own; two of them meet once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memgraph_rag import Document, Memory
from memgraph_rag.contracts import GraphStore
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer

GROUPS = [("Ann", "Ben", "Cleo"), ("Dora", "Emil", "Fritz"), ("Gina", "Hugo", "Ida"), ("Jan", "Kim", "Lou")]
PLACES = ("Oslo", "Bergen", "Tromso", "Narvik")

NAMES = FakeRecognizer(dict.fromkeys([*PLACES, *sum(GROUPS, ()), "Zoe", "Yuri"], "NAME"))


def open_meetings(store: Path | GraphStore, *, model: FakeLanguageModel | None = None, **options: Any) -> Memory:
    """The memory, with entities only; a document for each meeting, under "group-day"."""
    parts = {"model": model or FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": NAMES, **options}
    memory = Memory(store, layers=["entities"], **parts)
    meetings = [Document(_story(group, day), key=f"{group}-{day}") for group in range(4) for day in range(5)]
    for _ in memory.add_many([*meetings, Document("Cleo met Dora at the pond.", key="meeting")]):
        pass
    return memory


def _story(group: int, day: int) -> str:
    (first, second, third), place = GROUPS[group], PLACES[group]
    return f"{first} met {second} in {place} on day {day}. {second} gave {third} a wooden box in {place}."
