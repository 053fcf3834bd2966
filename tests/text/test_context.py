"""Test which text is embedded for a segment, and how neighbours' vectors are added to a turn's vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memgraph_rag.text.context import NEIGHBOUR_SHARE, mix_neighbours, write_in_context
from memgraph_rag.types import Annotation, Segment

SHARE = np.float32(NEIGHBOUR_SHARE)


def turn(index: int, text: str) -> Segment:
    return Segment(f"s{index}", "d", index, text, 0, len(text), 1, "ann", "2024-05-01T10:00:00")


def test_passage_is_embedded_with_its_title() -> None:
    passages = [replace(turn(0, "It ran."), speaker=""), replace(turn(1, "It slept."), speaker="")]
    assert write_in_context("A Fox", passages) == ["A Fox\nIt ran.", "A Fox\nIt slept."]
    assert write_in_context("", passages) == ["It ran.", "It slept."]
    vectors = np.eye(2, dtype=np.float32)
    assert (mix_neighbours(vectors, passages) == vectors).all()


def test_turn_is_embedded_with_its_day_alone() -> None:
    texts = write_in_context("A chat", [turn(0, "One."), replace(turn(1, "Two."), time="")])
    assert texts[0].splitlines()[1:] == ["One."]
    assert texts[0].splitlines()[0].startswith("1 May 2024")
    assert texts[1] == "Two."


def test_context_is_written_above_its_segments() -> None:
    passages = [replace(turn(0, "It ran."), speaker=""), replace(turn(1, "It slept."), speaker="")]
    context = [
        Annotation("A Fox\nIt is about a fox.", layer="context"),
        Annotation("Night", ("s1",), layer="context"),
        Annotation("1843", ("s0",), layer="years"),
    ]
    assert write_in_context("A Fox", passages, context) == [
        "A Fox\nIt is about a fox.\nIt ran.",
        "A Fox\nIt is about a fox.\nNight\nIt slept.",
    ]
    assert write_in_context("A Fox", passages, []) == ["It ran.", "It slept."]


def test_turn_in_context_is_embedded_with_title_speaker_and_day() -> None:
    turns = [turn(0, "One."), replace(turn(1, "Two."), time="")]
    day = write_in_context("", turns)[0].splitlines()[0]
    assert write_in_context("", turns, [Annotation("A chat", layer="context")]) == [
        f"A chat\nann, {day}\nOne.",
        "A chat\nann\nTwo.",
    ]


def test_turn_takes_in_both_neighbours() -> None:
    vectors = np.eye(3, dtype=np.float32)
    mixed = mix_neighbours(vectors, [turn(0, "One."), turn(1, "Two."), turn(2, "Three.")])
    assert mixed.tolist() == [[1, SHARE, 0], [SHARE, 1, SHARE], [0, SHARE, 1]]
    assert (vectors == np.eye(3)).all(), "what was given is unchanged"


def test_an_echo_is_no_context_of_evidence() -> None:
    turns = [turn(0, "One."), replace(turn(1, "Echo."), echo=True), turn(2, "Three.")]
    mixed = mix_neighbours(np.eye(3, dtype=np.float32), turns)
    assert mixed.tolist() == [[1, 0, SHARE], [0, 1, 0], [SHARE, 0, 1]]


def test_document_without_segments_has_no_vectors() -> None:
    assert mix_neighbours(np.zeros((0, 3), np.float32), []).shape == (0, 3)
