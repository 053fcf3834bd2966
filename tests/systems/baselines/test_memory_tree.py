"""MemWalker's tree: parts of the text, summaries of summaries, one root; built once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hand_made import segment
from hypothesis import given
from hypothesis import strategies as st
from memories import FOX, options

from memgraph_rag import Memory
from memgraph_rag.contracts import SplitDocument
from memgraph_rag.systems.baselines.memory_tree import MemoryTreeLayer, even_groups
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeModels
from memgraph_rag.types import Annotation, LayerRows, Prompt, StopReason


class Summarizer(FakeLanguageModel):
    """It numbers its summaries."""

    def __init__(self, *written: str, **parts: Any) -> None:
        super().__init__(**parts)
        self.prompts: list[Prompt] = []
        self._written = written

    def generate(self, prompts: Sequence[Prompt], **arguments: Any) -> Any:
        first = len(self.prompts)
        self.prompts += prompts
        texts = self._written or [f"Summary {first + place}." for place in range(len(prompts))]
        return FakeLanguageModel([*texts]).generate(prompts, **arguments)


def built(model: FakeLanguageModel, *counts: int, **arguments: Any) -> list[LayerRows]:
    documents = [
        SplitDocument(f"d{number}", "", tuple(segment(f"d{number}s{i}", f"d{number}", index=i) for i in range(count)))
        for number, count in enumerate(counts)
    ]
    return MemoryTreeLayer(**arguments).build(documents, namespace="n", models=FakeModels(model, FakeEmbedder()))


def tree(rows: LayerRows) -> list[tuple[int, int, int]]:
    """Level, parent, and number of segments of each node."""
    return [(int(a.properties["level"]), int(a.properties["parent"]), len(a.segment_ids)) for a in rows.annotations]


def test_parts_are_summed_up_then_their_summaries_up_to_one_root() -> None:
    model = Summarizer()
    (rows,) = built(model, 10, part_tokens=22, children=2)

    assert tree(rows) == [
        *((1, parent, 2) for parent in (5, 5, 6, 6, 7)),
        *((2, parent, 0) for parent in (8, 8, 9)),
        (3, 10, 0), (3, 10, 0), (4, -1, 0),
    ]  # fmt: skip
    assert [len(prompt.inputs) for prompt in model.prompts] == [2] * 5 + [2, 2, 1] + [2, 1] + [2]
    assert model.prompts[5].inputs == ("Summary 0.", "Summary 1.")
    assert rows.usage.model_calls == 11


def test_documents_grow_together_to_their_own_roots() -> None:
    rows = built(Summarizer(), 1, 0, 9, part_tokens=1, children=8)

    assert [len(of_document.annotations) for of_document in rows] == [1, 0, 9 + 2 + 1]
    assert all(tree(of_document)[-1][1] == -1 for of_document in rows if of_document.annotations)


def test_part_without_a_summary_is_known_by_its_first_words() -> None:
    (rows,) = built(Summarizer("..."), 1)

    assert (rows.annotations[0].text, rows.notes) == ("text of d0s0", {"part without a summary": 1})


@given(st.integers(0, 60), st.integers(2, 9))
def test_groups_are_even(count: int, most: int) -> None:
    groups = list(even_groups(range(count), most))

    assert [item for group in groups for item in group] == list(range(count))
    assert len(groups) == -(-count // most)
    assert not groups or max(map(len, groups)) - min(map(len, groups)) <= 1


def test_tree_is_built_once_and_walked_by_its_summaries(tmp_path: Path) -> None:
    model = Summarizer(said=["Action: 2", "-2"], answer="Tom built it.")
    with Memory(tmp_path / "notes.lbug", **options(model=model, layers=[MemoryTreeLayer(part_tokens=10)])) as memory:
        memory.add(FOX, key="fox")
        written = len(model.prompts)
        answer = memory.ask("Who built a wooden box?", strategy="memwalker")
        stored = [thing for thing in memory.around("fox").things.values() if isinstance(thing, Annotation)]

    assert written == len(stored) == len(model.prompts) > 2
    assert [(step.node.index, step.reason) for step in answer.trace] == [(1, "Summary 1.")]
    assert answer.stop_reason is StopReason.ANSWERABLE
    assert answer.citations
    assert all(citation.quote in FOX for citation in answer.citations)
