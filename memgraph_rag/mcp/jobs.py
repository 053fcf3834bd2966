"""Documents that are accepted now and stored later: a file each, in a folder for each namespace.

It knows files, and neither a tool nor a protocol. Invariants: what was accepted is stored, also where the server was
killed meanwhile, as soon as one runs again; of a namespace one document is stored at a time, in the order in which they
were accepted by whichever of several processes; a job is known in its own namespace only; its text is gone from here
when it has ended.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import Any, Literal

import platformdirs
from filelock import FileLock, Timeout
from pydantic import BaseModel, Field

from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.mcp.limits import TooManyCalls
from memgraph_rag.mcp.private_files import PART, read_object, write_private
from memgraph_rag.mcp.results import Problem, Remembered

__all__ = ["Job", "JobNotFound", "JobQueue", "job_folder"]

logger = logging.getLogger(__name__)

_MOST_WAITING = 100  # of a namespace, the one in work among them
_MOST_IN_ALL = 1_000
_MOST_ENDED = 1_000  # of a namespace, whose outcomes are kept
_KEPT_S = 86_400  # for which they are, from the acceptance on
_THREADS = 2  # so that one namespace's book does not hold up another's note
_PATIENCE_S = 5.0  # of ``close``, for the documents in work
_RETRY_S = 2.0  # after a failure that may pass by itself
_LOOK_S = 0.1  # before a namespace is looked at again in which another thread or process stores

_ID = re.compile(r"[0-9a-f]{32}")

Store = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Stores a document of a namespace by the arguments that were accepted: ``{"result": …}``, or ``{"error": …}``.

It raises a ``MemgraphRagError`` where the same may succeed later."""


class JobNotFound(MemgraphRagError):
    """No job of this id was accepted from this caller, or it ended long ago."""


class Job(BaseModel):
    """What became of a document that was accepted."""

    id: str
    state: Literal["queued", "storing", "stored", "failed"]
    accepted_at: str = Field(description="ISO 8601.")
    result: Remembered | None = Field(default=None, description="Once it is stored: as remember gives it.")
    error: Problem | None = Field(
        default=None, description="Where it failed: why, and what to do. It is not tried again."
    )


def job_folder(store: str, database: str | None) -> Path:
    """Where documents for this store wait, in the user's data directory."""
    digest = hashlib.sha256(f"{store}\n{database or ''}".encode("utf-8", "surrogatepass")).hexdigest()
    return Path(platformdirs.user_data_dir("memgraph_rag")) / "jobs" / digest[:16]


class JobQueue:
    """The documents that wait for one store, and what became of those before them.

    Args:
        folder: of this store alone; several processes may have the same.
        most_waiting: documents of one namespace that may wait.
        most_in_all: documents of all namespaces that may; of several processes about so many.
    """

    def __init__(self, folder: Path, *, most_waiting: int = _MOST_WAITING, most_in_all: int = _MOST_IN_ALL) -> None:
        self._root = folder
        self._most_waiting = most_waiting
        self._most_in_all = most_in_all
        self._accepting = Lock()
        self._changed = Condition()
        self._to_visit: dict[Path, None] = {}  # folders in which documents wait, in turn
        self._is_closing = False
        self._threads: list[Thread] = []

    def accept(self, namespace: str, arguments: Mapping[str, Any]) -> Job:
        """Keep what is to be stored; it is on the disk when this returns.

        Raises:
            TooManyCalls: too many documents wait.
        """
        folder = self._folder(namespace)
        with self._accepting:
            if len(_unfinished(folder)) >= self._most_waiting:
                raise _one_too_many(f"{self._most_waiting} documents of one caller")
            if sum(len(_unfinished(each)) for each in self._folders()) >= self._most_in_all:
                raise _one_too_many(f"{self._most_in_all} documents")
            job_id = f"{time.time_ns():016x}{secrets.token_hex(8)}"
            write_private(folder / f"{job_id}.queued", {"namespace": namespace, "arguments": dict(arguments)})
        self._visit(folder)
        return Job(id=job_id, state="queued", accepted_at=_accepted_at(job_id))

    def find(self, namespace: str, job_id: str) -> Job:
        """What became of a document of this namespace.

        Raises:
            JobNotFound: there is no such job, or it ended long ago.
        """
        path = self._folder(namespace) / job_id
        if _ID.fullmatch(job_id):
            for state in ("queued", "storing"):  # in this order: a job moves on meanwhile, never back
                if path.with_suffix(f".{state}").exists():
                    return Job(id=job_id, state=state, accepted_at=_accepted_at(job_id))
            outcome = read_object(path.with_suffix(".ended"))
            if outcome is not None:
                state = "stored" if "result" in outcome else "failed"
                return Job(id=job_id, state=state, accepted_at=_accepted_at(job_id), **outcome)
        raise JobNotFound(
            f"Expected the id of a job that this token's namespace began within a day, got {show(job_id)}. "
            "List what is stored with list_documents."
        )

    def start(self, store: Store) -> None:
        """Store what waits, and what will; first what a server before this one left."""
        for folder in self._folders():
            _sweep(folder)
            self._visit(folder)
        for number in range(_THREADS):
            thread = Thread(target=self._work, args=(store,), name=f"memgraph_rag storer {number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """Begin no further document, and wait a moment for those in work. What is not stored then waits for a start."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        end = time.monotonic() + _PATIENCE_S
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _folder(self, namespace: str) -> Path:
        return self._root / hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _folders(self) -> list[Path]:
        return [path for path in self._root.glob("*") if path.is_dir()]

    def _visit(self, folder: Path) -> None:
        with self._changed:
            self._to_visit.setdefault(folder)
            self._changed.notify_all()

    def _work(self, store: Store) -> None:
        while (folder := self._next()) is not None:
            try:
                if self._has_stored_one(folder, store):
                    self._visit(folder)
            except Exception:  # of the disk, most likely: the thread goes on
                logger.exception("A document that was accepted could not be stored; it is tried again.")
                self._rest(_RETRY_S)
                self._visit(folder)

    def _next(self) -> Path | None:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._to_visit) or self._is_closing)
            if self._is_closing:
                return None
            folder = next(iter(self._to_visit))
            del self._to_visit[folder]
            return folder

    def _rest(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing, seconds)

    def _has_stored_one(self, folder: Path, store: Store) -> bool:
        """Store the oldest document of a namespace; False where there is none."""
        try:
            with FileLock(folder / "lock", timeout=0):
                unfinished = _unfinished(folder)
                if unfinished:
                    self._store(unfinished[0], store)
                return bool(unfinished)
        except Timeout:
            self._rest(_LOOK_S)
            return True

    def _store(self, path: Path, store: Store) -> None:
        storing, ended = path.with_suffix(".storing"), path.with_suffix(".ended")
        path.replace(storing)
        if not ended.exists():  # else the process was killed just behind it
            accepted = read_object(storing)
            try:
                outcome = store(accepted["namespace"], accepted["arguments"]) if accepted else {"error": _DAMAGED}
            except MemgraphRagError as error:
                logger.warning("A document that was accepted waits: %s", error)
                self._rest(_RETRY_S)
                return
            if self._is_closing and "error" in outcome:  # most likely because its memory was closed
                return
            write_private(ended, outcome)
        storing.unlink()
        _sweep(path.parent)


_DAMAGED = {
    "title": "DocumentError",
    "status": 500,
    "detail": "Expected the document as it was accepted, got a file that cannot be read. Send it again.",
}


def _one_too_many(most: str) -> TooManyCalls:
    return TooManyCalls(f"Expected at most {most} that wait to be stored, got one more. Wait until one is stored.")


def _unfinished(folder: Path) -> list[Path]:
    """What is not stored yet, the oldest first: ids begin with the time of acceptance."""
    return sorted(path for path in folder.glob("*") if path.suffix in (".queued", ".storing"))


def _sweep(folder: Path) -> None:
    """Remove outcomes that are old or too many, and what a killed process had begun to write."""
    ended = sorted(folder.glob("*.ended"))
    kept = [path for path in ended[-_MOST_ENDED:] if _seconds(path.stem) > time.time() - _KEPT_S]
    parts = [part for part in folder.glob(f"*{PART}") if _age_s(part) > _KEPT_S]
    for path in [*(set(ended) - set(kept)), *parts]:
        path.unlink(missing_ok=True)


def _age_s(path: Path) -> float:
    with suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime
    return 0.0


def _seconds(job_id: str) -> float:
    return int(job_id[:16], 16) / 1e9


def _accepted_at(job_id: str) -> str:
    return datetime.fromtimestamp(int(_seconds(job_id)), timezone.utc).isoformat()
