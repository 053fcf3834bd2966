"""The folder of a local Neo4j: its running server, its settings, and its generated password.

The module knows files and a lock, but neither Java nor Bolt. Invariants: the server's process holds the lock as long as
it lives, so that a folder has at most one server. The process id in the folder counts only while the lock is held. Only
the owner can read the files.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError, StoreLocked
from memgraph_rag.private_files import try_lock, write_private

LOCALHOST = "127.0.0.1"

_TRIES, _PROBED_S = 10, 0.01  # a process that asks for the state of the lock shares the lock for a moment

_STORED = ("databases", "transactions")  # the folders of a database, in Neo4j's data folder

_FACTS = {"pid": int, "version": str, "bolt_port": int, "http_port": int}
_PORTS = ("bolt_port", "http_port")

_CONF = """\
# Written by memgraph_rag at each start.
server.default_listen_address={address}
server.bolt.enabled=true
server.bolt.listen_address={address}:{bolt_port}
server.bolt.advertised_address=localhost:{bolt_port}
server.http.enabled=true
server.http.listen_address={address}:{http_port}
server.http.advertised_address=localhost:{http_port}
server.https.enabled=false
server.memory.pagecache.size=256m
# A client takes a server that is silent for twice as long for dead.
server.bolt.connection_keep_alive=10s
# Neither the server nor Browser sends anything anywhere.
dbms.usage_report.enabled=false
client.allow_telemetry=false
# By default a stop waits twice 5 s here, after the databases are closed.
internal.dbms.bolt.netty_server_shutdown_quiet_period=0
"""


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one local Neo4j. It may not exist yet."""

    path: Path

    @property
    def conf(self) -> Path:
        """The folder of Neo4j's settings."""
        return self.path / "conf"

    @property
    def log(self) -> Path:
        """The file with the console output of the last start of the server. It may not exist."""
        return self.path / "logs" / "console.log"

    @property
    def has_databases(self) -> bool:
        """Whether a server ran here before. Until then, the first password can be set."""
        return (self._data / "databases" / "system").exists()

    def check(self) -> None:
        """Check that the path is usable as the folder of a local Neo4j. A path that does not exist yet passes.

        Raises:
            SettingsError: it is not a folder or not within one, holds other files, or cannot be read.
        """
        try:
            above = next(place for place in (self.path, *self.path.parents) if place.exists())
            if not above.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(above))
            if above == self.path and any(self.path.iterdir()) and not self._lock_file.exists():
                message = f"{self.path} holds other files. Choose an empty or a new folder for Neo4j."
                raise SettingsError(message, home=self.path)
        except OSError as exc:
            raise _folder_error(self.path, exc) from exc

    def make(self) -> None:
        """Create the folder, or use an empty folder or an earlier ``Home``, and deny access to other users.

        Raises:
            SettingsError: the path is unusable as the folder.
        """
        self.check()
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
            for folder in (self.conf, self.log.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as exc:
            raise _folder_error(self.path, exc) from exc

    def configure(self, *, bolt_port: int, http_port: int) -> None:
        """Write Neo4j's settings, in place of earlier settings: localhost only, small memory, no telemetry."""
        settings = _CONF.format(address=LOCALHOST, bolt_port=bolt_port, http_port=http_port)
        self.write("conf/neo4j.conf", settings)

    # ── a database that is made anew ─────────────────────────────────────────────────────────────────────

    def set_aside(self, database: str) -> None:
        """Move the files of a database away, until ``put_back`` or ``drop_aside``. The caller holds the lock.

        The database must exist.
        """
        for kind in _STORED:
            (self._aside / kind).mkdir(parents=True, exist_ok=True)
            (self._data / kind / database).rename(self._aside / kind / database)

    @property
    def import_files(self) -> Path:
        """The folder for the files of a bulk import. They contain all texts, and are on the disk of the database."""
        return self.path / "bulk-import"

    def put_back(self) -> None:
        """Restore the files that were set aside, in place of the files of a failed or killed import.

        Other files of the import are removed. If no files were set aside, the databases stay as they are. The caller
        holds the lock.
        """
        for left in (self.import_files, self._dropped):
            rmtree(left, ignore_errors=True)
        for kept in self._aside.glob("*/*"):
            replacement = self._data / kept.relative_to(self._aside)
            rmtree(replacement, ignore_errors=True)
            kept.rename(replacement)
        rmtree(self._aside, ignore_errors=True)

    def drop_aside(self) -> None:
        """Delete the files that were set aside, after a successful import."""
        self._aside.rename(self._dropped)
        rmtree(self._dropped)

    @property
    def _data(self) -> Path:
        return self.path / "data"

    @property
    def _aside(self) -> Path:
        return self.path / "set-aside"

    @property
    def _dropped(self) -> Path:
        return self._aside.with_suffix(".dropped")

    # ── the lock ─────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def lock(self) -> Iterator[int]:
        """Hold the lock for the block, and yield its file descriptor. If it is held, wait for a moment.

        A process that inherits the descriptor holds the lock too. The lock is released when the last of these processes
        ends.

        Raises:
            SettingsError: this is Windows.
            StoreLocked: another process starts a server in the folder, or stops it.
        """
        if sys.platform == "win32":
            raise SettingsError(
                "Expected Linux or macOS for a local Neo4j, got Windows. Use Docker: docker compose up -d."
            )
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            for _ in range(_TRIES):
                if try_lock(descriptor):
                    yield descriptor
                    return
                time.sleep(_PROBED_S)
        finally:
            os.close(descriptor)
        raise StoreLocked(
            f"Expected an unused folder {show(self.path)}, got one in which Neo4j starts or stops. Try again soon.",
            home=self.path,
        )

    @property
    def is_locked(self) -> bool:
        """Whether a process holds the lock: a server runs or is being started, or files are imported.

        Raises:
            SettingsError: the lock file cannot be opened.
        """
        try:
            if not self._lock_file.exists():
                return False
            descriptor = os.open(self._lock_file, os.O_RDWR)
        except OSError as exc:
            raise _folder_error(self.path, exc) from exc
        try:
            return not try_lock(descriptor, shared=True)  # others may ask at the same time
        finally:
            os.close(descriptor)

    @property
    def _lock_file(self) -> Path:
        return self.path / "server.lock"

    # ── what is written down ─────────────────────────────────────────────────────────────────────────────

    @property
    def server(self) -> dict[str, Any]:
        """Process id, version and ports of the running server; empty if no server runs, or its facts are unknown."""
        facts = self._read("server.json") if self.is_locked else {}
        is_whole = facts.keys() == _FACTS.keys() and all(type(facts[name]) is kind for name, kind in _FACTS.items())
        # A signal to process 0 or below would reach many processes.
        return facts if is_whole and facts["pid"] > 1 and all(0 < facts[name] < 2**16 for name in _PORTS) else {}

    @property
    def generated_password(self) -> str | None:
        """The generated password; None if the user chose the password, no server ran yet, or the record is damaged."""
        password = self._read("credentials.json").get("password")
        return password if isinstance(password, str) else None

    def write_server(self, **facts: str | int) -> None:
        """Write process id, version and ports of the running server into the folder."""
        self.write("server.json", json.dumps(facts))

    def forget_server(self) -> None:
        """Remove the facts of the last server, before the next one starts: a killed server leaves its process id."""
        (self.path / "server.json").unlink(missing_ok=True)

    def write_generated_password(self, password: str) -> None:
        """Store a generated password in a file of the folder that only its owner can read."""
        self.write("credentials.json", json.dumps({"password": password}))

    def forget_generated_password(self) -> None:
        """Remove the generated password, after the user chose another."""
        (self.path / "credentials.json").unlink(missing_ok=True)

    def log_tail(self, lines: int) -> str:
        """Return the last lines of the console output, joined into one line by bars; empty if there is no output."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return " | ".join(line.strip() for line in text.strip().splitlines()[-lines:])

    def write(self, name: str, text: str) -> Path:
        """Write a file in the folder that only its owner may read, in place of an earlier one, and return its path."""
        path = self.path / name
        write_private(path, text.encode())
        return path

    def _read(self, name: str) -> dict[str, Any]:
        try:
            content = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError, RecursionError):  # absent or damaged
            return {}
        except OSError as exc:
            raise _folder_error(self.path, exc) from exc
        return content if isinstance(content, dict) else {}


def _folder_error(path: Path, exc: OSError) -> SettingsError:
    return SettingsError(
        f"Expected a folder of a local Neo4j, got {show(exc)}: {show(path)}. Choose an empty or a new folder.",
        home=path,
    )
