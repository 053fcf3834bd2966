"""Tiny random checkpoints of many architectures, so that the fast engine can be compared with its plain twin.

They write nonsense, but each has what makes its family special (shared keys, sliding windows, capped logits, sinks,
norms on queries and keys), with weights so large that attention is far from uniform and a wrong column shows.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

__all__ = ["ARCHITECTURES", "NOT_MEASURABLE", "WIDER", "WINDOW", "train_tokenizer", "write_checkpoint"]

WINDOW = 16  # tokens that a sliding layer sees, where others see all: fewer than any prompt has
WIDER = 64  # where all layers slide: a node still sees its question, the fourth does not

_BASE = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
}
_MIXED = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "sliding_window": WINDOW}

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {**_BASE, "attention_bias": True},
    "qwen2": {**_BASE},
    "qwen3": {**_BASE, "head_dim": 32},
    "mistral": {**_BASE, "sliding_window": WIDER},
    "phi": {**_BASE, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32},
    "phi3": {**_BASE, "sliding_window": WIDER},
    "gemma2": {**_BASE, **_MIXED, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 3.0},
    "gemma3_text": {**_BASE, **_MIXED, "query_pre_attn_scalar": 16},
    "gpt_oss": {
        **_BASE,
        **_MIXED,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "max_position_embeddings": 131072,  # what its scaled rotary positions are made for
    },
}
"""Architecture to what its tiny configuration sets."""

NOT_MEASURABLE: dict[str, dict[str, Any]] = {
    "bloom": {"hidden_size": 64, "n_layer": 2, "n_head": 4},
}
"""Architectures of transformers that call no ``AttentionInterface``."""

_TEXT = (
    "Once upon a time there were four little Rabbits, and they lived with their Mother in a sand-bank. "
    "Can the question be answered from the information below? Reply with one word, Yes or No, without explanation. "
    "Yes yes No no YES NO Question: Information: Answer the question from the information above, in one sentence.\n"
    "Yes\nNo\nYes\nNo\nyes\nno\nYES\nNO\n"
    "* Peter ate lettuces, French beans and radishes in Mr. McGregor's garden.\n* Yes\n* No\n\n"
)
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_checkpoint(architecture: str, folder: Path, *, seed: int = 0, **changes: Any) -> Path:
    """A folder with random weights and a tokenizer, as transformers loads it; ``changes`` are of its configuration."""
    tokenizer = train_tokenizer()
    tokenizer.save_pretrained(folder)
    settings = {**ARCHITECTURES, **NOT_MEASURABLE}[architecture] | changes
    ids = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.eos_token_id}
    config = AutoConfig.for_model(architecture, vocab_size=len(tokenizer), dtype="float32", **settings, **ids)
    network = AutoModelForCausalLM.from_config(config)
    _randomise(network, torch.Generator().manual_seed(seed))
    with torch.no_grad():  # so that lines and answers end now and then
        said = network.get_output_embeddings().weight
        said[tokenizer.encode("\n")] *= 3
        said[tokenizer.eos_token_id] *= 1.5
    network.save_pretrained(folder)
    return folder


@torch.no_grad()
def _randomise(network: torch.nn.Module, generator: torch.Generator) -> None:
    for name, weights in network.named_parameters():
        noise = torch.randn(weights.shape, generator=generator)
        if "embed" in name:
            weights.copy_(noise)
        elif weights.ndim > 1:  # larger queries and keys, so that a few keys win
            keen = 2.0 if any(part in name for part in ("q_proj", "k_proj", "qkv_proj")) else 1.0
            inputs = weights.shape[-2] if "experts" in name else weights.shape[-1]
            weights.copy_(noise * keen / math.sqrt(inputs))
        elif name.endswith("sinks"):
            weights.copy_(noise * 2 + 8)
        elif "q_norm" in name or "k_norm" in name:
            weights.fill_(2.0)
        else:  # norms and biases
            weights.add_(noise * 0.1)


def train_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer of 420 tokens with a chat template."""
    raw = Tokenizer(BPE())
    raw.pre_tokenizer = ByteLevel(add_prefix_space=False)
    raw.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=420,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator([_TEXT], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=_TEMPLATE,
    )
