"""The plain kind of sentence-transformers models, run by torch alone, against sentence-transformers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from memgraph_rag.models.embedders import fastest_format
from memgraph_rag.models.embedders.bert_files import is_plain_bert
from memgraph_rag.models.embedders.embedder import SentenceEmbedder, _LibraryNetwork
from memgraph_rag.models.embedders.fastest_format import choose_format
from memgraph_rag.models.embedders.numpy_bert import NumpyBert
from memgraph_rag.models.embedders.sentence_bert import SentenceBert
from memgraph_rag.models.files.catalogue import MINILM, find_embedder
from memgraph_rag.types import Matrix

CPU = torch.device("cpu")
TEXTS = [
    "", " ", "A fox.", "Ünïcödé ÇA é\u0301", "中文句子。", "emoji 😀 \x00 \u200b [SEP] [MASK] ##ing", "x" * 300,
    "Tabs\tand\r\n\nlines", "Straße İstanbul ﬁ", "The mill by the river belongs to Ann Lee. " * 40,
]  # fmt: skip


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(find_embedder(MINILM, cache_dir=Path())[1])


@pytest.fixture(scope="module")
def ours(folder: Path) -> SentenceBert:
    return SentenceBert(folder, CPU)


def test_vectors_are_those_of_sentence_transformers(folder: Path, ours: SentenceBert) -> None:
    theirs = _LibraryNetwork.load(str(folder), CPU)
    expected = normalize(theirs.encode(TEXTS))
    np.testing.assert_allclose(normalize(ours.encode(TEXTS)), expected, atol=1e-5, rtol=0)
    alone = np.concatenate([ours.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(normalize(alone), expected, atol=1e-5, rtol=0)
    assert ours.count_tokens(TEXTS[:-1]) == theirs.count_tokens(TEXTS[:-1])


@pytest.mark.parametrize("network", ["ours", "theirs"])
def test_end_of_a_long_text_is_embedded(folder: Path, ours: SentenceBert, network: str) -> None:
    encode = ours.encode if network == "ours" else _LibraryNetwork.load(str(folder), CPU).encode
    long = "The mill by the river belongs to Ann Lee. " * 60
    first, *_ = normalize(encode(["The mill by the river belongs to Ann Lee. " * 25, "x"]))
    vectors = normalize(encode([long, long + "A penguin swam to Peru. " * 40, "A penguin swam to Peru.", "A mill."]))
    assert vectors[1] @ vectors[2] > vectors[0] @ vectors[2] + 0.2
    assert vectors[0] @ first > 0.99
    alone = normalize(encode([long + "A penguin swam to Peru. " * 40]))
    np.testing.assert_allclose(alone[0], vectors[1], atol=1e-5, rtol=0)


def test_vectors_by_numpy_are_those_by_torch(folder: Path, ours: SentenceBert) -> None:
    small = NumpyBert(folder)
    np.testing.assert_allclose(normalize(small.encode(TEXTS)), normalize(ours.encode(TEXTS)), atol=1e-5, rtol=0)
    assert small.count_tokens(TEXTS) == ours.count_tokens(TEXTS)


def test_many_windows_are_read_in_several_passes(ours: SentenceBert, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["A fox. " * 400, "A mill.", "The river rose. " * 300]
    expected = ours.encode(texts)
    monkeypatch.setattr("memgraph_rag.models.embedders.sentence_bert._MOST_TOKENS_OF_CORE", 300)
    np.testing.assert_allclose(ours.encode(texts), expected, atol=1e-5, rtol=1e-4)


def test_cores_give_the_vectors_of_a_single_core(ours: SentenceBert) -> None:
    texts = [f"Number {number} of the mills by the river. " * (number % 9 + 1) for number in range(60)]
    before = torch.get_num_threads()
    try:
        vectors = []
        for cores in (1, 3):
            torch.set_num_threads(cores)
            vectors.append(ours.encode(texts))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(vectors[1], vectors[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("name", "least"), [("bfloat16", 0.999), ("int8", 0.995)])
def test_fewer_digits_turn_a_vector_by_little(ours: SentenceBert, name: str, least: float) -> None:
    """The aim is 0.995 (docs/decisions/embedders.md): above 0.998 with VNNI, 0.9975 on AVX2 alone."""
    exact, shorter = ours.encode(TEXTS), ours.copy_in_format(name)
    vectors = shorter.encode(TEXTS)
    assert (normalize(vectors) * normalize(exact)).sum(axis=1).min() > least
    assert (vectors != exact).any(axis=1).all()
    assert (shorter.encode(TEXTS) == vectors).all()


@pytest.mark.parametrize(
    ("int8", "bfloat16", "chosen"), [(0.5, 0.1, "int8"), (0.9, 0.5, "bfloat16"), (0.9, 0.9, "float32")]
)
def test_format_is_chosen_if_it_is_faster_by_a_fifth(
    ours: SentenceBert, monkeypatch: pytest.MonkeyPatch, int8: float, bfloat16: float, chosen: str
) -> None:
    networks = {"float32": ours, "bfloat16": ours.copy_in_format("bfloat16"), "int8": ours.copy_in_format("int8")}
    seconds = {id(networks[name]): time for name, time in (("float32", 1.0), ("int8", int8), ("bfloat16", bfloat16))}
    monkeypatch.setattr(fastest_format, "_trial", lambda network: seconds[id(network)])
    monkeypatch.setattr(fastest_format, "find_dtype", lambda *_: torch.bfloat16)
    monkeypatch.setattr(ours, "copy_in_format", lambda name: networks["int8" if name == "int8" else "bfloat16"])
    assert choose_format(ours, "auto") is networks[chosen]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False}),
        ("config.json", {"model_type": "mpnet"}),
        ("config.json", {"hidden_act": "gelu_new"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("config.json", {"is_decoder": True}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
        ("sentence_bert_config.json", {"max_seq_length": None}),
        ("sentence_bert_config.json", {"max_seq_length": 1024}),
        ("sentence_bert_config.json", {"unpad_inputs": True}),
        ("tokenizer_config.json", {"tokenizer_class": "XLMRobertaTokenizer"}),
        ("tokenizer_config.json", {"do_lower_case": False}),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}),
    ],
)
def test_other_kinds_are_left_to_sentence_transformers(
    folder: Path, tmp_path: Path, name: str, changes: dict[str, Any]
) -> None:
    copy = described(folder, tmp_path)
    assert is_plain_bert(copy)
    (copy / name).write_text(json.dumps(json.loads((copy / name).read_text("utf-8")) | changes), encoding="utf-8")
    assert not is_plain_bert(copy)


@pytest.mark.parametrize("kind", ["sentence_transformers.models.Dense", "mine.Normalize"])
def test_other_modules_are_left_to_sentence_transformers(folder: Path, tmp_path: Path, kind: str) -> None:
    copy = described(folder, tmp_path)
    modules = json.loads((copy / "modules.json").read_text("utf-8"))
    modules[-1]["type"] = kind
    (copy / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    assert not is_plain_bert(copy)
    assert not is_plain_bert(tmp_path / "nothing")


def test_missing_weights_are_an_error(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    copy = described(folder, tmp_path)
    shutil.copy(folder / "tokenizer.json", copy)
    save_file({"embeddings.word_embeddings.weight": torch.zeros(2, 2)}, copy / "model.safetensors")
    for load in (lambda: SentenceBert(copy, CPU), lambda: NumpyBert(copy)):
        with pytest.raises(ValueError, match=r"'embeddings\.position_embeddings\.weight' are missing"):
            load()


def test_embedding_a_question_imports_no_modelling_library(folder: Path) -> None:
    program = (
        f"import sys; from memgraph_rag.models.embedders.embedder import SentenceEmbedder; "
        f"SentenceEmbedder({str(folder)!r}, device='cpu').embed(['What is it?']); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"torch", "transformers", "sentence_transformers", "sklearn", "scipy"} & set(done.stdout.split())
    assert done.stderr == ""


def test_the_embedder_runs_other_kinds_by_sentence_transformers(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(folder, copy)
    (copy / "sentence_bert_config.json").write_text('{"max_seq_length": 128, "do_lower_case": true}', "utf-8")
    embedder = SentenceEmbedder(copy, device="cpu")
    assert isinstance(embedder.network, _LibraryNetwork)
    cosine = (embedder.embed(["A Fox."]) * SentenceEmbedder(folder, device="cpu").embed(["a fox."])).sum()
    assert cosine == pytest.approx(1, abs=1e-5)


def normalize(vectors: Matrix) -> Matrix:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def described(folder: Path, tmp_path: Path) -> Path:
    """The model's files without its weights, of which only the names matter."""
    copy = tmp_path / "model"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("model.safetensors", "*.md", "vocab.txt"))
    (copy / "model.safetensors").touch()
    return copy
