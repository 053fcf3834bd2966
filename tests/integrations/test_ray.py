"""Documents built by two actors of a real Ray cluster on this machine: the same graph, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}

import fault_ray
import fault_ray_nodes
import pytest
import ray
from fault_tally import Tally
from fault_world import Place
from memories import FOX, LONG, RIVER, graph_of, options
from written_files import pdf_bytes, written

from memgraph_rag import Document, Failure, Limits, Memory, Receipt
from memgraph_rag.errors import ClusterError, SettingsError, TokenLimitReached
from memgraph_rag.ingestion import ray_pool
from memgraph_rag.ingestion.build_pool import LocalPool
from memgraph_rag.ingestion.ray_pool import RayPool
from memgraph_rag.ingestion.shared_files import SharedFile
from memgraph_rag.ingestion.sources import GroupSize
from memgraph_rag.testing import FakeRecognizer
from memgraph_rag.text import files

PASSAGES = Path(__file__).parents[2] / "benchmarks" / "data" / "musique" / "docs.jsonl"
STORIES = [Document(FOX, "fox"), Document(RIVER, "river"), Document(LONG, "long")]
POISON = Document(FOX.replace("milk", "poison"), "bad")

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the actors cannot import this file


class Dying(FakeRecognizer):
    """Kills its process where it reads a word; once, where it is given a file to mark that."""

    def __init__(self, word: str, once: Path | None = None) -> None:
        super().__init__()
        self._word = word
        self._once = once

    def recognize(self, texts):
        if any(self._word in text for text in texts) and not (self._once and self._once.exists()):
            if self._once:
                self._once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().recognize(texts)


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    if not ray.is_initialized():
        ray.init(num_cpus=2, object_store_memory=200 * 2**20, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two documents a group, wherever they are built."""
    for pool in (LocalPool, RayPool):
        monkeypatch.setattr(pool, "group_size", GroupSize(documents=2, characters=200_000))


OpenMemory = Callable[..., Memory]


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[OpenMemory]:
    """Memories of fake models, a file each."""
    memories: list[Memory] = []

    def open_memory(name: str, **changes: object) -> Memory:
        memories.append(Memory(tmp_path / f"{name}.lbug", **options(**changes)))
        return memories[-1]

    yield open_memory
    for memory in memories:
        memory.close()


def files_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A text, a page, a broken file and a PDF, by paths that mean something in that folder only."""
    monkeypatch.chdir(folder)
    written(folder, "fox.txt", FOX)
    written(folder, "river.html", f"<html><title>River</title><p>{RIVER}</p></html>")
    written(folder, "broken.pdf", b"%PDF-1.7 of no use")
    written(folder, "long.pdf", pdf_bytes(FOX, RIVER, title="Long"))
    return [Path(name) for name in ("fox.txt", "river.html", "broken.pdf", "long.pdf")]


def reading_noted(paths: list[Path]) -> Callable[[Path], bytes]:
    """Reads a file in this process, and notes that."""
    read_bytes = files._read_bytes

    def read(path: Path) -> bytes:
        paths.append(path)
        return read_bytes(path)

    return read


def keys(memory: Memory) -> set[str]:
    return {record.key for record in memory.documents()}


@pytest.mark.timeout(900)  # of a core that is shared with much else; alone it takes half a minute
def test_two_actors_build_the_graph_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pool in (LocalPool, RayPool):  # two groups, and the same texts are embedded together
        monkeypatch.setattr(pool, "group_size", GroupSize(documents=20, characters=32_000))
    rows = [json.loads(line) for line in PASSAGES.read_text("utf-8").splitlines()[:40]]
    documents = [Document(row["text"], row["doc_id"], title=row["title"]) for row in rows]
    graphs = {}
    for place, where in {"here": None, "there": "auto"}.items():
        with Memory(tmp_path / f"{place}.lbug") as memory:
            outcomes = list(memory.add_many(documents, ray=where))
            assert [outcome.key for outcome in outcomes if isinstance(outcome, Receipt)] == [
                row["doc_id"] for row in rows
            ]
            graphs[place] = graph_of(memory)
            assert {outcome.action for outcome in memory.add_many(documents, ray=where)} == {"unchanged"}
    assert graphs["here"]["counts"]["MENTIONS"] > len(rows)
    assert graphs["there"] == graphs["here"]


def test_layers_of_a_language_model_are_the_same_too(open_memory: OpenMemory, small_groups: None) -> None:
    layers, documents = ("entities", "points", "relations"), fault_ray.DOCUMENTS[:6]
    here, there = (open_memory(name, layers=layers) for name in ("here", "there"))
    receipts = [list(here.add_many(documents)), list(there.add_many(documents, ray="auto"))]
    assert [[receipt.usage.model_calls for receipt in of_place] for of_place in receipts][1] == [
        receipt.usage.model_calls for receipt in receipts[0]
    ]
    assert graph_of(there) == graph_of(here)
    assert graph_of(here)["edges"]
    relations = [
        [memory._parts.store.list_relations(record.id) for record in memory.documents()] for memory in (here, there)
    ]
    assert relations[0] == relations[1]
    assert any(relations[0])


def test_layers_that_are_missing_are_built_on_a_cluster(open_memory: OpenMemory, tmp_path: Path) -> None:
    here = open_memory("here", layers=("entities", "points", "relations"))
    list(here.add_many(STORIES))
    with Memory(tmp_path / "there.lbug", **options(layers=("entities",))) as there:
        list(there.add_many(STORIES))
    there = open_memory("there", layers=("entities", "points", "relations"))
    assert {outcome.action for outcome in there.add_many(STORIES, ray="auto")} == {"deepened"}
    assert graph_of(there) == graph_of(here)


def test_poison_document_is_named_and_stops_no_other(open_memory: OpenMemory, small_groups: None) -> None:
    memory = open_memory("poisoned", layers=("entities",), recognizer=Dying("poison"))
    fox, bad, river, long = memory.add_many([STORIES[0], POISON, *STORIES[1:]], ray="auto")
    assert isinstance(bad, Failure)
    assert isinstance(bad.error, ClusterError)
    assert bad.source == "bad"
    assert "'bad'" in str(bad.error)
    assert all(isinstance(outcome, Receipt) for outcome in (fox, river, long))
    assert keys(memory) == {"fox", "river", "long"}
    memory.forget("fox")
    again = list(memory.add_many(STORIES, ray="auto"))
    assert [outcome.action for outcome in again if isinstance(outcome, Receipt)] == ["added", "unchanged", "unchanged"]


def test_killed_worker_costs_no_document(open_memory: OpenMemory, small_groups: None, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    memory = open_memory("killed", layers=("entities",), recognizer=Dying("milk", once=killed))
    assert all(isinstance(outcome, Receipt) for outcome in memory.add_many(STORIES, ray="auto"))
    assert killed.exists()
    whole = open_memory("whole", layers=("entities",))
    list(whole.add_many(STORIES))
    assert graph_of(memory) == graph_of(whole)


def test_workers_that_die_again_and_again_end_the_call(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, small_groups: None
) -> None:
    monkeypatch.setattr(ray_pool, "_MOST_DEATHS", 2)
    memory = open_memory("dying", layers=("entities",), recognizer=Dying("e"))
    with pytest.raises(ClusterError, match="2 deaths of workers one after another"):
        list(memory.add_many(STORIES, ray="auto"))
    assert keys(memory) == set()


def test_limit_of_tokens_is_shared_and_named(open_memory: OpenMemory, small_groups: None) -> None:
    memory = open_memory("limited", layers=("points",))
    outcomes = list(memory.add_many(STORIES, ray="auto", limits=Limits(tokens=40)))
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert failures
    assert all(isinstance(failure.error, TokenLimitReached) and failure.error.limit == 20 for failure in failures)
    assert keys(memory) == {story.key for story in STORIES} - {failure.source for failure in failures}
    list(memory.add_many(STORIES, ray="auto"))
    assert keys(memory) == {story.key for story in STORIES}


def test_model_that_cannot_be_sent_is_refused(open_memory: OpenMemory) -> None:
    recognizer = FakeRecognizer()
    recognizer.socket = socket.socket()  # type: ignore[attr-defined]
    memory = open_memory("unsent", layers=("entities",), recognizer=recognizer)
    with pytest.raises(SettingsError, match="cannot be pickled"):
        list(memory.add_many(STORIES, ray="auto"))
    recognizer.socket.close()  # type: ignore[attr-defined]


def test_cluster_that_does_not_answer_is_our_error() -> None:
    with pytest.raises(ClusterError, match=r"Expected a Ray cluster at 127\.0\.0\.1:9, got no answer"):
        ray_pool._connect(ray, "127.0.0.1:9")


@pytest.mark.parametrize("address", ["", "nowhere", "ray://head:10001", "head:", "a b:1", True])
def test_invalid_address_is_refused_at_once(open_memory: OpenMemory, address: str) -> None:
    with pytest.raises(SettingsError, match='ray="auto" or HOST:PORT'):
        open_memory("none").add_many(STORIES, ray=address)


def test_files_are_read_by_the_actors(open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = files_in(tmp_path, monkeypatch)
    here, there = open_memory("here", layers=("entities",)), open_memory("there", layers=("entities",))
    expected = list(here.add_many(sources))
    read_here: list[Path] = []
    monkeypatch.setattr(files, "_read_bytes", reading_noted(read_here))
    outcomes = list(there.add_many(sources, ray="auto"))
    assert [isinstance(outcome, Receipt) for outcome in outcomes] == [True, True, False, True]
    assert str(outcomes[2].error) == str(expected[2].error)
    assert read_here == [Path("broken.pdf")]  # for its error
    assert graph_of(there) == graph_of(here)


def test_process_reads_files_that_actors_do_not_see(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = files_in(tmp_path, monkeypatch)
    seen = SharedFile.find
    monkeypatch.setattr(SharedFile, "find", lambda path: (file := seen(path)) and replace(file, changed_ns=0))
    read_here: list[Path] = []
    monkeypatch.setattr(files, "_read_bytes", reading_noted(read_here))
    memory = open_memory("unseen", layers=("entities",))
    assert len([outcome for outcome in memory.add_many(sources, ray="auto") if isinstance(outcome, Receipt)]) == 3
    assert read_here == sources


def test_call_goes_on_after_its_process_is_killed(tmp_path: Path) -> None:
    place = Place({"address": tmp_path / "notes.lbug"}, "faults", tmp_path / "cache")
    assert fault_ray.kills(place, ["driver"], seed=1) == Tally(tried=1)


def test_errors_of_loader_and_layer_name_the_part(tmp_path: Path) -> None:
    place = Place({"address": tmp_path / "notes.lbug"}, "faults", tmp_path / "cache")
    assert fault_ray.poisoned(place, tmp_path) == Tally(tried=1)


@pytest.mark.timeout(900)  # of a core that is shared with much else: two nodes start one after the other
def test_node_that_is_killed_costs_no_document(tmp_path: Path) -> None:
    place = Place({"address": tmp_path / "notes.lbug"}, "faults", tmp_path / "cache")
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:  # Ray keeps the token that a process had first
        assert fresh.submit(fault_ray_nodes.deaths, place, 1, seed=1).result() == Tally(tried=1)
