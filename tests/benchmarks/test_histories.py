"""Histories: small talk that is the same each time, users who told several, and which turns say what holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from histories import HELD_BACK, TUNED, History, join_histories, read_histories

FILES = [pytest.param(path, id=path.stem) for path in (TUNED, HELD_BACK)]


def history_of(tmp_path: Path, *gold: Mapping[str, Any], multi: bool = False, day: str = "") -> History:
    """A history whose turns are a day apart, from 1 May on; an empty ``gold`` is a turn of the assistant."""
    turns = [
        {
            "role": "user" if each else "assistant",
            "content": f"turn {number}",
            "time": f"2026-05-0{number + 1}T09:00",
            "id": str(number),
            "gold": each,
        }
        for number, each in enumerate(gold)
    ]
    as_of = {"day": day, "values": []} if day else None
    kinds = ["multi"] if multi else []
    line = {"id": "h", "kinds": kinds, "question": "?", "now": [], "as_of": as_of, "turns": turns}
    path = tmp_path / "ann.jsonl"
    path.write_text(json.dumps(line) + "\n", "utf-8")
    ((read,),) = read_histories(path).values()
    return read


@pytest.mark.parametrize("path", FILES)
def test_same_file_gives_the_same_histories(path: Path) -> None:
    assert read_histories(path) == read_histories(path)


@pytest.mark.parametrize("path", FILES)
def test_turns_of_a_history_are_in_order_with_ids_of_their_own(path: Path) -> None:
    for histories in read_histories(path).values():
        for each in histories:
            assert [turn["time"] for turn in each.turns] == sorted(turn["time"] for turn in each.turns)
            assert len({turn["id"] for turn in each.turns}) == len(each.turns)
            assert each.right_now | each.right_then <= {turn["id"] for turn in each.turns}


def test_small_talk_separates_the_written_turns() -> None:
    written = [json.loads(line) for line in TUNED.read_text("utf-8").splitlines()]
    read = [each for histories in read_histories(TUNED).values() for each in histories]
    without = {each["id"]: each for each in written if "time" not in each["turns"][0]}
    assert without
    for each in read:
        if each.id in without:
            talk = len(each.turns) - len(without[each.id]["turns"])
            assert 6 <= talk <= 12  # 3 to 6 pairs
            assert [turn["content"] for turn in each.turns if turn.get("gold")] == [
                turn["content"] for turn in without[each.id]["turns"] if turn.get("gold")
            ]


def test_joined_histories_keep_their_ids_apart() -> None:
    histories = next(iter(read_histories(TUNED).values()))[:7]
    joined = join_histories(histories, 3)
    assert {each.id for each in joined} == {each.id for each in histories}
    assert sorted(sum(each.user == user for each in joined) for user in {each.user for each in joined}) == [1, 3, 3]
    by_id = {each.id: each for each in histories}
    for each in joined:
        said = {turn["id"]: turn["content"] for turn in each.turns}
        alone = {turn["id"]: turn["content"] for turn in by_id[each.id].turns}
        assert len(said) == len(each.turns)
        assert {said[turn] for turn in each.right_now} == {alone[turn] for turn in by_id[each.id].right_now}
    assert joined == join_histories(histories, 3)


def test_last_statement_and_its_repeats_are_right(tmp_path: Path) -> None:
    bus, tram = {"states": "bus"}, {"states": "tram"}
    read = history_of(tmp_path, tram, bus, tram, {"mentions": "car"}, tram, day="2026-05-02")
    assert (read.right_now, read.stating) == ({"2", "4"}, {"0", "1", "2", "4"})
    assert read.right_then == {"1"}


def test_ended_value_shows_its_end_alone(tmp_path: Path) -> None:
    assert history_of(tmp_path, {"states": "bus"}, {"ends": "bus"}).right_now == {"1"}


def test_each_value_of_a_set_that_was_not_ended_is_right(tmp_path: Path) -> None:
    gold = ({"states": ["Rex", "Tom"]}, {"adds": "Mia"}, {"ends": "Tom"}, {"adds": "Rex"})
    read = history_of(tmp_path, *gold, multi=True)
    assert (read.right_now, read.is_set) == ({"1", "3"}, True)


def test_history_without_statement_has_no_right_turn(tmp_path: Path) -> None:
    read = history_of(tmp_path, {"mentions": "bus"}, {})
    assert (read.is_told, read.right_now, read.right_then) == (False, frozenset(), frozenset())
