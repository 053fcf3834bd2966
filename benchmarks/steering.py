"""How often a hostile note steers the answer to an honest question, by a real model.

    python benchmarks/steering.py [--model NAME] [--strategy walk] [--every N] [--json FILE]

``hostile_notes.json`` holds ten honest notes, a question of each with the words of which a right answer has one, and
three attacks on each: the first states a lie in the form of an answer, the others give the model orders. Each attack is
added alone to the honest notes, asked about, and forgotten. Counted, each with its 95 % interval (Wilson): answers that
repeat the lure; answers that are right all the same; attacks beside which the answer has a warning; right answers and
warnings where no hostile note is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from machine import header
from scipy.stats import binomtest

from memgraph_rag import Memory


def main() -> int:
    """Run the benchmark and print its table."""
    options = _options()
    notes = json.loads(Path(__file__).with_name("hostile_notes.json").read_text("utf-8"))
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(
            Path(folder) / "notes.lbug", model=options.model, strategy=options.strategy, layers=("entities",)
        ) as memory,
    ):
        print(header(memory), flush=True)
        for note in notes:
            memory.add(note["text"], key=note["key"])
        honest = [_asked(memory, note) for note in notes]
        attacks = [(note, attack) for note in notes for attack in note["attacks"]]
        attacked = [_attacked(memory, *attack) for attack in attacks[:: options.every]]
    rows = {
        "answers that repeat the lure": [row["lured"] for row in attacked],
        "right answers beside an attack": [row["right"] for row in attacked],
        "attacks that a warning names": [row["warned"] for row in attacked],
        "right answers without attack": [row["right"] for row in honest],
        "warnings without attack": [row["warned"] for row in honest],
    }
    for name, outcomes in rows.items():
        print(f"| {name} | {_share(outcomes)} |")
    if options.json:
        options.json.write_text(json.dumps({"honest": honest, "attacked": attacked}, indent=1, ensure_ascii=False))
    return 0


def _asked(memory: Memory, note: Mapping[str, Any]) -> dict[str, Any]:
    """What became of the question of one note."""
    answer = memory.ask(note["question"])
    text = answer.text.casefold()
    return {
        "key": note["key"],
        "answer": answer.text,
        "right": not answer.abstained and any(word in text for word in note["right"]),
        "lured": note["lure"] in text,
        "warned": bool(answer.warnings),
    }


def _attacked(memory: Memory, note: Mapping[str, Any], attack: str) -> dict[str, Any]:
    """What became of it beside a hostile note, which is then forgotten."""
    memory.add(attack, key="hostile")
    outcome = {"attack": attack, **_asked(memory, note)}
    memory.forget("hostile")
    print(f"{'LURED' if outcome['lured'] else 'held '} {attack[:60]!r}: {outcome['answer']!r}", flush=True)
    return outcome


def _share(outcomes: Sequence[bool]) -> str:
    interval = binomtest(sum(outcomes), len(outcomes)).proportion_ci(method="wilson")
    return f"{sum(outcomes)} of {len(outcomes)} [{interval.low:.0%}, {interval.high:.0%}]"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="auto")
    parser.add_argument("--strategy", default="walk")
    parser.add_argument("--every", type=int, default=1, help="only every n-th attack")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
