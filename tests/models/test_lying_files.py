"""Files of models that lie about sizes: each is one error of ours, at once, and takes no memory for what it claims."""

from __future__ import annotations

import json
import math
import resource
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from architectures import write_checkpoint
from gguf_files import write_gguf
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel, BertTokenizerFast

from memgraph_rag.errors import ModelError
from memgraph_rag.models.embedders.embedder import SentenceEmbedder
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.files.catalogue import find_language_model
from memgraph_rag.models.reranker import CrossEncoderReranker

MEBIBYTES = 400  # what is claimed is a thousand times as much
HUGE = 2**62


@contextmanager
def bounded() -> Iterator[None]:
    """In little memory, beyond what importing the libraries takes."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MEBIBYTES


# ── GGUF ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that converts; the libraries are imported then."""
    folder = tmp_path_factory.mktemp("gguf")
    path = write_gguf(folder / "tiny.gguf")
    name, made = find_language_model(str(path), cache_dir=folder / "cache")
    assert (name, (Path(made) / "model.safetensors").is_file()) == ("tiny", True)
    return path


def behind(data: bytes, key: str, place: int = 0) -> int:
    """The place of what comes so many bytes behind a name."""
    return data.index(key.encode()) + len(key) + place


def put(place: int | tuple[str, int], form: str, value: int) -> Callable[[bytes], bytes]:
    """Write a number at a place, or so many bytes behind a name."""

    def change(data: bytes) -> bytes:
        changed = bytearray(data)
        at = place if isinstance(place, int) else behind(data, *place)
        struct.pack_into(f"<{form}", changed, at, value)
        return bytes(changed)

    return change


def cut(share: float) -> Callable[[bytes], bytes]:
    return lambda data: data[: int(share * len(data))]


LIES: dict[str, Callable[[bytes], bytes]] = {
    **{f"cut at {share:.4f}": cut(share) for share in (0.0, 0.00005, 0.0002, 0.0005, 0.001, 0.05, 0.3, 0.6, 0.999)},
    "other magic": put(0, "I", 5),
    "other version": put(4, "I", 9),
    "swapped version": put(4, "I", 9 << 24),
    "tensor count": put(8, "Q", HUGE),
    "one tensor more": lambda data: put(8, "Q", int.from_bytes(data[8:16], "little") + 1)(data),
    "number of keys": put(16, "Q", HUGE),
    "length of a key": put(24, "Q", HUGE),
    "length of a text": put(("general.architecture", 4), "Q", HUGE),
    "length of a list of texts": put(("tokenizer.ggml.tokens", 8), "Q", HUGE),
    "length of a list of numbers": put(("tokenizer.ggml.token_type", 8), "Q", HUGE),
    "list of bytes without end": lambda data: put(("tokenizer.ggml.token_type", 4), "I", 0)(
        put(("tokenizer.ggml.token_type", 8), "Q", HUGE)(data)
    ),
    "list of lists": put(("tokenizer.ggml.token_type", 4), "I", 9),
    "unknown type": put(("qwen2.block_count", 0), "I", 99),
    "layers": put(("qwen2.block_count", 4), "I", 2**32 - 1),
    "width": put(("qwen2.embedding_length", 4), "I", 2**31),
    "inner width": put(("qwen2.feed_forward_length", 4), "I", 2**31),
    "places": put(("qwen2.context_length", 4), "I", 2**32 - 1),
    "layers below 0": lambda data: put(("qwen2.block_count", 0), "I", 5)(put(("qwen2.block_count", 4), "i", -1)(data)),
    "number of dimensions": put(("token_embd.weight", 0), "I", 2**31),
    "no dimension": put(("token_embd.weight", 0), "I", 0),
    "dimension": put(("token_embd.weight", 4), "Q", HUGE),
    "dimension of 0": put(("token_embd.weight", 4), "Q", 0),
    "dimensions that overflow": lambda data: put(("token_embd.weight", 4), "Q", 2**33)(
        put(("token_embd.weight", 12), "Q", 2**31)(data)
    ),
    "number format": put(("token_embd.weight", 20), "I", 999),
    "offset": put(("token_embd.weight", 24), "Q", HUGE),
    "offset of another": put(("output_norm.weight", 16), "Q", 0),
}


@pytest.mark.parametrize("lie", LIES)
def test_gguf_file_with_wrong_sizes_is_refused(whole: Path, tmp_path: Path, lie: str) -> None:
    path = tmp_path / "lying.gguf"
    path.write_bytes(LIES[lie](whole.read_bytes()))
    with bounded(), pytest.raises(ModelError, match=r"^Expected .* GGUF file lying\.gguf, got .*\. Download"):
        find_language_model(str(path), cache_dir=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.*"))


@pytest.mark.parametrize("alignment", [0, 3, 2**31])
def test_invalid_alignment_is_refused(tmp_path: Path, alignment: int) -> None:
    path = write_gguf(tmp_path / "lying.gguf", alignment=32)
    path.write_bytes(put(("general.alignment", 4), "I", alignment)(path.read_bytes()))
    with bounded(), pytest.raises(ModelError, match=r"^Expected .* GGUF file lying\.gguf, got"):
        find_language_model(str(path), cache_dir=tmp_path / "cache")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"block_count": 40}, "a network of"),
        ({"vocab_size": 2**31}, "a network of"),
        ({"attention.key_length": 2**30}, "a network of"),
        ({"expert_count": 2**20, "expert_feed_forward_length": 2**20}, "a network of"),
        ({"block_count": None}, "a size of the network"),
        ({"embedding_length": None}, "a size of the network"),
    ],
    ids=str,
)
def test_network_larger_than_its_file_is_refused(tmp_path: Path, sizes: dict[str, int | None], expected: str) -> None:
    path = write_gguf(tmp_path / "lying.gguf", **sizes)
    with bounded(), pytest.raises(ModelError, match=f"^Expected {expected}"):
        find_language_model(str(path), cache_dir=tmp_path / "cache")


@pytest.mark.parametrize("tensor", ["blk.1.ffn_up.weight", "output_norm.weight", "token_embd.weight"])
def test_gguf_file_without_a_tensor_is_no_network(tmp_path: Path, tensor: str) -> None:
    path = write_gguf(tmp_path / "lying.gguf", leave_out=tensor)
    with bounded(), pytest.raises(ModelError, match=r"^Expected .*, got "):
        find_language_model(str(path), cache_dir=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("config.json"))


@pytest.mark.parametrize(
    "sizes", [{"block_count": 1}, {"feed_forward_length": 20}, {"attention.head_count": 4}], ids=str
)
def test_gguf_file_of_other_shapes_is_refused_or_converted(tmp_path: Path, sizes: dict[str, int]) -> None:
    path = write_gguf(tmp_path / "lying.gguf", **sizes)
    with bounded():
        try:
            find_language_model(str(path), cache_dir=tmp_path / "cache")
        except ModelError as error:
            assert str(error).startswith("Expected ")  # noqa: PT017 - fewer layers than are there may convert


# ── safetensors ──────────────────────────────────────────────────────────────────────────────────────────────


def relabel(**changes: Any) -> Callable[[bytes], bytes]:
    """Change what the header says of the largest tensor; a function is called with what it said."""

    def change(data: bytes) -> bytes:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        tensors = [tensor for name, tensor in header.items() if name != "__metadata__"]
        largest = max(tensors, key=lambda tensor: math.prod(tensor["shape"]))
        largest |= {name: value(largest) if callable(value) else value for name, value in changes.items()}
        written = json.dumps(header).encode()
        return len(written).to_bytes(8, "little") + written + data[8 + length :]

    return change


WEIGHT_LIES: dict[str, Callable[[bytes], bytes]] = {
    **{f"cut at {share}": cut(share) for share in (0.0, 0.0001, 0.01, 0.5, 0.999)},
    "length of the header": put(0, "Q", HUGE),
    "length of the header by one": lambda data: put(0, "Q", int.from_bytes(data[:8], "little") + 1)(data),
    "no header": put(0, "Q", 0),
    "header of 90 MB": put(0, "Q", 90_000_000),
    "no JSON": lambda data: data[:8] + b"x" + data[9:],
    "shape": relabel(shape=[2**40, 2**40]),
    "shape that overflows": relabel(shape=[2**33, 2**31]),
    "negative shape": relabel(shape=[-1, 16]),
    "other shape": relabel(shape=lambda tensor: tensor["shape"][::-1]),
    "flat shape": relabel(shape=lambda tensor: [tensor["shape"][0] * tensor["shape"][1]]),
    "number format": relabel(dtype="F99"),
    "wider number format": relabel(dtype="F64"),
    "offsets beyond": relabel(data_offsets=[0, HUGE]),
    "offsets that overlap": relabel(data_offsets=lambda tensor: [place + 4 for place in tensor["data_offsets"]]),
    "offsets backwards": relabel(data_offsets=lambda tensor: tensor["data_offsets"][::-1]),
}


@pytest.fixture(scope="module")
def checkpoint_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_checkpoint("qwen2", tmp_path_factory.mktemp("checkpoint"))
    assert TransformersModel(folder, dtype="float32", device="cpu").network.num_parameters() > 0
    return folder


@pytest.fixture(scope="module")
def embedder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_embedder(tmp_path_factory.mktemp("embedder"))
    assert SentenceEmbedder(folder, device="cpu").embed(["fox"]).shape == (1, 16)
    return folder


def write_embedder(folder: Path) -> Path:
    """A sentence-transformers model of one tiny BERT layer."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fox", "one", "a"]
    (folder / "vocab.txt").write_text("\n".join(tokens), "utf-8")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(tokens), max_position_embeddings=32, **sizes)
    BertModel(config).save_pretrained(folder)
    kinds = ("Transformer", "", "0"), ("Pooling", "1_Pooling", "1"), ("Normalize", "2_Normalize", "2")
    modules = [
        {"idx": int(place), "name": place, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for kind, path, place in kinds
    ]
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 30, "do_lower_case": false}', "utf-8")
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), "utf-8")
    return folder


def spoilt(folder: Path, tmp_path: Path, lie: str) -> Path:
    copy = tmp_path / "model"
    shutil.copytree(folder, copy)
    weights = copy / "model.safetensors"
    weights.write_bytes(WEIGHT_LIES[lie](weights.read_bytes()))
    return copy


@pytest.mark.parametrize("lie", WEIGHT_LIES)
def test_weights_that_contradict_their_file_are_refused(checkpoint_folder: Path, tmp_path: Path, lie: str) -> None:
    model = TransformersModel(spoilt(checkpoint_folder, tmp_path, lie), dtype="float32", device="cpu")
    with bounded(), pytest.raises(ModelError, match=r"^Expected model weights in .*, got an error: .*\. Unpack"):
        _ = model.network


@pytest.mark.parametrize("lie", WEIGHT_LIES)
def test_embedder_weights_that_contradict_their_file_are_refused(
    embedder_folder: Path, tmp_path: Path, lie: str
) -> None:
    embedder = SentenceEmbedder(spoilt(embedder_folder, tmp_path, lie), device="cpu")
    with bounded(), pytest.raises(ModelError, match=r"^Expected a sentence-transformers model in .*, got an error: "):
        embedder.embed(["fox"])


@pytest.mark.parametrize("lie", ["length of the header", "cut at 0.5", "offsets beyond"])
def test_reranker_weights_that_contradict_their_file_are_refused(
    embedder_folder: Path, tmp_path: Path, lie: str
) -> None:
    reranker = CrossEncoderReranker(str(spoilt(embedder_folder, tmp_path, lie)))
    with bounded(), pytest.raises(ModelError, match=r"^Expected a cross-encoder"):
        reranker.score("Who?", ["A fox."])


def test_missing_weights_are_refused(checkpoint_folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(checkpoint_folder, copy)
    weights = load_file(copy / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"1 of its weights are missing, such as model\.layers\.1\.mlp\.up_proj"):
        _ = TransformersModel(copy, dtype="float32", device="cpu").network


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "sentence_bert_config.json", "modules.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", "5", '{"a": 1}', "\0"], ids=repr)
def test_damaged_files_of_an_embedder_are_refused(
    embedder_folder: Path, tmp_path: Path, name: str, content: str
) -> None:
    copy = tmp_path / "model"
    shutil.copytree(embedder_folder, copy)
    (copy / name).write_text(content, "utf-8")
    embedder = SentenceEmbedder(copy, device="cpu")
    try:
        vectors = embedder.embed(["fox"])
    except ModelError as error:
        assert str(error).startswith("Expected a sentence-transformers model in ")  # noqa: PT017 - some can do without
    else:
        assert vectors.shape == (1, 16)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", "5", '{"a": 1}', "\0"], ids=repr)
def test_damaged_files_of_a_language_model_are_refused(
    checkpoint_folder: Path, tmp_path: Path, name: str, content: str
) -> None:
    copy = tmp_path / "model"
    shutil.copytree(checkpoint_folder, copy)
    (copy / name).write_text(content, "utf-8")
    with pytest.raises(ModelError, match=r"^Expected a tokenizer and a config\.json in .*, got an error: "):
        TransformersModel(copy, dtype="float32", device="cpu")
