"""Models of known shapes with random weights, made on the device: no file of gigabytes is needed to time them.

They write nonsense. Invariant: what they write are tokens of their small tokenizer, so that it has a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from architectures import train_tokenizer
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from memgraph_rag.models.engine.attention import IMPLEMENTATION
from memgraph_rag.models.engine.language_model import TransformersModel

__all__ = ["LLAMA_8B", "QWEN_1_5B", "TINY", "RandomModel", "write_shape"]

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama", "vocab_size": 128_256, "hidden_size": 4096, "intermediate_size": 14_336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    "max_position_embeddings": 131_072, "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
    "rope_parameters": {
        "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}  # fmt: skip
"""Llama-3.1-8B's config."""

QWEN_1_5B: dict[str, Any] = {
    "model_type": "qwen2", "vocab_size": 151_936, "hidden_size": 1536, "intermediate_size": 8960,
    "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2,
    "max_position_embeddings": 32_768, "rms_norm_eps": 1e-6, "tie_word_embeddings": True,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
}  # fmt: skip
"""Qwen2.5-1.5B's config."""

TINY: dict[str, Any] = {
    "model_type": "llama", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}  # fmt: skip
"""Of no model: to see whether everything runs."""


def write_shape(shape: Mapping[str, Any], folder: Path, **changes: Any) -> Path:
    """A folder with a config and a small tokenizer, and no weights."""
    tokenizer = train_tokenizer()
    tokenizer.save_pretrained(folder)
    ids = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.eos_token_id}
    settings = {**shape, **ids, **changes}
    AutoConfig.for_model(settings.pop("model_type"), **settings).save_pretrained(folder)
    return folder


class RandomModel(TransformersModel):
    """A model of such a folder."""

    @torch.no_grad()
    def _load(self) -> PreTrainedModel:
        config = AutoConfig.from_pretrained(self._folder)
        torch.manual_seed(0)
        with self.device:
            network = AutoModelForCausalLM.from_config(config, dtype=self.dtype, attn_implementation=IMPLEMENTATION)
        network.get_output_embeddings().weight[self.tokens.size :] = 0  # a token without a text is never the likeliest
        return network.eval().requires_grad_(False)
