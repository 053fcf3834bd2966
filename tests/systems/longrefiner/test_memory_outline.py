"""Outlines in a memory: built, shown, asked of, moved, mended and forgotten, on every store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, OpenMemory, embedder

from memgraph_rag import Limits, Memory, Receipt
from memgraph_rag.cli.listing import listing
from memgraph_rag.errors import ModelNotFound
from memgraph_rag.server.console.readings import read_around
from memgraph_rag.testing import FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import LayerRows, Section, StopReason

MILL = """# The mill

It was built in 1843 by the miller. It stood beside the river for ninety years.

## The fire

One night in May the mill burnt down to the river.

### Its cause

A lamp fell over in the loft, and the flour dust burnt.

```
# this is no heading
```

## Afterwards

The miller built it again in stone.
"""
TITLES = ["The mill", "The fire", "Its cause", "Afterwards"]


def titles(memory: Memory, key: str = "mill") -> list[str]:
    return [thing.title for thing in memory.around(key).things.values() if isinstance(thing, Section)]


def test_markdown_gets_an_outline_without_a_model(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=["outline"])
    receipt = memory.add(MILL, key="mill")

    assert titles(memory) == TITLES
    assert receipt.counts["Section"] == 4
    assert (receipt.usage.model_calls, receipt.notes, memory.documents()[0].model) == (0, {}, "")
    assert memory.maintenance.examine() == []


def test_html_keeps_its_headings(open_memory: OpenMemory, tmp_path: Path) -> None:
    file = tmp_path / "mill.html"
    file.write_text("<h1>The mill</h1><p>It stood.<h2>The <i>fire</i></h2><p>It burnt.<h2>Afterwards</h2><p>Stone.")
    memory = open_memory(layers=["outline"])
    memory.add(file, key="mill")

    assert titles(memory) == ["The mill", "The fire", "Afterwards"]


def test_a_plain_text_is_divided_by_the_model(open_memory: OpenMemory) -> None:
    parts = [["section", "A fox", ["Ann found a ... the snow."]], ["section", "Spring", ["In spring the ... again."]]]
    memory = open_memory(layers=["entities"], model=FakeLanguageModel([json.dumps({"parts": parts})]))
    memory.add(FOX, key="fox")
    (receipt,) = list(memory.deepen(layers=["outline"]))

    assert titles(memory, "fox") == ["A fox", "Spring"]
    assert receipt.counts["Section"] == 2  # pyright: ignore[reportAttributeAccessIssue]
    assert memory.documents()[0].model == "fake-language-model"


def test_section_without_own_text_is_stored(open_memory: OpenMemory, tmp_path: Path) -> None:
    parts = [["section", "All", []], ["sub-section", "A fox", ["Ann found a ... the snow."]]]
    memory = open_memory(layers=["outline"], model=FakeLanguageModel([json.dumps({"parts": parts})]))
    memory.add(FOX, key="fox")
    memory.maintenance.export_to(tmp_path / "archive.jsonl")
    other = open_memory(namespace="another", layers=[])
    list(other.maintenance.import_from(tmp_path / "archive.jsonl"))

    assert titles(memory, "fox") == titles(other, "fox") == ["All", "A fox"]
    assert memory.maintenance.examine() == other.maintenance.examine() == []


def test_sections_are_read_whole_and_cited_exactly(open_memory: OpenMemory) -> None:
    model = FakeLanguageModel(judged=[1.0], said=["1"], answer="A lamp fell over in the loft.")
    memory = open_memory(layers=["outline"], model=model)
    memory.add(MILL, key="mill")
    answer = memory.ask("What fell over in the loft?", strategy="longrefiner", keep_trace=True)

    assert answer.stop_reason is StopReason.EXHAUSTED
    assert [step.node.index for step in answer.trace] == sorted(step.node.index for step in answer.trace)
    assert answer.trace[0].sources.keys() == {"similarity", "outline"}
    assert answer.citations
    for citation in answer.citations:
        assert MILL[citation.start : citation.end] == citation.quote
    assert memory.questions("What fell over in the loft?")[0].answer.trace == answer.trace


def test_a_budget_reads_less_of_the_document(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=["outline"], model=FakeLanguageModel(judged=[0.0, 0.0], said=["None", "None"]))
    memory.add(MILL, key="mill")
    whole = memory.ask("What fell over in the loft?", strategy="longrefiner")
    part = memory.ask("What fell over in the loft?", strategy="longrefiner", limits=Limits(nodes=1))

    assert len(part.trace) == 1 < len(whole.trace)
    assert part.trace[0].score == max(step.score for step in whole.trace)


def test_outlines_move_with_an_archive(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(layers=["outline"])
    memory.add(MILL, key="mill")
    other = open_memory(namespace="another", layers=[])
    memory.maintenance.export_to(tmp_path / "archive.jsonl")
    (receipt,) = other.maintenance.import_from(tmp_path / "archive.jsonl")

    assert titles(other) == TITLES
    assert receipt.counts["Section"] == 4  # pyright: ignore[reportAttributeAccessIssue]
    assert other.forget("mill").counts["CONTAINS"] == memory.forget("mill").counts["CONTAINS"]
    assert memory.status()["counts"]["Section"] == 0


def test_an_outline_is_shown(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=["outline"])
    memory.add(MILL, key="mill")

    lines = [line.plain.strip().split("  ")[0] for line in listing(memory.around("mill"))]
    assert lines[lines.index("section") + 1 :][:4] == TITLES
    assert {"index": 2, "level": 2} in [node.facts for node in read_around(memory.around("mill")).nodes]
    assert memory.around("mill", most=1).left_out["sections"] == 3


def test_a_torn_outline_is_found_and_built_again(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=["outline"])
    memory.add(MILL, key="mill")
    store: Any = memory._parts.store
    gone = [thing.id for thing in memory.around("mill").things.values() if isinstance(thing, Section)][2]
    store._transaction("harm", lambda write: write.run("write/delete_lost_sections", node_ids=[gone]))

    (damage,) = memory.maintenance.examine()
    memory.maintenance.repair()

    assert (damage.what, damage.keys) == ("documents with sections of missing parts", ("mill",))
    assert titles(memory) == []
    list(memory.deepen(layers=["outline"]))
    assert titles(memory) == TITLES


@pytest.mark.parametrize("max_tokens", [None, 1000])
def test_without_a_model_headings_count_and_plain_text_is_one_section(
    max_tokens: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_here(*_: object, **__: object) -> None:
        raise ModelNotFound("none")

    monkeypatch.setattr("memgraph_rag.models.files.catalogue.find_language_model", none_here)
    parts = {"embedder": embedder(), "recognizer": FakeRecognizer(), "segment_tokens": 20}
    with Memory(tmp_path / "notes.lbug", **parts) as memory:
        memory.add(MILL, key="mill")
        memory.add(FOX, key="fox")
        receipts = list(memory.deepen(layers=["outline"], limits=Limits(tokens=max_tokens)))

        assert titles(memory) == TITLES
        assert titles(memory, "fox") == [""]
        noted = [note for receipt in receipts if isinstance(receipt, Receipt) for note in receipt.notes]
        assert noted == ["no headings in the text, and no language model to divide it"]


class Titles:
    """A layer that is built on outlines."""

    name = "titles"
    needs_language = needs_recognizer = False
    requires = ("outline",)

    def __init__(self) -> None:
        self.seen: list[list[str]] = []

    def build(self, documents, *, namespace, models, progress=None):
        self.seen += [[section.title for section in document.sections] for document in documents]
        return [LayerRows() for _ in documents]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_layer_reads_the_outline_it_requires(at_once: bool, open_memory: OpenMemory) -> None:
    layer = Titles()
    memory = open_memory(layers=[layer] if at_once else ["outline"])
    memory.add(MILL, key="mill")
    list(memory.deepen(layers=[layer]))

    assert layer.seen == [TITLES]
