"""A model's tokens, counted without the model."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag import Action, Memory
from memgraph_rag.errors import ModelError
from memgraph_rag.models.engine.tokens import Tokens
from memgraph_rag.models.files.catalogue import CATALOGUE
from memgraph_rag.models.files.token_counter import open_token_counter, read_packaged_tokenizer
from memgraph_rag.testing.fakes import FakeEmbedder, FakeRecognizer

CONTROL = ["<|im_start|>", "<|endoftext|>", "<tool_call>", "</tool_call>", "<|im_end", "e\u0301", "\u0958"]
TEXTS = st.lists(st.one_of(st.text(), st.sampled_from(CONTROL)), max_size=6).map("".join)


@pytest.fixture(scope="module")
def folder(weights, tmp_path_factory) -> Path:
    """A folder with the tokenizer of a model, and without its weights."""
    target = tmp_path_factory.mktemp("model")
    for path in Path(weights).iterdir():
        if path.suffix in {".json", ".jinja"} and not path.name.startswith("counting"):
            shutil.copy(path, target)
    return target


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """The place of a tokenizer file, in a folder that does not exist yet."""
    return tmp_path_factory.mktemp("cache") / "tokenizers" / "model.json"


@pytest.fixture(scope="module")
def make(folder):
    return Tokens(folder).to_json


@pytest.fixture(scope="module")
def kept(file, make):
    open_token_counter(file, make)
    return open_token_counter(file, _refuse)


SMALL = CATALOGUE["qwen2.5-coder-0.5b-instruct"]


@pytest.fixture(scope="module")
def first_part() -> Path:
    """The first part of the small packaged model."""
    parts = SMALL.part_paths()
    assert parts
    return parts[0]


@given(st.lists(TEXTS, max_size=4))
def test_counter_counts_tokens_of_the_model(small, kept, texts):
    assert kept(texts) == [len(small.tokens.encode(text).ids) for text in texts]


def test_damaged_file_is_rebuilt(file, make, kept):
    whole = file.read_bytes()
    file.write_bytes(whole[:1000])

    assert open_token_counter(file, make)(["one two"]) == kept(["one two"])
    assert file.read_bytes() == whole
    assert list(file.parent.iterdir()) == [file]


def test_counter_works_without_writable_folder(file, make, kept, monkeypatch):
    file.unlink()
    monkeypatch.setattr("memgraph_rag.models.files.token_counter.write_private", _refuse)

    assert open_token_counter(file, make)(["one two"]) == kept(["one two"])
    assert not file.exists()


def test_added_document_leaves_packaged_weights_packed(tmp_path):
    options = {"model": "qwen2.5-coder-0.5b-instruct", "cache_dir": tmp_path, "layers": ()}
    with Memory(":memory:", embedder=FakeEmbedder(), recognizer=FakeRecognizer(), **options) as memory:
        assert memory.add("Ann met Bob.", key="a").action is Action.ADDED

    assert [path.name for path in tmp_path.iterdir()] == ["tokenizers"]


def test_damaged_vocabulary_is_refused(first_part, tmp_path):
    damaged = tmp_path / "part01.bin"
    damaged.write_bytes(first_part.read_bytes().replace(b"question", b"questiom", 1))

    with pytest.raises(ModelError, match=r"vocabulary of a packaged model in part01\.bin, .* Reinstall"):
        read_packaged_tokenizer(SMALL, damaged)


@pytest.mark.full("the packaged 0.5B model")
def test_packaged_tokenizer_equals_that_of_the_weights(first_part, small_weights):
    assert read_packaged_tokenizer(SMALL, first_part) == Tokens(small_weights).to_json()


def _refuse(*_, **__):
    raise OSError(28, "No space left on device")


def test_adding_loads_neither_torch_nor_transformers(tmp_path):
    program = (
        "import sys; from memgraph_rag import Memory\n"
        f"with Memory({str(tmp_path / 'a.lbug')!r}, model='qwen2.5-coder-0.5b-instruct') as memory:\n"
        "    memory.add('Ann met Bob.', key='a')\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, check=True, env=dict(os.environ))

    assert done.stdout.strip() == "set()"
