"""What is kept is found again, and a torn line is dropped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memgraph_rag.errors import SettingsError
from memgraph_rag.evaluation.outcomes import Building, Outcome, Outcomes, hash_inputs

ONE = Outcome(
    "k1", "story", "q1", "pecan", ((("s", 0, 9), 3),), answer="In “the” shed.\nYes.", prompt_tokens=7, seconds=0.25
)


def test_kept_question_is_read_back(tmp_path: Path):
    kept = Outcomes(tmp_path / "a" / "b")
    kept.keep(ONE)
    kept.keep_building(building := Building("story", 1, 2, 3, 4, 5, 6.5))
    again = Outcomes(tmp_path / "a" / "b")
    assert (again.find("k1"), again.find("k2")) == (ONE, None)
    assert (again.buildings("story"), again.buildings("other")) == ([building], [])


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x1e", "\r"], ids=ascii)
def test_foreign_line_ends_do_not_end_a_record(tmp_path: Path, mark: str):
    kept = Outcomes(tmp_path)
    outcome = replace(ONE, answer=f"In{mark}the shed.")
    kept.keep(outcome)
    kept.keep(replace(ONE, key="k2"))
    again = Outcomes(tmp_path)
    assert (again.find("k1"), again.find("k2")) == (outcome, replace(ONE, key="k2"))


def test_a_line_that_a_crash_cut_off_is_dropped(tmp_path: Path):
    kept = Outcomes(tmp_path)
    kept.keep(ONE)
    with (tmp_path / "outcomes.jsonl").open("a") as file:
        file.write('{"key": "k2", "data')
    again = Outcomes(tmp_path)
    assert again.find("k2") is None
    again.keep(replace(ONE, key="k3"))
    assert Outcomes(tmp_path).find("k3") == replace(ONE, key="k3")


def test_a_key_follows_from_every_input():
    assert hash_inputs(1, ["a"], {"x": 1, "y": 2}) == hash_inputs(1, ["a"], {"y": 2, "x": 1})
    assert len({hash_inputs(1, ["a"]), hash_inputs(1, ["b"]), hash_inputs("1", ["a"]), hash_inputs(["a"], 1)}) == 4


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="Expected a folder"):
        Outcomes(tmp_path / "file")


def test_outcomes_of_an_older_release_are_read(tmp_path: Path):
    row = {"key": "k1", "dataset": "story", "question": "q1", "method": "pecan", "found": [[["s", 0, 9], 3]]}
    (tmp_path / "outcomes.jsonl").write_text(json.dumps(row | {"prompt_tokens": 7, "parameters": 1_500_000_000}) + "\n")
    building = {"dataset": "story", "documents": 1, "segments": 2, "prompt_tokens": 3, "generated_tokens": 4}
    (tmp_path / "buildings.jsonl").write_text(json.dumps(building | {"model_calls": 5, "seconds": 6.5}) + "\n")
    kept = Outcomes(tmp_path)
    assert kept.find("k1") == Outcome("k1", "story", "q1", "pecan", ((("s", 0, 9), 3),), prompt_tokens=7)
    assert kept.buildings("story") == [Building("story", 1, 2, 3, 4, 5, 6.5)]
