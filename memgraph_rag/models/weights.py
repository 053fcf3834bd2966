"""A checkpoint's weights, on a device and in the number format that was asked for.

It knows how transformers loads and how weights are kept in fewer bits, nothing of attention and of prompts.
Invariant: what flows between layers has the format of ``find_dtype``; linear layers alone compute otherwise, and never
the output layer.

Sources: LLM.int8() (Dettmers et al., 2022) and NF4 (QLoRA, Dettmers et al., 2023), both as bitsandbytes has them.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, PreTrainedModel

from memgraph_rag.models.hardware import INT4, INT8, find_dtype
from memgraph_rag.models.int8_linear import use_int8
from memgraph_rag.models.loading_bars import without_loading_bars

__all__ = ["load_weights"]


def load_weights(folder: str, *, number_format: str, device: torch.device, attention: str) -> PreTrainedModel:
    """A network that is ready to compute.

    Args:
        number_format: as for ``find_dtype``, which has accepted it.
        attention: the name of an attention function of transformers.

    Raises:
        OSError: there is no checkpoint in the folder, or it cannot be read.
        ValueError: transformers has no such model.
    """
    dtype = find_dtype(number_format, device)
    bits = _fewer_bits(number_format, device, dtype)
    with without_loading_bars():
        network = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation=attention, **bits)
    if not bits:
        torch.nn.Module.to(network, device)
    if number_format == INT8 and not bits:
        use_int8(network, but=network.get_output_embeddings())
    return network.eval().requires_grad_(False)


def _fewer_bits(number_format: str, device: torch.device, dtype: torch.dtype) -> dict[str, Any]:
    """What transformers is told to have bitsandbytes keep the weights; nothing where it is not needed."""
    if number_format == INT4:
        config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)
    elif number_format == INT8 and device.type == "cuda":
        config = BitsAndBytesConfig(load_in_8bit=True)
    else:
        return {}
    return {"quantization_config": config, "device_map": {"": device}}
