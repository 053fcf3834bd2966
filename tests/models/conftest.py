"""Real weights for the tests of this room: the packaged 0.5B model, in float32, where equality means something."""

from __future__ import annotations

import pytest

from memgraph_rag.models.catalogue import find_language_model
from memgraph_rag.models.language_model import TransformersModel
from memgraph_rag.settings import Settings

SMALL = "qwen2.5-coder-0.5b-instruct"


@pytest.fixture(scope="session")
def small_weights() -> str:
    _, folder = find_language_model(SMALL, cache_dir=Settings.load().cache_dir)
    return folder


@pytest.fixture(scope="session")
def small(small_weights: str) -> TransformersModel:
    return TransformersModel(small_weights, name=SMALL, dtype="float32", device="cpu")


@pytest.fixture(scope="session")
def eager(small_weights: str):
    """The same weights in transformers' own plain attention, which returns its probabilities."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(small_weights, dtype="float32", attn_implementation="eager").eval()


@pytest.fixture(scope="session")
def plain_greedy():
    """transformers' own greedy decoding, up to an end token."""
    import torch

    def write(network, ids: list[int], most: int, ends: frozenset[int]) -> list[int]:
        with torch.inference_mode():
            output = network.generate(
                torch.tensor([ids]),
                attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                do_sample=False,
                max_new_tokens=most,
            )
        written = output[0, len(ids) :].tolist()
        return [token for token in written if token not in ends]

    return write
