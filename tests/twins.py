"""The same prompts for the fast engine and its plain twin, and what it means that both write the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.types import Prompt

__all__ = ["PROMPTS", "assert_same_generations"]

PROMPTS = [
    Prompt(
        "Write a list of summary points, each on its own line.",
        (
            "Once upon a time there were four little Rabbits, and they lived with their Mother in a sand-bank.",
            "Peter, who was very naughty, ran straight away to Mr. McGregor's garden.",
            "First he ate some lettuces; and then he ate some radishes.",
        ),
    ),
    Prompt("List the people.", ("Ada Lovelace wrote to Charles Babbage — «naïve» she was not. 🐇",)),
    Prompt(
        "Say yes.", ("Yes.", "No.", "Yes, yes. And the question can be answered from the information below.", "No!")
    ),
]


def assert_same_generations(
    fast: TransformersModel, twin: PlainModel, prompts: list[Prompt], most: int, **more: Any
) -> None:
    written = fast.generate(prompts, max_tokens=most, **more)
    expected = twin.generate(prompts, max_tokens=most, **more)
    for generation, other in zip(written, expected, strict=True):
        assert (generation.text, generation.finish) == (other.text, other.finish)
        np.testing.assert_array_equal(generation.offsets, other.offsets)
        np.testing.assert_allclose(generation.attention, other.attention, rtol=1e-4, atol=1e-7)
        assert replace(generation.usage, seconds=0) == replace(other.usage, seconds=0)
