"""Which layers ``add`` builds: those that are named, "full" for the whole graph, and what it takes by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from memories import FOX, options
from tables import table

from memgraph_rag import Memory
from memgraph_rag.errors import SettingsError
from memgraph_rag.ingestion.layer_choice import FULL_LAYERS, choose_layers
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.models import gpu_driver, model_loader
from memgraph_rag.models.gpu_driver import has_gpu
from memgraph_rag.models.model_loader import FoundModels
from memgraph_rag.settings import Settings
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Operations

DEFAULT = object()


class OnDevice(FakeLanguageModel):
    def __init__(self, device: str, billions: float) -> None:
        super().__init__()
        self.device = device
        self.operations = Operations(int(2e9 * billions), 0)


def built(model: FakeLanguageModel, layers: Any = DEFAULT) -> tuple[str, ...]:
    """The layers of a document that was added."""
    given = options(model=model)
    del given["layers"]
    with Memory(":memory:", **given, **({} if layers is DEFAULT else {"layers": layers})) as memory:
        memory.add(FOX, key="fox")
        return memory.documents()[0].layers


@table("layers", ["full", ["full"], ("full", "entities")])
def test_full_builds_entities_points_and_relations(layers: Any) -> None:
    assert built(FakeLanguageModel(), layers) == FULL_LAYERS


def test_layer_full_can_be_combined_with_others() -> None:
    pooled = RelationsLayer()
    layers = choose_layers(["facts", "full", pooled], Settings())
    assert [layer.name for layer in layers] == ["entities", "facts", "points", "relations"]
    assert layers[-1] is pooled


def test_deepen_accepts_layer_full() -> None:
    with Memory(":memory:", **options(layers=["entities"])) as memory:
        memory.add(FOX, key="fox")
        list(memory.deepen(layers="full"))
        assert memory.documents()[0].layers == FULL_LAYERS
        assert memory.status()["counts"]["InformationPoint"] > 0


@table("layers", ["fuller", ["walls"], ["full", "walls"]])
def test_error_about_layers_names_full(layers: Any) -> None:
    with pytest.raises(SettingsError, match="'full' for entities, points, relations"):
        choose_layers(layers, Settings())


@table(
    ("device", "billions", "layers", "expected"),
    [
        ("cuda", 7.2, DEFAULT, FULL_LAYERS),
        ("cuda:1", 6.7, DEFAULT, FULL_LAYERS),
        ("cuda", 3.1, DEFAULT, ("entities",)),
        ("cpu", 8.0, DEFAULT, ("entities",)),
        ("cuda", 8.0, ("entities",), ("entities",)),
        ("cuda", 8.0, (), ()),
        ("cpu", 1.5, "full", FULL_LAYERS),
    ],
)
def test_named_layers_win_over_the_default_of_a_large_model(
    device: str, billions: float, layers: Any, expected: tuple[str, ...]
) -> None:
    assert built(OnDevice(device, billions), layers) == expected


def test_model_without_a_known_device_builds_entities() -> None:
    assert built(FakeLanguageModel()) == ("entities",)


def test_layer_choice_without_gpu_searches_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_driver, "_DRIVER", tmp_path / "no driver")
    monkeypatch.setattr(gpu_driver, "which", lambda _: None)
    assert [has_gpu(device) for device in ("auto", "cpu", "mps", "cuda:1")] == [False, False, False, True]
    given = options(model=str(tmp_path / "no model"))
    del given["layers"]
    with Memory(":memory:", **given) as memory:
        assert memory.add(FOX, key="fox").counts["MENTIONS"]
    monkeypatch.setattr(gpu_driver, "which", lambda _: "/usr/bin/nvidia-smi")
    assert has_gpu("auto")


def test_small_model_files_do_not_count_as_large_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers, whose import takes seconds, is not asked."""
    monkeypatch.setattr(model_loader, "has_gpu", lambda _: True)
    monkeypatch.delattr(FoundModels, "_open_language")
    models = FoundModels(Settings(model="qwen2.5-coder-0.5b-instruct"), stored_recognizer=str, journal=None)
    assert not models.is_large_on_gpu


def test_missing_model_beside_a_gpu_leaves_entities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_loader, "has_gpu", lambda _: True)
    given = options(model=str(tmp_path / "no model"))
    del given["layers"]
    with Memory(":memory:", **given) as memory:
        memory.add(FOX, key="fox")
        assert memory.documents()[0].layers == ("entities",)
