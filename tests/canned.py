"""A model that replies to GraphRAG's requests with canned text, and a memory of three documents that it knows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recording_model import RecordingModel

from memgraph_rag import Memory
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import Generation, Prompt

TEXTS = {
    "a": "Ann Lee keeps bees in Leeds with Ben Ross. The Leeds Honey Guild buys the honey of Ann Lee.",
    "b": "Ben Ross leads the Leeds Honey Guild. Cleo Vane visits Ben Ross in Leeds every May.",
    "c": "Cleo Vane owns the Harbour Press in Hull. Dan Moor prints for the Harbour Press, and Eve Moor edits in Hull.",
}

ENTITIES = {
    "a": [
        ("Ann Lee", "person", "Ann Lee keeps bees in Leeds."),
        ("Leeds", "geo", "Leeds is where Ann Lee keeps bees."),
        ("Ben Ross", "person", "Ben Ross keeps bees with Ann Lee."),
    ],
    "b": [
        ("Ben Ross", "person", "Ben Ross leads the Leeds Honey Guild."),
        ("Leeds Honey Guild", "organization", "The Leeds Honey Guild is led by Ben Ross."),
        ("Cleo Vane", "person", "Cleo Vane visits Ben Ross every May."),
    ],
    "c": [
        ("Cleo Vane", "person", "Cleo Vane owns the Harbour Press."),
        ("Harbour Press", "organization", "The Harbour Press is in Hull."),
        ("Hull", "geo", "Hull has the Harbour Press."),
        ("Dan Moor", "person", "Dan Moor prints for the Harbour Press."),
    ],
}
RELATIONS = {
    "a": [
        ("Ann Lee", "Leeds", "Ann Lee keeps bees in Leeds.", 7),
        ("Ann Lee", "Ben Ross", "Ann Lee keeps bees with Ben Ross.", 8),
        ("Ann Lee", "Zoe", "Ann Lee keeps bees in Leeds.", 5),
    ],
    "b": [
        ("Ben Ross", "Leeds Honey Guild", "Ben Ross leads the Leeds Honey Guild.", 9),
        ("Cleo Vane", "Ben Ross", "Cleo Vane visits Ben Ross in Leeds.", 4),
    ],
    "c": [
        ("Cleo Vane", "Harbour Press", "Cleo Vane owns the Harbour Press.", 9),
        ("Harbour Press", "Hull", "The Harbour Press is in Hull.", 6),
        ("Dan Moor", "Harbour Press", "Dan Moor prints for the Harbour Press.", 8),
    ],
}
GLEANED_ENTITIES = {
    "a": [("Leeds Honey Guild", "organization", "The Leeds Honey Guild buys the honey of Ann Lee.")],
    "b": [("Leeds", "geo", "Leeds is where Cleo Vane visits Ben Ross.")],
    "c": [("Eve Moor", "person", "Eve Moor edits in Hull.")],
}
GLEANED_RELATIONS = {
    "a": [("Ann Lee", "Leeds Honey Guild", "The Leeds Honey Guild buys the honey of Ann Lee.", 6)],
    "b": [("Ann Lee", "Ben Ross", "Ann Lee visits Ben Ross.", 2)],
    "c": [
        ("Eve Moor", "Hull", "Eve Moor edits in Hull.", 3),
        ("Dan Moor", "Eve Moor", "Dan Moor and Eve Moor print.", 5),
    ],
}
CLAIMS = {
    "a": [("Ann Lee", "NONE", "TRADE", "TRUE", "NONE", "NONE", "Ann Lee sells honey to the Leeds Honey Guild.", "buys")]
}


class Canned(RecordingModel):
    """Replies to each request by the document that it shows; merges descriptions into the first words of each."""

    def generate(self, prompts: Sequence[Prompt], **options: Any) -> list[Generation]:
        self._replies.extend(map(self._reply, prompts))
        return super().generate(prompts, **options)

    def _reply(self, prompt: Prompt) -> str:
        key = next((key for key, text in TEXTS.items() if text in " ".join(prompt.inputs)), "")
        if "List the claims" in prompt.task:
            return json.dumps({"claims": CLAIMS.get(key, [])})
        if "Many entities" in prompt.task:
            return json.dumps({"entities": GLEANED_ENTITIES[key], "relations": GLEANED_RELATIONS[key]})
        if "List the entities" in prompt.task:
            return json.dumps({"entities": ENTITIES[key], "relations": RELATIONS[key]})
        if "All of them describe" in prompt.task:
            return " ".join(prompt.inputs)
        numbers = list(range(1, 1 + len(prompt.inputs)))
        line = prompt.inputs[0].partition(": ")[2]
        return json.dumps({"title": line[:40], "summary": line, "rating": 5, "findings": [[line, numbers[:2]]]})


def memory_parts(model: FakeLanguageModel | None = None) -> dict[str, Any]:
    """Return the models of a memory. The recognizer knows three of the names."""
    names = FakeRecognizer(dict.fromkeys(["Ann Lee", "Leeds", "Cleo Vane"], "NAME"))
    return {"model": model or Canned(), "embedder": FakeEmbedder(), "recognizer": names}


def open_canned(path: Path, model: FakeLanguageModel | None = None, **options: Any) -> Memory:
    """Open a memory with the three documents and the layer ``entities``."""
    memory = Memory(path, layers=["entities"], **memory_parts(model), **options)
    for key, text in TEXTS.items():
        memory.add(text, key=key)
    return memory
