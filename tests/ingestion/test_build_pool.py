"""Building away from the store: a builder that was pickled, as for a worker, builds the same graph; groups ahead."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from memories import FOX, LONG, RIVER, graph_of, options

from memgraph_rag import Document, Memory, Receipt
from memgraph_rag.ingestion.build_pool import LocalPool
from memgraph_rag.ingestion.graph_building import BuildOutcome
from memgraph_rag.ingestion.planning import PendingDocument
from memgraph_rag.ingestion.sources import GroupSize
from memgraph_rag.models.files.journal import Journal
from memgraph_rag.models.model_loader import FoundModels
from memgraph_rag.models.wrappers.token_limit import LimitedModels
from memgraph_rag.settings import Settings

STORIES = [Document(FOX, "fox"), Document(RIVER, "river"), Document(LONG, "long")]
LAYERS = ("entities", "outline", "context", "points", "relations")


def start_elsewhere(pool: LocalPool, documents: Sequence[PendingDocument]) -> Callable[[], list[BuildOutcome]]:
    """As a worker does it: builder and documents arrive there as bytes, and so do the graphs here."""
    builder, arrived = pickle.loads(pickle.dumps((pool._builder.divide_among(2), documents)))
    return lambda: pickle.loads(pickle.dumps(builder.build_each(arrived)))


@pytest.mark.parametrize("stored", [(), ("entities",), ("entities", "outline")])
def test_pickled_builder_builds_the_same_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: tuple[str, ...]
) -> None:
    graphs = []
    for name in ("here", "elsewhere"):
        if stored:
            with Memory(tmp_path / f"{name}.lbug", **options(layers=stored)) as memory:
                list(memory.add_many(STORIES))
        if name == "elsewhere":
            monkeypatch.setattr(LocalPool, "start", start_elsewhere)
        with Memory(tmp_path / f"{name}.lbug", **options(layers=LAYERS)) as memory:
            assert all(isinstance(outcome, Receipt) for outcome in memory.add_many(STORIES))
            graphs.append(graph_of(memory))
    assert graphs[0] == graphs[1]
    assert graphs[0]["edges"]


def test_groups_ahead_take_one_key_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalPool, "ahead", 3)
    monkeypatch.setattr(LocalPool, "group_size", GroupSize(documents=1, characters=1000))
    sources = [Document(text, key) for text, key in [(FOX, "a"), (RIVER, "b"), (FOX, "c"), (RIVER, "a"), (FOX, "d")]]
    with Memory(tmp_path / "notes.lbug", **options(layers=("entities",))) as memory:
        outcomes = [outcome for outcome in memory.add_many(sources) if isinstance(outcome, Receipt)]
    assert [outcome.action for outcome in outcomes] == ["added", "added", "added", "replaced", "added"]
    assert [outcome.same_as for outcome in outcomes] == [(), (), ("a",), ("b",), ("c",)]


def test_pickled_models_load_again_without_a_database(tmp_path: Path) -> None:
    settings = Settings.load(
        store="neo4j://db:7687", neo4j={"password": "a secret"}, cache_dir=tmp_path, recognizer="rules"
    )
    journal = Journal(tmp_path / "journal", owner="me")
    models = FoundModels(settings, stored_recognizer=str, journal=journal)
    name = models.recognizer.name
    sent = pickle.dumps(LimitedModels(models, 100).divide_among(4))
    assert b"secret" not in sent
    assert b"db:7687" not in sent
    arrived = pickle.loads(sent)
    assert isinstance(arrived, LimitedModels)
    assert arrived.recognizer.name == name
    assert arrived._most == 25
    assert vars(arrived._models)["_journal"]._path("x") == journal._path("x")


def test_namespace_keeps_its_recognizer_elsewhere(tmp_path: Path) -> None:
    models = FoundModels(Settings.load(cache_dir=tmp_path), stored_recognizer=partial(str, "rules-1"), journal=None)
    assert pickle.loads(pickle.dumps(models)).recognizer.name == "rules-1"
