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

from memgraph_rag.models.files.token_counter import open_token_counter

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
def kept(folder):
    open_token_counter(folder)
    return open_token_counter(folder)


@given(st.lists(TEXTS, max_size=4))
def test_counter_counts_tokens_of_the_model(small, kept, texts):
    assert kept(texts) == [len(small.tokens.encode(text).ids) for text in texts]


def test_damaged_file_is_rebuilt(folder, kept):
    (file,) = folder.glob("counting*")
    whole = file.read_bytes()
    file.write_bytes(whole[:1000])

    assert open_token_counter(folder)(["one two"]) == kept(["one two"])
    assert file.read_bytes() == whole
    assert len(list(folder.glob("counting*"))) == 1


def test_counter_works_without_writable_folder(folder, kept, monkeypatch):
    for file in folder.glob("counting*"):
        file.unlink()
    monkeypatch.setattr(Path, "write_text", _refuse)

    assert open_token_counter(folder)(["one two"]) == kept(["one two"])
    assert not list(folder.glob("counting*"))


def _refuse(*_, **__):
    raise OSError(28, "No space left on device")


@pytest.mark.full("a process with the packaged model")
def test_adding_loads_no_transformers(small_weights, tmp_path):
    program = (
        "import sys; from memgraph_rag import Memory\n"
        f"with Memory({str(tmp_path / 'a.lbug')!r}, model='qwen2.5-coder-0.5b-instruct') as memory:\n"
        "    memory.add('Ann met Bob.', key='a')\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    run = [sys.executable, "-c", program]
    open_token_counter(Path(small_weights))  # as after the first document
    done = subprocess.run(run, capture_output=True, text=True, check=True, env=dict(os.environ))

    assert done.stdout.strip() == "{'torch'}"
