"""The trace as a person reads it: how each node was come by, and what was said to be missing."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from memgraph_rag.cli.ask import replay
from memgraph_rag.cli.json_output import write_json
from memgraph_rag.cli.render import evidence_lines, walk_line
from memgraph_rag.types import Answer, Evidence, Part, Segment, Step, StopReason, Usage

SEGMENT = Segment("s", "d", 0, "Ben lives in Rome.", 0, 18, 5)


def shown(step: Step) -> list[str]:
    console = Console(file=io.StringIO(), width=160, highlight=False)
    walk_line(console, 3, step.as_dict())
    return console.file.getvalue().splitlines()


def test_a_node_from_one_list_takes_one_line() -> None:
    (line,) = shown(Step(SEGMENT, 1.0, 0.5, 0.25, sources={"entry": 1.0}))
    assert line.split() == ["3", "text", "1.000", "0.50000", "0.25", "Ben", "lives", "in", "Rome."]


def test_step_shows_sources_relation_dropped_nodes_and_reason_below() -> None:
    step = Step(
        SEGMENT,
        0.75,
        0.5,
        sources={"entry": 0.5, "attention": 0.0, "relation": 0.25},
        via="Ann is Ben's\x1b[2J sister",
        reason="Where Cay lives.",
        dropped=("a", "b"),
    )
    _, sources, dropped, missing = shown(step)
    assert sources.strip() == "entry 0.500 + relation 0.250, by “Ann is Ben's\N{REPLACEMENT CHARACTER}[2J sister”"
    assert dropped.strip() == "2 nodes let go before it, to make room"
    assert missing.strip() == "looks for: Where Cay lives."


def test_a_search_result_keeps_the_lines_and_indents_of_its_passage() -> None:
    text = "def run():\n\treturn 1\n\n\n 2. notes.md\rforged\x1b[2J"
    evidence = Evidence(replace(SEGMENT, text=text), "a.py", 1.0, {"graph": 1})
    assert evidence_lines(1, evidence.as_dict()).plain.splitlines()[1:] == [
        "    def run():",
        "        return 1",
        "     2. notes.md",
        "    forged\N{REPLACEMENT CHARACTER}[2J",
    ]


def test_replay_shows_a_part_after_the_steps_that_were_read_for_it() -> None:
    parts = (Part("Where does Ann's brother live?", "Rome", (), 1), Part("Who is mayor of Rome?", ""))
    answer = Answer(
        "Who is mayor of the city of Ann's brother?", "Nothing.", True, StopReason.NOTHING_FOUND, (),
        (Step(SEGMENT, 1.0, 0.5), Step(replace(SEGMENT, id="t", text="Cay."), 0.5, 0.5)), Usage(), "walk", "m",
        parts=parts,
    )  # fmt: skip
    console = Console(file=io.StringIO(), width=160, highlight=False)
    replay(answer.as_dict(), console)
    lines = [line.strip() for line in console.file.getvalue().splitlines()]
    assert lines[2] == "1. Where does Ann's brother live? → Rome"
    assert "2. Who is mayor of Rome? → nothing found" in lines


def test_json_keeps_its_text_and_drives_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    form = {"title": "Zo\u00eb \x1b]0;x\x07 \u202e \x9b31m \udcff"}
    write_json(form)
    shown = capsys.readouterr().out
    assert "Zo\u00eb" in shown
    assert shown.replace("\n", "").isprintable()
    assert json.loads(shown) == form
