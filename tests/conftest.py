"""Real Neo4j servers for the tests, started when a test first asks for one, and stopped at the end.

A server comes from ``NEO4J_URI`` where that is set, else from Docker where an engine answers, else from
``memgraph_rag.stores.neo4j.server`` in a temporary folder. This module knows nothing of what the tests do there:
a server is shared by all tests of the session, so a test uses a namespace of its own, and cleans up what has none.
The invariant: with ``CI`` set, a missing server fails the test; it never skips it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import socket
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import hypothesis
import ladybug
import pytest
from _pytest.doctest import DoctestModule
from lanes import SECOND, find_server, reason_for_full
from memories import OpenMemory, options
from neo4j import GraphDatabase

from memgraph_rag import Memory
from memgraph_rag.errors import SettingsError, StoreError
from memgraph_rag.stores.neo4j import home as neo4j_home
from memgraph_rag.stores.neo4j.distribution import LTS, NEWEST
from memgraph_rag.stores.neo4j.server import JAVA_OPTIONS, start, stop

VERSIONS = {"5.26": LTS, "2026": NEWEST}
IMAGES = {"5.26": "neo4j:5.26-community", "2026": f"neo4j:{NEWEST}-community"}

PASSWORD = "a-password-for-tests"

MUCH_MEMORY = 2 * 2**30  # bytes, by which a worker may grow before it gives back what it can
KEPT = {"bytes": 0}  # when it last did

hypothesis.settings.register_profile("without deadline", deadline=None)  # a test on a busy machine is slow, not wrong
hypothesis.settings.load_profile("without deadline")

os.environ.setdefault("MEMGRAPH_RAG_EMBEDDER", "all-MiniLM-L6-v2")  # the multilingual one is here for its own tests

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each process that a test starts would compile the package anew
sys.dont_write_bytecode = False

DATABASE_OPTIONS: Any = ladybug.Database.__init__.__kwdefaults__
DATABASE_OPTIONS["buffer_pool_size"] = 2**30
"""Bytes of a file that the engine may keep in memory. By default they are most of the machine's, which on 24 GB takes
25 ms of each opening and closing: thousands of tests do both."""

JAVA_OPTIONS += ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
"""For servers that run for minutes: without the second compiler of Java, tests take a quarter less CPU."""

ONE_PLAN = "dbms.cypher.min_replan_interval=1h\ndbms.cypher.statistics_divergence_threshold=1.0\n"
"""Settings of a server whose small graphs come and go: planning each statement once takes a quarter less CPU."""


@dataclass(frozen=True)
class Server:
    """A running Neo4j; ``pid`` is its process where it is a local one."""

    uri: str
    user: str
    password: str
    version: str
    source: str
    seconds: float
    pid: int | None = None


class Servers(Mapping[str, Server]):
    """Servers by release line, "5.26" and "2026"; looking one up starts it."""

    def __init__(self) -> None:
        self.running: dict[str, Server] = {}
        self._missing: dict[str, str] = {}
        self._open = ExitStack()

    def __getitem__(self, line: str) -> Server:
        if line not in VERSIONS:
            raise KeyError(line)
        if line in self._missing:
            refuse(self._missing[line])
        if line not in self.running:
            try:
                self.running[line] = self._start(line)
            except (SettingsError, StoreError) as exc:
                self._missing[line] = f"no Neo4j {line}: {exc}"
                refuse(self._missing[line])
        return self.running[line]

    def __iter__(self) -> Iterator[str]:
        return iter(VERSIONS)

    def __len__(self) -> int:
        return len(VERSIONS)

    def close(self) -> None:
        self._open.close()

    def _start(self, line: str) -> Server:
        began, pid = time.monotonic(), None
        if "NEO4J_URI" in os.environ:
            source, uri = "NEO4J_URI", os.environ["NEO4J_URI"]
            user, password = os.environ.get("NEO4J_USER", "neo4j"), os.environ.get("NEO4J_PASSWORD", "")
        elif docker_answers():
            source, uri, user, password = "Docker", self._start_container(line), "neo4j", PASSWORD
        else:
            (uri, pid), source, user, password = self._start_local(line), "local", "neo4j", PASSWORD
        version = reported_version(uri, user, password)
        if not version.startswith(f"{line}."):
            message = f"NEO4J_URI leads to {version}"
            raise SettingsError(message)
        return Server(uri, user, password, version, source, time.monotonic() - began, pid)

    def _start_local(self, line: str) -> tuple[str, int]:
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="neo4j-"))
        home = Path(folder) / "home"
        neo4j_home._CONF = neo4j_home._CONF.removesuffix(ONE_PLAN) + ONE_PLAN
        bolt_port, http_port = free_ports(2)
        self._open.callback(stop, home)
        server = start(home, version=VERSIONS[line], password=PASSWORD, bolt_port=bolt_port, http_port=http_port)
        return server.bolt_uri, server.pid

    def _start_container(self, line: str) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # testcontainers deprecates parts of itself
            from testcontainers.neo4j import Neo4jContainer

            container = Neo4jContainer(IMAGES[line], password=PASSWORD)
            self._open.enter_context(container)
            # Not neo4j://: the routing table names the port inside the container.
            return f"bolt://{container.get_container_host_ip()}:{container.get_exposed_port(7687)}"


@cache
def docker_answers() -> bool:
    """True where an engine runs; having its client or its socket says little."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import docker
        from docker.errors import DockerException

        try:
            with closing(docker.from_env(timeout=5)) as client:
                return client.ping()
        except DockerException:
            return False
        finally:
            gc.collect()  # while warnings are off: a failed connection leaves its socket open


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on."""
    with ExitStack() as open_sockets:
        probes = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def reported_version(uri: str, user: str, password: str) -> str:
    with GraphDatabase.driver(uri, auth=(user, password)) as driver:
        records = driver.execute_query("CALL dbms.components() YIELD name, versions, edition RETURN name, versions")[0]
    return next(record["versions"][0] for record in records if record["name"] == "Neo4j Kernel")


def refuse(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


SERVERS = pytest.StashKey[Servers]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SERVERS] = Servers()
    if "PYTEST_XDIST_WORKER" in os.environ:  # so many workers as cores: more threads would wait for one another
        os.environ.setdefault("OMP_NUM_THREADS", "1")


LONG = re.compile(r"tests/(test_readme|models/|endpoints/|faults/|layers/|cli/|server/|systems/raptor/)")
"""Files that work with real weights or processes of their own, or for long on purpose."""

CHANGES_SCHEMA = re.compile(r"tests/(\w+/test_(interrupted_)?migrations|stores/test_(reembedding|integrity))")
"""Files whose tests drop and create indexes, after which a server of Neo4j plans each statement anew."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files of which each item is in the second lane, in the first: each worker would import them."""
    place = collection_path.relative_to(config.rootpath).as_posix()
    is_left_out = config.getoption("markexpr") == "not full" and collection_path.suffix == ".py"
    return True if is_left_out and any(re.match(pattern, place) for pattern in SECOND) else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[None]:
    """Look for doctests in files with a prompt only."""
    collectors: Any = yield
    without = [each for each in collectors if not isinstance(each, DoctestModule)]
    return collectors if ">>>" in file_path.read_text("utf-8", "replace") else without


def pytest_itemcollected(item: pytest.Item) -> None:
    if find_server(item.nodeid) or "neo4j_servers" in getattr(item, "fixturenames", ()):
        item.add_marker("server")
    if reason := reason_for_full(item):
        item.add_marker(pytest.mark.full(reason))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run long tests first, so that no worker is left with a long file while the others have nothing to do.

    Tests that change the schema of a shared server are its last.
    """

    def find_place(item: pytest.Item) -> tuple[bool, bool, bool]:
        on_server = bool(find_server(item.nodeid))
        changes_schema = on_server and bool(CHANGES_SCHEMA.match(item.nodeid))
        return not on_server, changes_schema, not LONG.match(item.nodeid)

    items.sort(key=find_place)


READS_SOURCE = re.compile(r"tests/test_(architecture|shape|error_messages)\.py")
"""Files whose tests walk the syntax trees of the package, which take seconds to make."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """All tests of one server or of the syntax trees go to one worker, which makes them, and all others of a file."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # it would begin with the files of the most tests, not of the longest

    class ByServer(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return find_server(nodeid) or ("source" if READS_SOURCE.match(nodeid) else nodeid.partition("::")[0])

    return ByServer(config, log)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop the servers before a worker says that it is done: ten seconds later it would be killed, and they stay."""
    session.config.stash[SERVERS].close()


def pytest_report_header() -> str:
    if "NEO4J_URI" in os.environ:
        return f"neo4j: {os.environ['NEO4J_URI']}"
    if docker_answers():
        return f"neo4j: {', '.join(IMAGES.values())} in Docker, when a test asks for one"
    return f"neo4j: {', '.join(VERSIONS.values())} as local processes, when a test asks for one"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for server in config.stash[SERVERS].running.values():
        terminalreporter.write_line(
            f"neo4j {server.version} ({server.source}) answered at {server.uri} after {server.seconds:.1f} s"
        )


@pytest.fixture(autouse=True)
def _no_memory_of_earlier_tests() -> None:
    """Give back what models of earlier tests held: two workers with several models each outgrow 24 GiB.

    Models lie in cycles, which Python collects when many objects were made, however large the few are; and the
    allocator keeps what was freed in pieces (7.8 GB after tests/models, 1.3 GB after this).
    """
    if resident_bytes() > KEPT["bytes"] + MUCH_MEMORY:  # before a test: behind it, its own frames still hold things
        gc.collect()
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc's
            trim(0)
        KEPT["bytes"] = resident_bytes()


def resident_bytes() -> int:
    """Memory of this process; 0 where the system does not tell."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


@pytest.fixture(scope="session")
def neo4j_servers(pytestconfig: pytest.Config) -> Servers:
    """Servers by release line: ``neo4j_servers["2026"].uri``; a line that cannot be had skips, or fails in CI."""
    return pytestconfig.stash[SERVERS]


@pytest.fixture(scope="session", params=VERSIONS)
def neo4j_server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Server:
    """Each server in turn."""
    return neo4j_servers[request.param]


@pytest.fixture(params=["ladybug", pytest.param("neo4j", id="neo4j-2026")])
def open_memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenMemory]:
    """Opens memories on one database; each has the test's own namespace unless another is named."""
    own = f"test-{uuid.uuid4().hex}"
    namespaces = {own}
    server = request.getfixturevalue("neo4j_servers")["2026"] if request.param == "neo4j" else None
    with ExitStack() as opened:

        def open_one(*, namespace: str = "", **changes: object) -> Memory:
            address = {"store": tmp_path / "notes.lbug"}
            if server is not None:
                address = {"store": server.uri, "neo4j": {"user": server.user, "password": server.password}}
            named = own + namespace
            namespaces.add(named)
            return opened.enter_context(Memory(**address, namespace=named, **options(**changes)))

        yield open_one
    if server is not None:
        with GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
            driver.execute_query("MATCH (n) WHERE n.namespace IN $names DETACH DELETE n", names=sorted(namespaces))


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    return open_memory()


@pytest.fixture
def file_memory(tmp_path: Path) -> Iterator[Memory]:
    """For what does not depend on the store."""
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        yield memory
