"""A tiny GGUF file of a Qwen2, of a few tens of kilobytes, as a file to convert and to damage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from architectures import train_tokenizer
from gguf import GGUFWriter, TokenType

__all__ = ["HIDDEN", "LAYERS", "write_gguf"]

HIDDEN, LAYERS = 16, 2
_HEADS, _FEED_FORWARD = 2, 24


def write_gguf(path: Path, *, leave_out: str = "", alignment: int = 0, **changes: int | None) -> Path:
    """Write a model of random weights.

    Args:
        leave_out: a tensor.
        alignment: told in the header; 0 does not tell it.
        **changes: of its sizes (``block_count`` …); None leaves one out.
    """
    writer = GGUFWriter(path, "qwen2")
    if alignment:
        writer.add_custom_alignment(alignment)
    sizes = {
        "block_count": LAYERS,
        "context_length": 128,
        "embedding_length": HIDDEN,
        "feed_forward_length": _FEED_FORWARD,
        "attention.head_count": _HEADS,
        "attention.head_count_kv": 1,
    }
    for name, size in (sizes | changes).items():
        if size is not None:
            writer.add_uint32(f"qwen2.{name}", size)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    count = _add_tokenizer(writer)
    noise = np.random.default_rng(0)
    for name, shape in _shapes(count):
        if name != leave_out:
            writer.add_tensor(name, noise.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: GGUFWriter) -> int:
    model = json.loads(train_tokenizer().backend_tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL if token.startswith("<|") else TokenType.NORMAL for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_eos_token_id(2)
    return len(tokens)


def _shapes(tokens: int) -> list[tuple[str, tuple[int, ...]]]:
    half = HIDDEN // _HEADS
    in_layer = {
        "attn_norm.weight": (HIDDEN,),
        "attn_q.weight": (HIDDEN, HIDDEN),
        "attn_q.bias": (HIDDEN,),
        "attn_k.weight": (half, HIDDEN),
        "attn_k.bias": (half,),
        "attn_v.weight": (half, HIDDEN),
        "attn_v.bias": (half,),
        "attn_output.weight": (HIDDEN, HIDDEN),
        "ffn_norm.weight": (HIDDEN,),
        "ffn_gate.weight": (_FEED_FORWARD, HIDDEN),
        "ffn_up.weight": (_FEED_FORWARD, HIDDEN),
        "ffn_down.weight": (HIDDEN, _FEED_FORWARD),
    }
    layers = [(f"blk.{number}.{name}", shape) for number in range(LAYERS) for name, shape in in_layer.items()]
    return [("token_embd.weight", (tokens, HIDDEN)), ("output_norm.weight", (HIDDEN,)), *layers]
