"""Which number format there is by itself, and weights in fewer bits by bitsandbytes, held to the plain twin."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from architectures import write_checkpoint
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache
from twins import PROMPTS

from memgraph_rag.models.engine import weights
from memgraph_rag.models.engine.int8_linear import Int8Linear
from memgraph_rag.models.engine.kv_cache import cache_argument
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.types import Usage, count_attended


@pytest.fixture(scope="module", params=["qwen2", "llama", "gemma2"])
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On a CPU bitsandbytes wants layers of whole blocks, 64 inputs each."""
    return write_checkpoint(request.param, tmp_path_factory.mktemp("tiny"), intermediate_size=128)


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers of 8 bits by bitsandbytes, which computes them on a CPU too."""
    real = weights._quantization_options
    monkeypatch.setattr(
        weights, "_quantization_options",
        lambda name, device, dtype: real(name, torch.device("cuda"), dtype) | {"device_map": {"": device}},
    )  # fmt: skip


def kinds(model: TransformersModel) -> set[str]:
    """Return the classes of the layers that are linear or instead of one, by name: bitsandbytes is slow to import."""
    return {type(module).__name__ for module in model.network.modules() if isinstance(module, nn.Linear)}


@pytest.mark.parametrize(
    ("wins", "multiplies", "expected"), [(True, True, "int8"), (False, True, ""), (True, False, "")]
)
def test_auto_is_int8_where_that_is_faster(
    wins: bool, multiplies: bool, expected: str, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    monkeypatch.setattr(weights, "is_faster", lambda *shape: tried.append(shape) or wins)
    monkeypatch.setattr(weights, "multiplies_integers", lambda: multiplies)
    model = TransformersModel(tiny, device="cpu")
    plain = str(model.dtype).removeprefix("torch.")
    assert model.number_format == (expected or plain)
    assert any(isinstance(module, Int8Linear) for module in model.network.modules()) == (expected == "int8")
    config = model.network.config
    assert tried == [(config.hidden_size, config.intermediate_size, model.dtype)] * multiplies
    assert TransformersModel(tiny, device="cpu", dtype=plain).number_format == plain, "as it was asked for"


def test_int4_keeps_all_linear_layers_but_the_last_in_4_bits(tiny: Path) -> None:
    model = TransformersModel(tiny, dtype="int4", device="cpu")
    assert kinds(model) == {"Linear4bit", "Linear"}
    assert type(model.network.get_output_embeddings()) is nn.Linear
    assert (model.number_format, model.dtype) == ("int4", model.network.dtype)


@pytest.mark.parametrize("dtype", ["auto", "int8"])
def test_checkpoint_in_4_bits_is_unchanged(
    dtype: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "is_faster", lambda *_: True)
    TransformersModel(tiny, dtype="int4", device="cpu").network.save_pretrained(tmp_path)
    for file in tiny.glob("*token*"):
        shutil.copy(file, tmp_path)
    assert kinds(TransformersModel(tmp_path, dtype=dtype, device="cpu")) == {"Linear4bit", "Linear"}


@pytest.mark.usefixtures("as_on_a_gpu")
def test_int8_on_a_gpu_uses_bitsandbytes(tiny: Path) -> None:
    model = TransformersModel(tiny, dtype="int8", device="cpu")
    assert kinds(model) == {"Linear8bitLt", "Linear"}
    assert [generation.text for generation in model.generate(PROMPTS, max_tokens=4)]


def test_attention_equals_the_plain_twin(tiny: Path) -> None:
    model, twin = (kind(tiny, dtype="int4", device="cpu") for kind in (TransformersModel, PlainModel))
    generations = model.generate(PROMPTS, max_tokens=12)
    texts = [generation.text for generation in generations]
    for read, plain in zip(model.read_written(PROMPTS, texts), twin.read_written(PROMPTS, texts), strict=True):
        np.testing.assert_allclose(read.attention, plain.attention, rtol=0.1, atol=2e-3)


def test_session_reads_like_the_plain_twin(tiny: Path) -> None:
    told = []
    for kind in (TransformersModel, PlainModel):
        with kind(tiny, dtype="int4", device="cpu").open_session("Who ran over the hill?") as session:
            attention = [session.append([node]) for node in ("A fox ran over the hill.", "A hen sat on a wall.")]
            told.append((attention, session.probability_of_yes()))
    for fast, plain in zip(*told, strict=True):
        np.testing.assert_allclose(fast, plain, rtol=0.1, atol=2e-3)


@pytest.mark.parametrize("is_tied", [False, True], ids=["own output", "tied output"])
@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3", "phi"])
def test_operations_equal_those_of_a_forward_pass(architecture: str, is_tied: bool, tmp_path: Path) -> None:
    config = AutoConfig.from_pretrained(write_checkpoint(architecture, tmp_path, tie_word_embeddings=is_tied))
    network = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    cache, count = DynamicCache(), 14
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        for token in range(count):  # one by one: in one pass the counter also counts what causal attention hides
            network(torch.tensor([[token]]), **{cache_argument(type(network)): cache})
    usage = Usage(count, attended_tokens=count_attended(count))
    assert weights.count_operations(config).tera_flops(usage) * 1e12 == pytest.approx(counter.get_total_flops())


def test_only_experts_of_a_token_are_counted(tmp_path: Path) -> None:
    folders = {count: write_checkpoint("gpt_oss", tmp_path / str(count), num_local_experts=count) for count in (4, 8)}
    four, eight = (weights.count_operations(AutoConfig.from_pretrained(folder)).of_token for folder in folders.values())
    assert eight < 1.1 * four, "the router alone grows"
