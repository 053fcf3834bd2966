"""The reading strategies that the papers compare with. They are controls of experiments, not meant for users."""

from __future__ import annotations

from memgraph_rag.contracts import System
from memgraph_rag.systems.baselines.full_context import FullContext
from memgraph_rag.systems.baselines.llmlingua import LLMLingua
from memgraph_rag.systems.baselines.llmlingua2 import LLMLingua2
from memgraph_rag.systems.baselines.longllmlingua import LongLLMLingua
from memgraph_rag.systems.baselines.memory_tree import MemoryTreeLayer
from memgraph_rag.systems.baselines.memwalker import MemWalker
from memgraph_rag.systems.baselines.selective_context import SelectiveContext
from memgraph_rag.systems.baselines.sliding_window import SlidingWindow

__all__ = ["SYSTEM"]

SYSTEM = System(
    name="baselines",
    strategies={
        "full_context": FullContext,
        "sliding_window": SlidingWindow,
        "llmlingua": LLMLingua,
        "longllmlingua": LongLLMLingua,
        "llmlingua2": LLMLingua2,
        "selective_context": SelectiveContext,
        "memwalker": MemWalker,
    },
    layers={"memory_tree": MemoryTreeLayer},
)
