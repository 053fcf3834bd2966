"""How a question about a whole is read where nobody said how: by the library, and by the walk where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from meetings import open_meetings

from memgraph_rag import Memory
from memgraph_rag.types import Overview, QuestionBreadth

WHOLE = "What are the main topics of these meetings?"
PASSAGE = "Who gave Fritz a wooden box in Bergen?"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return open_meetings(tmp_path / "m.lbug")


def layers_read(memory: Memory, question: str, **scope: object) -> set[str]:
    """The layers of the overviews that are read, and "" for segments."""
    trace = memory.ask(question, **scope).trace
    return {step.node.layer if isinstance(step.node, Overview) else "" for step in trace}


def test_question_about_everything_reads_the_library(memory: Memory) -> None:
    with memory:
        list(memory.deepen(layers=["library", "communities"]))

        assert layers_read(memory, WHOLE) == {"library", ""}, "overviews, then passages: the library is small"
        assert "" in layers_read(memory, PASSAGE)


def test_automatic_strategy_reads_no_communities_without_a_library(memory: Memory) -> None:
    with memory:
        list(memory.deepen(layers=["communities"]))

        assert layers_read(memory, WHOLE) == {""}
        assert memory.ask(WHOLE).trace[0].via == "the walk: no overview of the library"
        assert layers_read(memory, WHOLE, strategy="overviews") == {"communities", ""}, "who asks for them gets them"


def test_scope_smaller_than_the_library_is_walked(memory: Memory) -> None:
    with memory:
        list(memory.deepen(layers=["library", "communities"]))

        assert layers_read(memory, WHOLE, documents=["1-0", "1-1"]) == {""}


def test_embedder_with_breadth_decides_besides_the_words(memory: Memory) -> None:
    with memory:
        list(memory.deepen(layers=["library"]))
        memory.embedder.breadth = QuestionBreadth((0.0,) * memory.embedder.dimension, bias=1.0, least=0.7)
        assert "library" in layers_read(memory, PASSAGE)
        memory.embedder.breadth = QuestionBreadth((0.0,) * memory.embedder.dimension, bias=0.5, least=0.7)
        assert "library" not in layers_read(memory, PASSAGE)
        assert "library" in layers_read(memory, WHOLE)


def test_status_without_overviews_does_not_mention_them(memory: Memory) -> None:
    with memory:
        assert "overview" not in memory.ask(WHOLE).trace[0].via
