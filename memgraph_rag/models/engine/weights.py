"""The weights of a checkpoint, on a device and in a number format.

The module knows how transformers loads weights and how they are stored in fewer bits. It does not know attention or
prompts. Invariant: the values between layers have the format of ``find_dtype``. Only linear layers compute in another
format; the output layer computes its largest logits exactly.

Sources: LLM.int8() (Dettmers et al., 2022) and NF4 (QLoRA, Dettmers et al., 2023), both as in bitsandbytes.
"""

from __future__ import annotations

import logging
from copy import copy
from math import prod
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, BitsAndBytesConfig, PretrainedConfig, PreTrainedModel

from memgraph_rag.models.engine.hardware import INT4, INT8, find_dtype, multiplies_integers
from memgraph_rag.models.engine.int8_linear import is_faster, use_int8
from memgraph_rag.models.files.loading_bars import hide_loading_bars
from memgraph_rag.models.files.model_files import require_all_weights
from memgraph_rag.types import Operations


def count_operations(config: PretrainedConfig) -> Operations:
    """Count the floating-point operations that a decoder with this configuration needs for each token.

    All matrices count but the embedding table, so the logits of each token count too. In a mixture of experts, only
    the experts of a token count. Attention is counted as if no layer had a sliding window. Norms, activations and
    position embeddings are left out. No weights are loaded.
    """
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(config)
    shapes = [
        weights.shape
        for module in network.modules()
        if not isinstance(module, torch.nn.Embedding)
        for weights in module.parameters(recurse=False)
    ]
    matrices = sum(prod(shape) for shape in shapes if len(shape) == 2)
    experts = sum(prod(shape[1:]) for shape in shapes if len(shape) == 3)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    active = matrices + experts * (getattr(config, "num_experts_per_tok", None) or 1)
    return Operations(2 * active, 4 * config.num_hidden_layers * config.num_attention_heads * width)


def find_number_format(name: str, device: torch.device, config: PretrainedConfig) -> str:
    """Choose the number format of the weights that ``read_weights`` loads, for example "int8" or "bfloat16".

    "auto" is 8-bit integers on a CPU that a measurement shows to be faster with them, else ``choose_dtype``.

    Args:
        name: as for ``find_dtype``.
        config: the model's configuration; its widest layers are measured.

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
    """Return the network of a checkpoint, ready to compute.

    While it loads, the default dtype of torch is the network's dtype, in all threads.

    Args:
        number_format: the result of ``find_number_format``; "auto" is ``choose_dtype``.
        attention: the name of an attention function of transformers.

    Raises:
        OSError, SafetensorError: the folder holds no checkpoint, or the checkpoint cannot be read.
        ValueError: transformers does not know the model, or some weights are missing.
        SettingsError: as ``find_dtype``.
    """
    dtype = find_dtype(number_format, device)
    bits = _quantization_options(number_format, device, dtype)
    network = _read(folder, dtype, attention, **bits)
    if getattr(network, "is_quantized", False):  # bitsandbytes has quantized it, now or in the checkpoint
        return network
    if number_format == INT8:
        use_int8(network, output=network.get_output_embeddings())
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        if config.get_text_config().dtype == dtype:  # otherwise no file is mapped
            _map_again(network, _read(folder, dtype, attention))
    torch.nn.Module.to(network, device)  # in place; the method of PreTrainedModel has other types
    return network


def first_layers(network: PreTrainedModel, count: int) -> torch.nn.Module:
    """Return a decoder that ends after the first ``count`` layers of a network, without its final norm.

    The weights are those of the network: nothing is copied. The decoder must have ``layers`` and ``norm``, as Llama and
    Qwen have.
    """
    decoder: Any = copy(network.base_model)
    decoder._modules = dict(decoder._modules)
    decoder.layers = torch.nn.ModuleList(decoder.layers[:count])
    decoder.norm = torch.nn.Identity()
    return decoder


def _read(folder: str, dtype: torch.dtype, attention: str, **more: Any) -> PreTrainedModel:
    with hide_loading_bars():
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation=attention, output_loading_info=True, trust_remote_code=False,
            **more,
        )  # fmt: skip
    network, report = loaded
    require_all_weights(report)
    return network.eval().requires_grad_(False)


def _map_again(network: PreTrainedModel, again: PreTrainedModel) -> None:
    """Replace the weights that are still in the checkpoint's format by a new mapping of the file.

    The first mapping has all pages in memory that the conversion to integers has read. A new mapping has none of them.
    Of an input embedding, it then loads only the rows of tokens that occur.
    """
    anew = dict(again.named_parameters())
    for name, parameter in network.named_parameters():
        if not parameter.is_mkldnn:
            parameter.data = anew[name].data


def _quantization_options(number_format: str, device: torch.device, dtype: torch.dtype) -> dict[str, Any]:
    """Return the options with which transformers lets bitsandbytes store the weights.

    They are empty for a number format that does not need bitsandbytes.
    """
    if number_format == INT4:
        config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)
    elif number_format == INT8 and device.type == "cuda":
        config = BitsAndBytesConfig(load_in_8bit=True)
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # otherwise it warns for each layer about bfloat16
    else:
        return {}
    return {"quantization_config": config, "device_map": {"": device}}
