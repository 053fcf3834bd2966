"""Does the memory say what holds, as people tell it in everyday words? Search and ``ask`` on histories.

    python benchmarks/what_holds.py FILE… [--model qwen2.5-coder-1.5b-instruct] [--output FILE]

Each history is a user; and again each is one of ten that a user told. Measured, with 95 % intervals (Wilson): is the
first result of ``search`` a turn that says what holds, now and as of a day: without facts and likeness ("plain"),
without a model ("search") and with the judge of turns ("judged")? Does ``ask`` name the value in ``Answer.short``, and
all values of a set? How often is a question refused that was never told, and one that was? Which turns does the judge
take for statements? What does it cost?
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from fit_turns import TEN, add_users, words_of
from histories import HELD_BACK, History, join_histories, read_histories
from scipy.stats import binomtest
from updates import searching

from memgraph_rag import Memory
from memgraph_rag.facts.told import LEAST_TOLD
from memgraph_rag.models.wrappers.turn_judging import TurnJudging
from memgraph_rag.types import Evidence, Scope

Row = tuple[str, bool]


def main() -> None:
    """Run, print a table, and write the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*", default=[HELD_BACK])
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows: dict[str, list[bool]] = defaultdict(list)
    for path in options.files:
        histories = [each for of_hand in read_histories(path).values() for each in of_hand]
        for size, told_by in (("one", histories), ("ten", join_histories(histories, TEN))):
            with Memory(":memory:", model=options.model) as memory:
                add_users(memory, told_by)
                for each in told_by:
                    alone = [*asked(memory, each), *judged(memory, each)] if size == "one" else []
                    for name, is_right in [*searched(memory, each), *alone]:
                        rows[f"{path.stem} / {size} / {name}"].append(is_right)
                print(f"{path.stem}, {size}: {cost(memory, told_by)}", flush=True)
    for name, right in rows.items():
        low, high = binomtest(sum(right), len(right)).proportion_ci(method="wilson")
        share = 100 * sum(right) / len(right)
        print(f"{name:<60} {sum(right):>4} of {len(right):<4} {share:5.1f} % [{100 * low:.1f}, {100 * high:.1f}]")
    if options.output:
        counts = {name: [sum(right), len(right)] for name, right in rows.items()}
        options.output.write_text(json.dumps(counts, indent=1) + "\n", "utf-8")


def searched(memory: Memory, history: History) -> Iterator[Row]:
    """Whether the first result says what holds, by each way of searching."""
    if not history.is_told:
        return
    ids = {(turn["content"].strip(), turn["time"][:16]): turn["id"] for turn in history.turns}

    def is_right(found: Sequence[Evidence], right: frozenset[str]) -> bool:
        return bool(found) and ids.get((words_of(found[0]), found[0].segment.time[:16])) in right

    for when, at, right in (("newest", None, history.right_now), ("as of", history.day or None, history.right_then)):
        if when == "as of" and at is None:
            continue
        scope = {"user": history.user, **({"at": at} if at else {})}
        with searching(memory, "top k"):
            yield f"{when}, plain", is_right(memory.search(history.question, k=1, **scope), right)
        yield f"{when}, search", is_right(memory.search(history.question, k=1, **scope), right)
        yield f"{when}, judged", is_right(memory.search(history.question, k=1, judge=True, **scope), right)


def asked(memory: Memory, history: History) -> Iterator[Row]:
    """Whether ``ask`` names the value, or refuses what was never told."""
    answer = memory.ask(history.question, user=history.user, style="short")
    if not history.is_told:
        yield "never told, refused", answer.abstained
        return
    yield "told, refused", answer.abstained
    if history.now:
        yield ("all of a set named" if history.is_set else "value named"), names(answer.short, history.now)
    if history.then and not history.is_set:
        answer = memory.ask(history.question, user=history.user, style="short", at=history.day)
        yield "value named as of", names(answer.short, history.then)


def judged(memory: Memory, history: History) -> Iterator[Row]:
    """Whether the judge takes each turn near the question for a statement, by what the turn is."""
    extent = memory._parts.resolve_extent(Scope(user=history.user))
    told, _ = memory._parts.search.find_told(
        history.question, extent, lambda: TurnJudging(memory._parts.models.language)
    )
    gold = {(turn["content"].strip(), turn["time"][:16]): turn.get("gold") for turn in history.turns}
    for turn, likely in zip(told.turns, told.likely, strict=True) if told else ():
        label = next(iter(gold.get((words_of(turn), turn.segment.time[:16])) or {}), "small talk")
        for kind in ("any", *history.kinds):
            yield f"taken for a statement: {label}, history of kind {kind}", bool(likely >= LEAST_TOLD)


def names(text: str, values: Sequence[Sequence[str]]) -> bool:
    """Whether a text holds every value, each in one of its spellings."""
    plain = _plain(text)
    return all(any(re.search(rf"(?<!\w){re.escape(_plain(one))}(?!\w)", plain) for one in each) for each in values)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[.,]", "", text.casefold().replace("’", "'")).split())


def cost(memory: Memory, histories: Sequence[History]) -> str:
    """The tokens and processor seconds of a judge for a question, whose prefix was read before."""
    models, search = memory._parts.models, memory._parts.search
    tokens, seconds, count = 0, 0.0, 0
    for each in histories[:20]:
        extent = memory._parts.resolve_extent(Scope(user=each.user))
        began = time.process_time()
        search.find(each.question, k=1, extent=extent)
        without = time.process_time()
        told, _ = search.find_told(each.question, extent, lambda: TurnJudging(models.language))
        if told is not None:
            tokens, count = tokens + told.usage.prompt_tokens, count + 1
            seconds += time.process_time() - without - (without - began)
    return f"{tokens / max(count, 1):.0f} tokens, {seconds / max(count, 1):.2f} processor seconds beside the search"


if __name__ == "__main__":
    main()
