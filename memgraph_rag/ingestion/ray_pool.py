"""Documents read and built by workers of a Ray cluster, an actor with its models each.

It knows Ray; of the store, nothing: files and groups of documents go out, texts and graphs come back, and this process
plans and writes. Invariants: a worker does one thing at a time, so that a death is laid to what it was doing; nothing
waits for a worker that has no place to start; what comes back is what ``LocalPool`` gives for the same.
"""

from __future__ import annotations

import os
import re
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from pickle import PicklingError
from types import TracebackType
from typing import Any

from typing_extensions import Self

from memgraph_rag.display import show
from memgraph_rag.errors import ClusterError, SettingsError
from memgraph_rag.ingestion.graph_building import BuildOutcome, GraphBuilder
from memgraph_rag.ingestion.planning import PendingDocument
from memgraph_rag.ingestion.shared_files import SharedFile
from memgraph_rag.ingestion.sources import GroupSize, Loaded, Request, load_request
from memgraph_rag.types import Failure

__all__ = ["RayPool"]

_AUTO = "auto"
_HOST_AND_PORT = re.compile(r"[\w.-]+:[0-9]{1,5}")
_OBJECT_STORE_BYTES = 256 * 2**20  # of a cluster that is started here: groups and their graphs are small
_ANSWER_SECONDS = 5.0
_READ_TOGETHER = 16  # requests
_BYTES_TOGETHER = 2**20  # of their files
_MOST_TRIES = 2  # of a task, before its items are tried one by one
_MOST_DEATHS = 8  # of workers, one after another, with no group built between


class _Worker:
    """An actor: a builder with its own models."""

    def __init__(self, builder: GraphBuilder) -> None:
        self._builder = builder

    def read_each(self, files: Sequence[SharedFile]) -> list[tuple[str, str] | None]:
        return [file.read() for file in files]

    def build_each(self, documents: Sequence[PendingDocument]) -> list[BuildOutcome]:
        return self._builder.build_each(documents)

    def settle(self) -> None:
        self._builder.settle()


@dataclass(eq=False, slots=True)
class _Task:
    """What a worker is to do with each of several items.

    Attributes:
        method: of the worker.
        names: of the items, for errors.
        tries: how many workers were given it.
        outcomes: what became of each item, once that is known.
        error: Ray's, where there are none.
    """

    method: str
    items: Sequence[Any]
    names: Sequence[str]
    tries: int = 0
    outcomes: list[Any] | None = None
    error: Any = None

    def alone(self) -> Iterator[_Task]:
        """The same for each of the items by itself."""
        return (_Task(self.method, [item], [name]) for item, name in zip(self.items, self.names, strict=True))


class RayPool:
    """Builds on a Ray cluster, one group for each worker and one that waits: a ``BuildPool``.

    A cluster with GPUs has a worker on each, another a worker on each core. Where one dies another is started, on a
    node that is there, and its group is tried once more; if that dies too each document of the group is built alone. A
    limit of tokens is shared out among the workers. Files are read by a worker that sees the same file, else in this
    process.

    Args:
        builder: its copies work.
        address: of a cluster, "auto" for one of this machine, which is started for the time being where none runs.
            Where this process is connected already, that cluster is taken.
        device: of the models, as in the settings: on "cpu" and "mps" no GPU is asked for.

    Raises:
        SettingsError: Ray is not installed, or the address is none.
    """

    group_size = GroupSize(documents=64, characters=32_000)

    def __init__(self, builder: GraphBuilder, address: str, *, device: str) -> None:
        if find_spec("ray") is None:
            raise SettingsError(
                "Expected the package ray, which builds on a cluster, got none. Install it: "
                'pip install "memgraph_rag[ray]", or build in this process.',
                setting="ray",
            )
        if not isinstance(address, str) or not (address == _AUTO or _HOST_AND_PORT.fullmatch(address)):
            raise SettingsError(f'Expected ray="auto" or HOST:PORT of a cluster, got {show(address)}.', setting="ray")
        self._builder = builder
        self._address = address
        self._wants_gpu = device == "auto" or device.startswith("cuda")

    @property
    def ahead(self) -> int:
        """See ``BuildPool.ahead``."""
        return 2 * self._most_workers

    def load(self, requests: Iterable[Request]) -> Iterator[Loaded | Failure]:
        """See ``BuildPool.load``. Some requests are read together, and as many of these ahead as groups are built."""
        batches: deque[tuple[list[_Asked], Callable[[], list[Any]]]] = deque()
        for batch in _read_together(requests):
            files = [asked.file for asked in batch if asked.file is not None]
            batches.append((batch, self._begin(_Task("read_each", files, [file.path for file in files]))))
            while len(batches) > self.ahead:
                yield from _loaded(*batches.popleft())
        while batches:
            yield from _loaded(*batches.popleft())

    def start(self, documents: Sequence[PendingDocument]) -> Callable[[], list[BuildOutcome]]:
        """See ``BuildPool.start``."""
        if not documents:
            return list
        return self._begin(_Task("build_each", documents, [document.record.key for document in documents]))

    def settle(self) -> None:
        """See ``BuildPool.settle``."""
        self._settling = [worker.settle.remote() for worker in self._workers]

    def __enter__(self) -> Self:
        import ray  # pyright: ignore[reportMissingImports]

        self._is_own_connection = not ray.is_initialized()
        if self._is_own_connection:
            _connect(self._address)
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0)) if self._wants_gpu else 0
        self._most_workers = gpus or max(1, int(resources.get("CPU", 1)))
        self._worker_class = ray.remote(num_cpus=1, num_gpus=1 if gpus else 0)(_Worker)
        self._files: deque[_Task] = deque()
        self._groups: deque[_Task] = deque()
        self._running: dict[Any, tuple[_Task, Any]] = {}
        self._starting: dict[Any, Any] = {}
        self._workers: list[Any] = []
        self._idle: list[Any] = []
        self._settling: list[Any] = []
        self._deaths = 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import ray  # pyright: ignore[reportMissingImports]

        if kind is None and self._settling:
            ray.wait(self._settling, num_returns=len(self._settling), timeout=_ANSWER_SECONDS)
        for worker in (*self._workers, *self._starting.values()):
            ray.kill(worker)
        if self._is_own_connection:
            ray.shutdown()

    def _begin(self, task: _Task) -> Callable[[], list[Any]]:
        """Let it be done; what is returned waits for what became of each item."""
        if not task.items:
            return list
        self._queue(task).append(task)
        self._collect()
        return partial(self._finish, task)

    def _dispatch(self) -> None:
        """Give what waits to workers that have nothing to do, and start workers for the rest as long as there is room.

        Files come first: this process waits for them before it can write what is built.
        """
        while (waiting := self._files or self._groups) and self._idle:
            task, worker = waiting.popleft(), self._idle.pop()
            task.tries += 1
            self._running[getattr(worker, task.method).remote(task.items)] = task, worker
        unserved = len(self._files) + len(self._groups) - len(self._starting)
        room = self._most_workers - len(self._workers) - len(self._starting)
        for _ in range(min(unserved, room)):
            worker = self._started()
            self._starting[worker.__ray_ready__.remote()] = worker

    def _started(self) -> Any:
        try:
            return self._worker_class.remote(self._builder.shared_by(self._most_workers))
        except (TypeError, PicklingError) as exc:
            raise SettingsError(
                f"Expected models and layers that can be sent to workers, got one that cannot be pickled: "
                f"{str(exc).splitlines()[0]}. Name the models, model=…, embedder=…, instead of giving objects.",
                setting="ray",
            ) from exc

    def _collect(self, *, timeout_s: float | None = 0.0) -> None:
        """Note what is done by now, and dispatch what waits; None waits until something is done.

        Raises:
            ClusterError: workers die again and again.
        """
        import ray  # pyright: ignore[reportMissingImports]

        waiting = [*self._starting, *self._running]
        if waiting and timeout_s is None:
            ray.wait(waiting)
        done, _ = ray.wait(waiting, num_returns=len(waiting), timeout=0) if waiting else ([], [])
        for reference in done:
            if reference in self._starting:
                self._note_start(reference, self._starting.pop(reference))
            else:
                self._note_outcomes(reference, *self._running.pop(reference))
        self._dispatch()

    def _note_start(self, reference: Any, worker: Any) -> None:
        import ray  # pyright: ignore[reportMissingImports]

        try:
            ray.get(reference)
        except ray.exceptions.RayError as error:
            self._death([], error)
        else:
            self._workers.append(worker)
            self._idle.append(worker)

    def _note_outcomes(self, reference: Any, task: _Task, worker: Any) -> None:
        """Keep what became of a task; where its worker died it waits for another one, if it did not yet."""
        import ray  # pyright: ignore[reportMissingImports]

        try:
            task.outcomes = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            task.error = error
        except ray.exceptions.RayError as error:
            self._workers.remove(worker)
            ray.kill(worker)  # where only its node is out of reach
            if task.tries < _MOST_TRIES:
                self._queue(task).appendleft(task)
            else:
                task.error = error
            return
        self._idle.append(worker)

    def _queue(self, task: _Task) -> deque[_Task]:
        return self._files if task.method == "read_each" else self._groups

    def _finish(self, task: _Task) -> list[Any]:
        """What became of each item. Where its workers died, of each by itself: one of them may be to blame."""
        import ray  # pyright: ignore[reportMissingImports]

        self._collect()
        while task.outcomes is None and task.error is None:
            self._collect(timeout_s=None)
        if task.outcomes is not None:
            self._deaths = 0
            return task.outcomes
        if isinstance(task.error, ray.exceptions.RayTaskError):
            raise task.error.cause from task.error  # as it would come from a builder in this process
        death = self._death(task.names, task.error)
        if len(task.items) == 1:
            return [death]
        parts = [self._begin(part) for part in task.alone()]
        return [outcome for part in parts for outcome in part()]

    def _death(self, names: Sequence[str], error: Exception) -> ClusterError:
        """The error of files or documents whose workers died; without names, of a worker that did not start.

        Raises:
            ClusterError: workers die again and again: it is none of the documents.
        """
        first = ", ".join(map(show, names[:3])) or "its start"
        reason = " ".join(str(error).split())[:500]
        self._deaths += 1
        if self._deaths >= _MOST_DEATHS:
            raise ClusterError(
                f"Expected workers that build, got {self._deaths} deaths of workers one after another, the last one at "
                f"{first}: {reason} What is stored stays; see Ray's logs, and whether memgraph_rag and its models are "
                "installed on all nodes and fit their memory.",
                deaths=self._deaths,
            ) from error
        return ClusterError(
            f"Expected a worker that reads or builds {first}, got its death, twice: {reason} See Ray's logs; add the "
            "others without it.",
            keys=list(names),
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, and the file that a worker may read for it."""

    request: Request
    file: SharedFile | None


def _read_together(requests: Iterable[Request]) -> Iterator[list[_Asked]]:
    """Consecutive requests, few enough that their texts are small together."""
    batch: list[_Asked] = []
    size = 0
    for request in requests:
        file = SharedFile.at(request.source) if isinstance(request.source, Path) else None
        batch.append(_Asked(request, file))
        size += file.size if file else 0
        if len(batch) >= _READ_TOGETHER or size >= _BYTES_TOGETHER:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _loaded(batch: Sequence[_Asked], texts: Callable[[], list[Any]]) -> Iterator[Loaded | Failure]:
    """The document of each request; this process reads what no worker could."""
    read_elsewhere = iter(texts())
    for asked in batch:
        text = next(read_elsewhere) if asked.file is not None else None
        if isinstance(text, ClusterError):
            yield Failure(str(asked.request.source), text)
        elif text is None:
            yield load_request(asked.request)
        else:
            yield load_request(asked.request, lambda _, text=text: text)


def _connect(address: str) -> None:
    """Connect to a cluster; "auto" starts one of this machine where none runs.

    Raises:
        ClusterError: nobody answers at that address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray  # pyright: ignore[reportMissingImports]

    if address != _AUTO:
        _require_answer(address)
    options = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        try:
            ray.init(address=address, **options)
        except ConnectionError:
            if address != _AUTO:
                raise
            ray.init(address="local", include_dashboard=False, object_store_memory=_OBJECT_STORE_BYTES, **options)
    except Exception as exc:  # one that does not start in time is a bare Exception
        raise _no_answer(address, exc) from exc


def _require_answer(address: str) -> None:
    """Knock at the address first: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER_SECONDS).close()
    except (OSError, OverflowError, ValueError) as exc:
        raise _no_answer(address, exc) from exc


def _no_answer(address: str, error: Exception) -> ClusterError:
    return ClusterError(
        f"Expected a Ray cluster at {address}, got none: {show(error)}. Start one with `ray start --head`, or take "
        'ray="auto"; a cluster with token authentication wants its token here too, as Ray\'s documentation says.',
        address=address,
    )
