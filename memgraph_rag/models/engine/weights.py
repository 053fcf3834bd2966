"""A checkpoint's weights, on a device and in the number format that was asked for.

It knows how transformers loads and how weights are kept in fewer bits, nothing of attention and of prompts.
Invariant: what flows between layers has the format of ``find_dtype``; linear layers alone compute otherwise, and never
the output layer.

Sources: LLM.int8() (Dettmers et al., 2022) and NF4 (QLoRA, Dettmers et al., 2023), both as bitsandbytes has them.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, BitsAndBytesConfig, PretrainedConfig, PreTrainedModel

from memgraph_rag.models.engine.hardware import INT4, INT8, find_dtype, multiplies_integers
from memgraph_rag.models.engine.int8_linear import is_faster, use_int8
from memgraph_rag.models.files.loading_bars import without_loading_bars
from memgraph_rag.models.files.model_files import require_all_weights

__all__ = ["find_number_format", "read_weights"]


def find_number_format(name: str, device: torch.device, config: PretrainedConfig) -> str:
    """What ``read_weights`` takes: "auto" is 8-bit integers on a CPU that proves faster with them, else ``best_dtype``.

    Args:
        name: as for ``find_dtype``.
        config: of the model, whose widest layers are tried.

    Raises:
        SettingsError: as ``find_dtype``.
    """
    dtype = find_dtype(name, device)
    if name == "auto" and device.type == "cpu" and multiplies_integers():
        width = config.hidden_size
        if is_faster(width, getattr(config, "intermediate_size", None) or 4 * width, dtype):
            return INT8
    return name if name in (INT8, INT4) else str(dtype).removeprefix("torch.")


def read_weights(folder: str, number_format: str, *, device: torch.device, attention: str) -> PreTrainedModel:
    """A checkpoint's network, ready to compute. Meanwhile torch's default dtype, of all threads, is its own.

    Args:
        number_format: as ``find_number_format`` tells it; "auto" is ``best_dtype``.
        attention: the name of an attention function of transformers.

    Raises:
        OSError, SafetensorError: there is no checkpoint in the folder, or it cannot be read.
        ValueError: transformers has no such model, or weights of it are missing.
    """
    dtype = find_dtype(number_format, device)
    bits = _fewer_bits(number_format, device, dtype)
    network = _read(folder, dtype, attention, **bits)
    if getattr(network, "is_quantized", False):  # by bitsandbytes, now or in the checkpoint
        return network
    if number_format == INT8:
        use_int8(network, output=network.get_output_embeddings())
        if AutoConfig.from_pretrained(folder).get_text_config().dtype == dtype:  # else nothing is mapped
            _map_anew(network, _read(folder, dtype, attention))
    torch.nn.Module.to(network, device)  # in place; PreTrainedModel's own is typed otherwise
    return network


def _read(folder: str, dtype: torch.dtype, attention: str, **more: Any) -> PreTrainedModel:
    with without_loading_bars():
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation=attention, output_loading_info=True, **more
        )  # fmt: skip
    network, report = loaded
    require_all_weights(report)
    return network.eval().requires_grad_(False)


def _map_anew(network: PreTrainedModel, again: PreTrainedModel) -> None:
    """Let what stays in the checkpoint's own format be a view of its file that nothing was read through yet.

    What the first view showed is in memory as long as it is, all that integers were made of too. Of an input embedding
    that is viewed anew only the rows of tokens that occur get there.
    """
    anew = dict(again.named_parameters())
    for name, parameter in network.named_parameters():
        if not parameter.is_mkldnn:
            parameter.data = anew[name].data


def _fewer_bits(number_format: str, device: torch.device, dtype: torch.dtype) -> dict[str, Any]:
    """What transformers is told to have bitsandbytes keep the weights; nothing where it is not needed."""
    if number_format == INT4:
        config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)
    elif number_format == INT8 and device.type == "cuda":
        config = BitsAndBytesConfig(load_in_8bit=True)
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it tells of each layer that it takes bfloat16
    else:
        return {}
    return {"quantization_config": config, "device_map": {"": device}}
