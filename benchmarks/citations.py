"""Ask real questions and check what can be checked without judging the answers.

    python benchmarks/citations.py DIR [--questions 20] [--documents 2] [--model NAME] [--out FILE]

DIR holds ``docs.jsonl`` and ``questions.jsonl``. For each question: does every citation stand verbatim in its
document, and do the attention scores of the trace differ between nodes and between questions? Also printed: answer,
reference, what was read, and the cost. Exit status 1 where a check fails.

Data: benchmarks/data has a sample of each set, 20 questions, to see that it runs; its README.md names the full sets.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import torch
from take_sample import DATA_HELP

from memgraph_rag import Answer, Document, Limits, Memory, __version__


def main() -> int:
    """Run the benchmark; 0 where every check holds."""
    options = _options()
    documents = {row["doc_id"]: row for row in _rows(options.directory / "docs.jsonl")}
    questions = _spread(_rows(options.directory / "questions.jsonl"), options.documents, options.questions)
    machine = f"{platform.machine()}, {torch.get_num_threads()} cores"
    print(f"memgraph_rag {__version__}, torch {torch.__version__}, {machine}")
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "b.lbug", model=options.model) as memory:
        for doc_id in dict.fromkeys(row["doc_ids"][0] for row in questions):
            row = documents[doc_id]
            started = time.perf_counter()
            receipt = memory.add(Document(row["text"], key=doc_id, title=row["title"]))
            print(f"added {doc_id}: {dict(receipt.counts)} {dict(receipt.notes)} {time.perf_counter() - started:.0f} s")
        results = []
        for row in questions:
            answer = memory.ask(row["question"], documents=row["doc_ids"], limits=Limits(nodes=options.max_nodes))
            results.append(_checked(answer, documents, row))
            _show(results[-1])
    _summary(results)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    return 0 if all(result["verbatim"] and result["attention_differs"] for result in results) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, metavar="DIR", help=DATA_HELP)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--documents", type=int, default=2)
    parser.add_argument("--max-nodes", type=int, default=32)
    parser.add_argument("--model", default="auto")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def _rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _spread(rows: list[dict], documents: int, questions: int) -> list[dict]:
    """The first questions of each of the first documents, equally many of each."""
    of_document: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        if row["doc_ids"]:
            of_document[row["doc_ids"][0]].append(row)
    chosen = sorted(of_document)[:documents]
    return [row for doc_id in chosen for row in of_document[doc_id][: questions // documents]]


def _checked(answer: Answer, documents: dict[str, dict], row: dict) -> dict:
    attention = [step.attention for step in answer.trace]
    return {
        "question": answer.question,
        "answer": answer.text,
        "references": row["answers"],
        "verbatim": bool(answer.citations)
        and all(
            citation.quote == documents[citation.document_key]["text"][citation.start : citation.end]
            for citation in answer.citations
        ),
        "attention": attention,
        "attention_differs": len(set(attention)) == len(attention),
        "p_yes": [step.p_yes for step in answer.trace if step.p_yes is not None],
        "stop": answer.stop_reason.value,
        "quotes": [citation.quote for citation in answer.citations],
        "seconds": answer.usage.seconds,
        "prompt_tokens": answer.usage.prompt_tokens,
        "generated_tokens": answer.usage.generated_tokens,
    }


def _show(result: dict) -> None:
    print(f"\nQ {result['question']}\nA {result['answer']}   (reference: {result['references'][0]})")
    print(
        f"  {result['stop']} after {len(result['attention'])} nodes, P(Yes) {result['p_yes'][-1]:.2f}, "
        f"{result['seconds']:.1f} s; verbatim {result['verbatim']}, attention differs {result['attention_differs']}"
    )
    for quote in result["quotes"]:
        print(f"  “{' '.join(quote.split())[:110]}”")


def _summary(results: list[dict]) -> None:
    between = [result["attention"][0] != next_result["attention"][0] for result, next_result in pairwise(results)]
    print(f"\n{len(results)} questions")
    print(f"citations all verbatim: {sum(result['verbatim'] for result in results)} of {len(results)}")
    print(
        f"attention differs between nodes: {sum(result['attention_differs'] for result in results)} of {len(results)}"
    )
    print(f"attention differs from the question before: {sum(between)} of {len(between)}")
    print(f"seconds a question, median: {statistics.median(result['seconds'] for result in results):.1f}")
    print(f"nodes read, median: {statistics.median(len(result['attention']) for result in results):.0f}")


if __name__ == "__main__":
    sys.exit(main())
