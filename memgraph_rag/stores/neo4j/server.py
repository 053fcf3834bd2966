"""Runs a real Neo4j with Browser on this machine, in the background, without Docker.

It starts, finds and stops the server; it knows nothing of graphs and sends no statement but the one that changes
the password. The invariants: the server listens on 127.0.0.1 only; the default password of Neo4j is never valid;
no password is on a command line, in the environment of the server or in a log.

A password that was generated here is kept in the server's folder, so that ``Memory`` can connect without typing:
who can read that file can read the database files beside it anyway. A password that the user chose is written
nowhere.
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
from memgraph_rag.errors import SettingsError, StoreAccessDenied, StoreError, StoreLocked, StoreUnavailable
from memgraph_rag.stores.neo4j.distribution import NEWEST, Distribution, fetch
from memgraph_rag.stores.neo4j.home import LOCALHOST, Home

__all__ = [
    "BOLT_PORT",
    "HTTP_PORT",
    "RunningServer",
    "credentials_for",
    "default_home",
    "java_command",
    "local_server",
    "start",
    "status",
    "stop",
]

BOLT_PORT = 7687
HTTP_PORT = 7474

_USER = "neo4j"
JAVA_OPTIONS = ["-Xmx1g", "-Dfile.encoding=UTF-8", "--enable-native-access=ALL-UNNAMED"]
_SHORTEST_PASSWORD = 8  # Neo4j refuses shorter ones
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Where a server answers.

    Attributes:
        password: None where the user chose it and did not name it in this call.
        password_is_new: True in what the ``start`` returns that generated it.
        was_running: False in what the ``start`` returns that started it.
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
        """For ``Memory`` and the drivers."""
        return f"neo4j://localhost:{self.bolt_port}"

    @property
    def browser_url(self) -> str:
        """For a web browser."""
        return f"http://localhost:{self.http_port}/browser/"


def default_home() -> Path:
    """The folder for this user's server."""
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
    """The server of that folder, once it answers; started if it does not run yet, and left running.

    Args:
        home: folder for data, logs and settings; made if it does not exist.
        version: which Neo4j; a folder may move to a newer version, never back.
        password: for the user ``neo4j``, at least 8 characters. It replaces a generated one; where there is none
            yet, one is generated. On a folder whose password the user chose, it must be that one.
        bolt_port: where drivers connect; 0 takes any that is free.
        http_port: where Browser is served; likewise.
        timeout_s: how long to wait until it answers (not counting the download).
        progress: told about the download.

    Raises:
        SettingsError: a port is taken, the password is too short, the folder holds something else, or the extra
            ``neo4j-local`` is not installed.
        StoreAccessDenied: the server runs, and refuses ``password``.
        StoreLocked: another process is starting a server in this folder.
        StoreError: it ended or did not answer in time; the message ends with the last lines of its log.
    """
    if password is not None and len(password) < _SHORTEST_PASSWORD:
        message = f"Neo4j wants a password of {_SHORTEST_PASSWORD} characters or more; this one has {len(password)}."
        raise SettingsError(message)
    server = status(home)
    if server is None:
        _folder(home).check()  # before anything is fetched
        ports = _free_ports(bolt_port, http_port)
        server = _launch(_folder(home), fetch(version, progress=progress), *ports)
    _wait_until_it_answers(server, timeout_s)
    is_new = server.password_is_new and password is None
    return replace(server, password=_settle_password(server, password), password_is_new=is_new)


def status(home: Path | None = None) -> RunningServer | None:
    """The server that runs in that folder, or None; it may still be on its way up."""
    folder = _folder(home)
    facts = folder.server
    return RunningServer(home=folder.path, password=folder.generated_password, **facts) if facts else None


def stop(home: Path | None = None, *, timeout_s: float = 60.0) -> bool:
    """True after a server was stopped, False where none ran. Returns when its files are closed.

    Raises:
        StoreError: it did not end in time.
    """
    server = status(home)
    if server is None:
        return False
    try:
        os.kill(server.pid, signal.SIGTERM)
    except OSError as exc:
        message = f"Neo4j (process {server.pid}) cannot be stopped: {exc}. End it by hand."
        raise StoreError(message, pid=server.pid) from exc
    if not _wait(lambda: not Home(server.home).is_locked, timeout_s):
        message = f"Neo4j (process {server.pid}) was asked to stop and did not within {timeout_s:g} s. End it by hand."
        raise StoreError(message, pid=server.pid)
    _reap(server.pid)
    return True


def local_server(uri: str, home: Path | None = None) -> RunningServer | None:
    """The server of that folder, where it is the one that answers at ``uri``.

    Raises:
        SettingsError: nobody can read the folder.
    """
    server, address = status(home), urlsplit(uri)
    if server is None or address.hostname not in ("localhost", LOCALHOST):
        return None
    return server if (address.port or BOLT_PORT) == server.bolt_port else None


def credentials_for(uri: str, home: Path | None = None) -> tuple[str, str] | None:
    """User and password for ``uri``, where the server of that folder answers there and its password was generated.

    A password never goes to another address than the one it was made for: whoever listens there while our
    server does not run gets nothing.
    """
    try:
        server = local_server(uri, home)
    except SettingsError:  # a folder that nobody can read keeps no password for us
        return None
    return None if server is None or server.password is None else (server.user, server.password)


def _folder(home: Path | None) -> Home:
    path = home or default_home()
    try:
        return Home(path.expanduser().resolve())
    except (OSError, RuntimeError) as exc:  # the home of nobody, or links in a circle
        raise SettingsError(
            f"Expected a folder, got {show(exc)}: {show(path)}. Choose another one.", home=path
        ) from exc


# ── starting ─────────────────────────────────────────────────────────────────────────────────────────────


def _launch(home: Home, neo4j: Distribution, bolt_port: int, http_port: int) -> RunningServer:
    """Start the process of the server, which does not answer yet."""
    home.make()
    lock = home.lock()
    if lock is None:
        message = f"another process is starting or stopping Neo4j in {home.path}. Try again in a moment."
        raise StoreLocked(message, home=home.path)
    try:
        home.forget_server()
        home.put_back()
        home.configure(bolt_port=bolt_port, http_port=http_port)
        is_first = not home.has_databases
        if is_first:
            _generate_password(home, neo4j)
        pid = _spawn(home, neo4j, lock)
        facts = {"pid": pid, "version": neo4j.version, "bolt_port": bolt_port, "http_port": http_port}
        home.write_server(**facts)
    finally:
        os.close(lock)  # the server inherited it and holds on to it
    return RunningServer(home=home.path, was_running=False, password_is_new=is_first, **facts)


def _free_ports(*ports: int) -> list[int]:
    """These ports, which are free; for 0 any that is, never twice the same."""
    with ExitStack() as probes:
        return [_bound_port(probes.enter_context(socket.socket()), port) for port in ports]


def _bound_port(probe: socket.socket, port: int) -> int:
    # As Neo4j itself does: a port with connections that are still being put away is free.
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        probe.bind((LOCALHOST, port))
    except (OSError, OverflowError) as exc:
        message = f"Expected a free port, got {port} ({exc}). Stop the program that has it, or choose another port."
        raise SettingsError(message, port=port) from exc
    return int(probe.getsockname()[1])


def _generate_password(home: Home, neo4j: Distribution) -> None:
    """Give a server that never ran a password nobody knows, in place of Neo4j's default one."""
    password = secrets.token_hex(16)
    home.write_generated_password(password)
    arguments = home.write("arguments", password)  # read by the command, so that `ps` shows no password
    command = ["org.neo4j.server.startup.Neo4jAdminCommand", "dbms", "set-initial-password", f"@{arguments}"]
    environment = {"LANG": "C.UTF-8", "NEO4J_HOME": str(home.path), "NEO4J_CONF": str(home.conf)}
    try:
        subprocess.run([*java_command(neo4j), *command], env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    except subprocess.CalledProcessError as exc:
        message = f"Neo4j {neo4j.version} could not set its first password: {exc.stderr.strip()[-500:]}"
        raise StoreError(message, home=home.path) from exc
    finally:
        arguments.unlink()


def _spawn(home: Home, neo4j: Distribution, lock: int) -> int:
    """The process id of a Java that outlives us; it inherits the lock, and nothing else that we have open or set.

    Else it would keep for itself, for as long as it runs, what our caller opened: a pipe that a reader waits for the
    end of, a lock that others wait for.
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
    """The open descriptors that a child would get."""
    descriptors = []
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - these are numbers, no paths
        with suppress(OSError):  # the one by which they were listed is closed
            if os.get_inheritable(int(name)):
                descriptors.append(int(name))
    return descriptors


def java_command(neo4j: Distribution) -> list[str]:
    """Java with the jars of Neo4j; what is to run stands behind it."""
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
    """True once the web server is up, the last part of Neo4j to start."""
    connection = HTTPConnection(LOCALHOST, http_port, timeout=2)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _settle_password(server: RunningServer, password: str | None) -> str | None:
    """The password as it is now; a generated one gives way to the user's."""
    home = Home(server.home)
    generated = home.generated_password
    if password is None or password == generated:
        return generated
    refused: ClientError | None = None
    for known in (password,) if generated is None else (generated, password):  # it may have been changed in Browser
        try:
            _take_over(server, known, password)
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


def _take_over(server: RunningServer, known: str, password: str) -> None:
    """Enter by the password that is known, and put the other one in its place."""
    address = f"bolt://{LOCALHOST}:{server.bolt_port}"
    with GraphDatabase.driver(address, auth=(server.user, known)) as driver:
        driver.verify_connectivity()
        if known != password:
            change = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"
            driver.execute_query(change, old=known, new=password, database_="system")


# ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────


def _wait(condition: Callable[[], bool], timeout_s: float) -> bool:
    """True as soon as the condition holds, False once the time is over."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _reap(pid: int) -> None:
    """Take note that a child of ours ended; else it stays in the process table until we end."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:  # another process started it
        return
