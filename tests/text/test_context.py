"""What is embedded of a segment."""

from __future__ import annotations

from dataclasses import replace

from memgraph_rag.text.context import in_context
from memgraph_rag.types import Segment


def turn(index: int, text: str) -> Segment:
    return Segment(f"s{index}", "d", index, text, 0, len(text), 1, "ann", "2024-05-01T10:00:00")


def test_a_passage_stands_under_its_title() -> None:
    assert in_context("A Fox", [replace(turn(0, "It ran."), speaker="")]) == ["A Fox\nIt ran."]


def test_a_turn_stands_between_its_neighbours_under_its_day() -> None:
    first, second, third = in_context("", [turn(0, "One."), turn(1, "Two."), turn(2, "Three.")])
    assert second.splitlines()[1:] == ["One.", "Two.", "Three."]
    assert first.splitlines()[1:] == ["One.", "Two."]
    assert third.splitlines()[1:] == ["Two.", "Three."]


def test_an_echo_is_no_context_of_evidence() -> None:
    turns = [turn(0, "One."), replace(turn(1, "Echo."), echo=True), turn(2, "Three.")]
    first, echo, third = in_context("", turns)
    assert "Echo" not in first + third
    assert first.splitlines()[1:] == third.splitlines()[1:] == ["One.", "Three."]
    assert echo.splitlines()[1:] == ["Echo."]
