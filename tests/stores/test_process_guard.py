"""Stores in a child that is forked from the process that opened them: refused, and no harm to the parent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ladybug_files import output_of

from memgraph_rag.stores import open_store
from memgraph_rag.testing.sample_graphs import MakeStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")

FORK = """
import json, os, signal, sys, threading
from contextlib import nullcontext
from memories import options
from memgraph_rag import Memory
from memgraph_rag.errors import StoreError
from memgraph_rag.stores import open_store

place, namespace = json.loads(sys.argv[1]), sys.argv[2]
store = open_store(**place, namespace=namespace)
memory = Memory(store, namespace=namespace, **options())
memory.add("The fox ran.", key="a")
memory.map()
is_held, may_go = threading.Event(), threading.Event()

def hold():  # what another thread holds at the fork, nobody gives back in the child
    with store._file.lock if hasattr(store, "_file") else nullcontext():
        is_held.set()
        may_go.wait()

holder = threading.Thread(target=hold)
holder.start()
is_held.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    for call in (
        memory.documents,
        memory.status,
        memory.map,
        lambda: memory.search("fox"),
        lambda: memory.add("A child.", key="child"),
        lambda: memory.session(user="ann", session="s"),
        memory.maintenance.examine,
    ):
        try:
            call()
        except StoreError as error:
            assert "forked" in str(error) and "spawn" in str(error), error
        else:
            print("went through", flush=True)
    memory.close()
    store.close()
    store.close()
    sys.exit(7)
_, status = os.waitpid(child, 0)
may_go.set()
holder.join()
memory.add("The rabbit ran.", key="b")
print(os.waitstatus_to_exitcode(status), *(record.key for record in memory.documents()), bool(store.flaws()))
store.close()
"""

CHILD_LIVES_ON = """
import os, sys, time
from memgraph_rag.stores import open_store

store = open_store(sys.argv[1], namespace="n", read_only=sys.argv[2] == "read")
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.close(writing)
    os.read(reading, 1)
    own = open_store(sys.argv[1] + ".own", namespace="n")
    own.migrate(embedder="fake", dimension=8)
    print(len(own.documents()), flush=True)
    own.close()
    sys.exit(0)
store.close()
again = open_store(sys.argv[1], namespace="n")
print("open", flush=True)
os.close(writing)
print(os.waitpid(child, 0)[1])
again.close()
"""

IN_MEMORY = """
import os, signal, sys
from memgraph_rag.stores import open_store
store = open_store(":memory:", namespace="n")
store.migrate(embedder="fake", dimension=8)
child = os.fork()
if child == 0:
    signal.alarm(60)
    sys.exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(store.documents()))
"""


def test_forked_child_is_refused_and_parent_goes_on(make_store: MakeStore, place: dict[str, Any]) -> None:
    store = make_store()  # which takes what is left away
    namespace = store.namespace
    store.close()
    said = output_of(FORK, json.dumps(place, default=str), namespace)
    assert said == "7 a b False\n"


@pytest.mark.parametrize("how", ["read", "write"])
def test_a_child_that_lives_on_does_not_keep_the_file(tmp_path: Path, how: str) -> None:
    path = str(tmp_path / "notes.lbug")
    open_store(path, namespace="n").close()
    assert output_of(CHILD_LIVES_ON, path, how) == "open\n0\n0\n"


def test_a_graph_in_memory_lets_a_child_end() -> None:
    assert output_of(IN_MEMORY) == "5 0\n"
