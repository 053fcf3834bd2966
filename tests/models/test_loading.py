"""When weights are loaded, and what of a checkpoint stays in memory."""

from __future__ import annotations

import gc
import json
from io import StringIO
from pathlib import Path

import pytest
import torch
from architectures import write_checkpoint

from memgraph_rag.errors import ModelError, QuestionError
from memgraph_rag.models.engine import hardware
from memgraph_rag.models.engine.language_model import TransformersModel

QUESTION, NODE = "Who ran over the hill?", "A fox ran over the hill."


@pytest.fixture
def model(tmp_path: Path) -> TransformersModel:
    return TransformersModel(write_checkpoint("qwen2", tmp_path), dtype="int8", device="cpu")


def test_weights_load_once(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> None:
    loads, load = [], model._load
    monkeypatch.setattr(model, "_load", lambda: (loads.append(1), load())[-1])
    for _ in range(2):
        with model.open_session(QUESTION) as session:
            assert 0 <= session.probability_of_yes() <= 1
    assert loads == [1]


def test_first_pass_reports_damaged_weights(model: TransformersModel, tmp_path: Path) -> None:
    for file in tmp_path.glob("*.safetensors"):
        file.write_bytes(b"damaged")
    with (
        model.open_session(QUESTION) as session,
        pytest.raises(ModelError, match=r"Expected model weights in .*\. Unpack or fetch the model again"),
    ):
        session.append([NODE])


def test_code_in_the_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformers would ask on standard input whether it may run the code, which may be a file full of "y"."""
    write_checkpoint("qwen2", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    form = {**config, "model_type": "stranger", "auto_map": {"AutoConfig": "stranger.Config"}}
    (tmp_path / "config.json").write_text(json.dumps(form))
    (tmp_path / "stranger.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.setattr("sys.stdin", StringIO("y\n" * 9))
    with pytest.raises(ModelError):
        TransformersModel(tmp_path, device="cpu")
    assert not (tmp_path / "ran").exists()


def test_a_question_too_long_loads_nothing(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    monkeypatch.setattr(model, "_load", lambda: loads.append(1))
    with pytest.raises(QuestionError):
        model.open_session("why " * 9_000)
    assert loads == []


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="a system that does not list what is mapped")
def test_int8_network_maps_checkpoint_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one mapping of the file remains, and its pages were not read yet."""
    monkeypatch.setattr(hardware, "choose_dtype", lambda _: torch.float32)  # the checkpoint's own
    network = TransformersModel(write_checkpoint("qwen2", tmp_path), dtype="int8", device="cpu").network
    gc.collect()
    views = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line]
    assert len(views) == 1
    start, end = (int(place, 16) for place in views[0].split()[0].split("-"))
    assert start <= network.get_input_embeddings().weight.data_ptr() < end
