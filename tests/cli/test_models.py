"""What ``memgraph-rag models`` lists; servers are in ``tests/endpoints``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memgraph_rag.models.files.catalogue import CATALOGUE


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def cache(hub: Path, name: str, architecture: str, *files: str) -> None:
    """A model in the hub's cache, in that cache's own layout."""
    folder = hub / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("0123abc")
    (snapshot / "config.json").write_text(json.dumps({"architectures": [architecture]}))
    for file in files:
        (snapshot / file).write_bytes(b"weights")


def test_packaged_models_are_listed_best_first_with_how_to_get_them(cli, hub, monkeypatch) -> None:
    best = next(iter(CATALOGUE.values()))
    monkeypatch.setattr("memgraph_rag.models.files.catalogue.find_spec", lambda _: None)
    listed = cli.json("models")
    assert [model["name"] for model in listed] == list(CATALOGUE)
    assert not any(model["is_ready"] for model in listed)
    assert f"memgraph_rag[{best.extra}]" in listed[0]["note"]
    assert "memgraph-rag models --endpoints" in cli("models").stdout


def test_only_usable_models_of_the_cache_are_listed(cli, hub) -> None:
    cache(hub, "owner/writes", "Qwen2ForCausalLM", "model.safetensors")
    cache(hub, "owner/embeds", "BertModel", "model.safetensors")
    cache(hub, "owner/half", "Qwen2ForCausalLM")
    cached = [model for model in cli.json("models") if model["kind"] == "cached"]
    assert [(model["name"], model["is_ready"]) for model in cached] == [("owner/writes", True)]


def test_missing_cache_is_no_error(cli, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "nothing"))
    assert {model["kind"] for model in cli.json("models")} == {"packaged"}
