"""Models for the tests of this room, in float32, where equality means something.

A tiny random model and, in the second lane, the packaged 0.5B model, each compared with transformers; and tiny ones of
many architectures, each in the fast engine and in its plain twin. A packaged model takes 2 GB, so each module frees it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from architectures import ARCHITECTURES, write_checkpoint

from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.models.files.catalogue import find_language_model
from memgraph_rag.settings import Settings

SMALL = "qwen2.5-coder-0.5b-instruct"


@pytest.fixture(scope="session")
def small_weights() -> str:
    _, folder = find_language_model(SMALL, cache_dir=Settings.load().cache_dir)
    return folder


@pytest.fixture(
    scope="session", params=["tiny", pytest.param("packaged", marks=pytest.mark.full("the packaged 0.5B model"))]
)
def weights(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny random model, and of the packaged one."""
    if request.param == "packaged":
        return request.getfixturevalue("small_weights")
    return str(write_checkpoint("qwen2", tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def small(weights: str) -> TransformersModel:
    return TransformersModel(weights, name=SMALL, dtype="float32", device="cpu")


@pytest.fixture(scope="module")
def packaged(small_weights: str) -> TransformersModel:
    """The packaged model, for what a random one does not do: copy, answer, know words."""
    return TransformersModel(small_weights, name=SMALL, dtype="float32", device="cpu")


@pytest.fixture(scope="module")
def eager(weights: str):
    """The same weights in transformers' own plain attention, which returns its probabilities."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(weights, dtype="float32", attn_implementation="eager").eval()


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


@pytest.fixture(scope="session", params=ARCHITECTURES)
def checkpoint(request, tmp_path_factory) -> Path:
    """A tiny random checkpoint of each architecture."""
    return write_checkpoint(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def fast(checkpoint: Path) -> TransformersModel:
    return TransformersModel(checkpoint, dtype="float32", device="cpu")


@pytest.fixture(scope="session")
def twin(checkpoint: Path) -> PlainModel:
    return PlainModel(checkpoint, dtype="float32", device="cpu")
