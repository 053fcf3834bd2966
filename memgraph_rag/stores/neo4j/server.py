"""Runs a real Neo4j with Browser on this machine, in the background, without Docker.

The module starts, finds and stops the server. It knows no graph, and sends only the statement that changes the
password. Invariants: the server listens on 127.0.0.1 only. Neo4j's default password is never valid. No password is on a
command line, in the environment of the server or in a log.

A generated password is stored in the server's folder, so that ``Memory`` can connect without a prompt: a user who can
read this file can read the database files too. A password that the user chose is never stored.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from neo4j import GraphDatabase
from neo4j.exceptions import ClientError, DriverError
from platformdirs import user_data_path

from memgraph_rag.contracts import Progress
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError, StoreAccessDenied, StoreError, StoreUnavailable
from memgraph_rag.stores.neo4j.distribution import NEWEST, Distribution, fetch
from memgraph_rag.stores.neo4j.home import LOCALHOST, Home

BOLT_PORT = 7687
HTTP_PORT = 7474

_USER = "neo4j"
JAVA_OPTIONS = ["-Xmx1g", "-Dfile.encoding=UTF-8", "--enable-native-access=ALL-UNNAMED"]
_SHORTEST_PASSWORD = 8  # Neo4j refuses shorter ones
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server and its ports.

    Attributes:
        password: None if the user chose it and did not give it in this call.
        password_is_new: whether this call of ``start`` generated the password.
        was_running: whether the server ran before this call of ``start``.
    """

    home: Path
    pid: int
    version: str
    bolt_port: int
    http_port: int
    user: str = _USER
    password: str | None = field(default=None, repr=False)
    password_is_new: bool = False
    was_running: bool = True

    @property
    def bolt_uri(self) -> str:
        """The address for ``Memory`` and the drivers."""
        return f"neo4j://localhost:{self.bolt_port}"

    @property
    def browser_url(self) -> str:
        """The address for a web browser."""
        return f"http://localhost:{self.http_port}/browser/"


def default_home() -> Path:
    """Return the folder of this user's server, which is used where no other is given. It may not exist."""
    return user_data_path("memgraph_rag") / "neo4j"


def start(
    home: Path | None = None,
    *,
    version: str = NEWEST,
    password: str | None = None,
    bolt_port: int = BOLT_PORT,
    http_port: int = HTTP_PORT,
    timeout_s: float = 120.0,
    progress: Progress | None = None,
) -> RunningServer:
    """Start the Neo4j server of a folder if it does not run, and return it as soon as it answers. It keeps running.

    Args:
        home: folder for data, logs and settings; created if it does not exist.
        version: the version of Neo4j. A folder may move to a newer version, never back.
        password: for the user ``neo4j``, at least 8 characters. It replaces a generated password; on a folder whose
            password the user chose, it must be that one. Without it, a new folder gets a generated password.
        bolt_port: the port for drivers; 0 takes any free port.
        http_port: the port for Browser; 0 takes any free port.
        timeout_s: how long to wait for an answer, in seconds, without the download.
        progress: called during the download.

    Raises:
        SettingsError: a port is taken, the password is too short, the folder holds other files, or the extra
            ``neo4j-local`` is not installed.
        StoreAccessDenied: the running server refuses ``password``.
        StoreLocked: another process starts a server in this folder.
        StoreError: the server ended or did not answer in time; the message contains the last lines of its log.
    """
    if password is not None and len(password) < _SHORTEST_PASSWORD:
        message = (
            f"Expected a password of {_SHORTEST_PASSWORD} characters or more, got {len(password)}. Use a longer one."
        )
        raise SettingsError(message)
    server = status(home)
    if server is None:
        _folder(home).check()  # before the download
        ports = _free_ports(bolt_port, http_port)
        server = _launch(_folder(home), fetch(version, progress=progress), *ports)
    _wait_until_it_answers(server, timeout_s)
    is_new = server.password_is_new and password is None
    return replace(server, password=_update_password(server, password), password_is_new=is_new)


def status(home: Path | None = None) -> RunningServer | None:
    """Return the server of a folder, which may still be starting; None if no server runs there.

    None too while another process is about to start it. The password is set only if it was generated.

    Raises:
        SettingsError: the folder cannot be read.
    """
    folder = _folder(home)
    facts = folder.server
    return RunningServer(home=folder.path, password=folder.generated_password, **facts) if facts else None


def stop(home: Path | None = None, *, timeout_s: float = 60.0) -> bool:
    """Stop the server of a folder and wait until its files are closed. Return True, or False if no server ran.

    A server whose process id is unknown counts as none.

    Raises:
        StoreError: the server did not end in time.
    """
    server = status(home)
    if server is None:
        return False
    try:
        os.kill(server.pid, signal.SIGTERM)
    except OSError as exc:
        message = f"Expected to stop Neo4j (process {server.pid}), got an error: {exc}. End the process yourself."
        raise StoreError(message, pid=server.pid) from exc
    if not _wait(lambda: not Home(server.home).is_locked, timeout_s):
        message = f"Expected Neo4j to end within {timeout_s:g} s, got a running process {server.pid}. End it yourself."
        raise StoreError(message, pid=server.pid)
    _reap(server.pid)
    return True


def local_server(uri: str, home: Path | None = None) -> RunningServer | None:
    """Return the running server of the folder ``home`` if ``uri`` is its address on this machine; else None.

    The server is not asked, and may still be starting. The default port is 7687.

    Raises:
        SettingsError: the folder cannot be read.
    """
    server, address = status(home), urlsplit(uri)
    if server is None or address.hostname not in ("localhost", LOCALHOST):
        return None
    return server if (address.port or BOLT_PORT) == server.bolt_port else None


def read_credentials(uri: str, home: Path | None = None) -> tuple[str, str] | None:
    """Return user and generated password of a folder's running server if ``uri`` is its address; else None.

    None too if the user chose the password, or if the folder cannot be read.

    A password is never sent to another address than that of its running server: a stranger who listens there while the
    server is stopped gets nothing.
    """
    try:
        server = local_server(uri, home)
    except SettingsError:  # the folder cannot be read, so it has no password for this user
        return None
    return None if server is None or server.password is None else (server.user, server.password)


def _folder(home: Path | None) -> Home:
    path = home or default_home()
    try:
        return Home(path.expanduser().resolve())
    except (OSError, RuntimeError) as exc:  # an unknown user's home, or links in a circle
        raise SettingsError(
            f"Expected a folder, got {show(exc)}: {show(path)}. Choose another one.", home=path
        ) from exc


# ── starting ─────────────────────────────────────────────────────────────────────────────────────────────


def _launch(home: Home, neo4j: Distribution, bolt_port: int, http_port: int) -> RunningServer:
    """Start the process of the server. It does not answer yet."""
    home.make()
    with home.lock() as lock:  # the server inherits it and holds on to it
        home.forget_server()
        home.put_back()
        home.configure(bolt_port=bolt_port, http_port=http_port)
        is_first = not home.has_databases
        if is_first:
            _generate_password(home, neo4j)
        pid = _spawn(home, neo4j, lock)
        facts = {"pid": pid, "version": neo4j.version, "bolt_port": bolt_port, "http_port": http_port}
        home.write_server(**facts)
    return RunningServer(home=home.path, was_running=False, password_is_new=is_first, **facts)


def _free_ports(*ports: int) -> list[int]:
    """Return these ports, after checking that they are free; for 0 any free port, each a different one."""
    with ExitStack() as probes:
        return [_bind_port(probes.enter_context(socket.socket()), port) for port in ports]


def _bind_port(probe: socket.socket, port: int) -> int:
    # Like Neo4j itself: a port whose last connections are still closing counts as free.
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        probe.bind((LOCALHOST, port))
    except (OSError, OverflowError) as exc:
        message = f"Expected a free port, got {port} ({exc}). Stop the program that has it, or choose another port."
        raise SettingsError(message, port=port) from exc
    return int(probe.getsockname()[1])


def _generate_password(home: Home, neo4j: Distribution) -> None:
    """Set a random password for a server that never ran, in place of Neo4j's default password."""
    password = secrets.token_hex(16)
    home.write_generated_password(password)
    arguments = home.write("arguments", password)  # the command reads a file, so that `ps` shows no password
    command = ["org.neo4j.server.startup.Neo4jAdminCommand", "dbms", "set-initial-password", f"@{arguments}"]
    environment = {"LANG": "C.UTF-8", "NEO4J_HOME": str(home.path), "NEO4J_CONF": str(home.conf)}
    try:
        subprocess.run([*java_command(neo4j), *command], env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    except subprocess.CalledProcessError as exc:
        message = f"Expected Neo4j {neo4j.version} to set a password, got an error: {exc.stderr.strip()[-500:]}"
        raise StoreError(message, home=home.path) from exc
    finally:
        arguments.unlink()


def _spawn(home: Home, neo4j: Distribution, lock: int) -> int:
    """Start a Java process that outlives this process, and return its id. It inherits the lock and no other descriptor.

    Otherwise the server would keep the caller's files open as long as it runs: a pipe whose reader waits for its end,
    or a lock that others wait for.
    """
    os.set_inheritable(lock, True)
    inherited = [(os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inheritable() if descriptor > 2]
    server = [neo4j.entry_point, f"--home-dir={home.path}", f"--config-dir={home.conf}"]
    return os.posix_spawn(
        neo4j.java,
        [*java_command(neo4j), *server],
        {"LANG": "C.UTF-8"},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(home.log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
            *(action for action in inherited if action[1] != lock),
        ],
        setsid=True,
    )


def _inheritable() -> list[int]:
    """Return the open descriptors that a child would inherit."""
    descriptors = []
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - these are numbers, no paths
        with suppress(OSError):  # the descriptor of this listing is closed already
            if os.get_inheritable(int(name)):
                descriptors.append(int(name))
    return descriptors


def java_command(neo4j: Distribution) -> list[str]:
    """Return the command for Java with Neo4j's jars. The caller appends the class and its arguments."""
    return [str(neo4j.java), *JAVA_OPTIONS, "-cp", os.pathsep.join(map(str, neo4j.jars))]


def _wait_until_it_answers(server: RunningServer, timeout_s: float) -> None:
    home = Home(server.home)
    in_time = _wait(lambda: _answers(server.http_port) or not home.is_locked, timeout_s)
    if in_time and home.is_locked:
        return
    if in_time:
        _reap(server.pid)
        what = "ended while it started"
    else:
        stop(server.home)
        what = f"did not answer within {timeout_s:g} s and was stopped"
    raise StoreError(f"Neo4j {server.version} {what}. {show(home.log)} ends: {home.log_tail(3)}", log=home.log)


def _answers(http_port: int) -> bool:
    """Return whether the web server answers, which is the last part of Neo4j to start."""
    connection = HTTPConnection(LOCALHOST, http_port, timeout=2)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _update_password(server: RunningServer, password: str | None) -> str | None:
    """Return the current password; replace a generated one with the user's."""
    home = Home(server.home)
    generated = home.generated_password
    if password is None or password == generated:
        return generated
    refused: ClientError | None = None
    for known in (password,) if generated is None else (generated, password):  # it may have been changed in Browser
        try:
            _log_in(server, known, password)
        except ClientError as exc:
            refused = exc
        except DriverError as exc:
            raise StoreUnavailable(
                f"Neo4j at {server.bolt_uri} stopped answering. It said: {show(exc)}", uri=server.bolt_uri
            ) from exc
        else:
            home.forget_generated_password()
            return password
    message = (
        f"Neo4j runs at {server.bolt_uri} and refuses the password ({refused and refused.message}). Give the one that "
        "was chosen for this folder before."
    )
    raise StoreAccessDenied(message, uri=server.bolt_uri) from refused


def _log_in(server: RunningServer, known: str, password: str) -> None:
    """Log in with the known password, and change it."""
    address = f"bolt://{LOCALHOST}:{server.bolt_port}"
    with GraphDatabase.driver(address, auth=(server.user, known)) as driver:
        driver.verify_connectivity()
        if known != password:
            change = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"
            driver.execute_query(change, old=known, new=password, database_="system")


# ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────


def _wait(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Return True as soon as the condition holds, False after the timeout."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _reap(pid: int) -> None:
    """Collect the exit status of a child; otherwise it stays in the process table until this process ends."""
    with suppress(ChildProcessError):  # another process started it
        os.waitpid(pid, 0)
