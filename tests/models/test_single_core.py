"""Numbers of threads while and after texts are embedded: those of torch, OpenMP, MKL, and what runs by them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from memgraph_rag.models.embedders.single_core import open_single_core_pool

TASKS = Path("/proc/self/task")  # the process's threads

ADD_MANY = """
import os, sys, threading
from pathlib import Path
import torch
from memgraph_rag import Memory
from memgraph_rag.testing import FakeLanguageModel

if sys.argv[2] != "default":
    torch.set_num_threads(int(sys.argv[2]))

environment = dict(os.environ)
notes = [f"Note {number}. " + "The mill by the river belongs to Ann Lee. " * 12 for number in range(60)]

def threads():
    torch.mm(torch.ones(512, 512), torch.ones(512, 512))
    return " ".join(line.strip() for line in torch.__config__.parallel_info().splitlines() if "_threads() :" in line)

def in_new_thread():
    printed = []
    thread = threading.Thread(target=lambda: printed.append(threads()))
    thread.start()
    thread.join()
    return printed[0]

def product_threads():
    "How many threads of the process a first product in a new thread adds, itself included."
    def count():
        before = set(os.listdir("/proc/self/task"))
        torch.mm(torch.ones(1024, 1024), torch.ones(1024, 1024))
        counts.append(len({*os.listdir("/proc/self/task")} - before) + 1)
    counts = []
    thread = threading.Thread(target=count)
    thread.start()
    thread.join()
    return counts[0]

is_linux = os.path.isdir("/proc/self/task")
here = threads()
with Memory(Path(sys.argv[1]), layers=("entities",), recognizer="rules", model=FakeLanguageModel()) as memory:
    while_embedding = []
    receipts = 0
    for _ in memory.add_many(notes):
        receipts += 1
        if not while_embedding:
            while_embedding.append(in_new_thread())
    assert receipts == 60
    assert memory.embedder._workers is not None, "the workers took no part"
print(here, *{threads(), in_new_thread(), *while_embedding}, sep="\\n")
print(product_threads() if is_linux else torch.get_num_threads())
print(dict(os.environ.items() ^ environment.items()))
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core is all there is")
@pytest.mark.parametrize("host_choice", ["default", "3"])
def test_adding_leaves_all_cores_to_others(tmp_path: Path, host_choice: str) -> None:
    command = [sys.executable, "-c", ADD_MANY, str(tmp_path / "notes.lbug"), host_choice]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}  # as for a user
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    before, *numbers, product_threads, environment_changes = done.stdout.splitlines()
    assert numbers == [before]
    expected = (os.cpu_count() or 1) if host_choice == "default" else int(host_choice)
    assert int(re.findall(r"get_num_threads\(\) : (\d+)", before)[0]) == expected
    assert int(product_threads) == expected
    assert environment_changes == "{}"


@pytest.mark.skipif(not TASKS.is_dir(), reason="the system does not list a process's threads")
@pytest.mark.parametrize("host_choice", [None, 3])
def test_workers_compute_on_one_core_each(host_choice: int | None) -> None:
    before = torch.get_num_threads()

    def added_by_product() -> tuple[int, int]:
        threads = set(TASKS.iterdir())
        torch.mm(torch.ones(1024, 1024), torch.ones(1024, 1024))
        return torch.get_num_threads(), len({*TASKS.iterdir()} - threads)

    try:
        if host_choice:
            torch.set_num_threads(host_choice)
        pool = open_single_core_pool("test")
        if pool is None:
            assert torch.get_num_threads() == 1
            return
        with pool:
            results = [pool.submit(added_by_product).result() for _ in range(2)]
        assert set(results) == {(1, 0)}
        assert torch.get_num_threads() == (host_choice or before)
    finally:
        torch.set_num_threads(before)


def test_one_core_needs_no_workers() -> None:
    pools: list[object] = []

    def on_one_core() -> None:
        torch.set_num_threads(1)
        pools.append(open_single_core_pool("test"))

    before = torch.get_num_threads()
    try:
        thread = threading.Thread(target=on_one_core)
        thread.start()
        thread.join()
    finally:
        torch.set_num_threads(before)
    assert pools == [None]
