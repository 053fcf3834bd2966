"""``RayPool``: reads and builds documents with workers of a Ray cluster; each worker is an actor with its own models.

It knows Ray and no store: workers get files and groups of documents, and return texts and graphs; this process plans
and writes. Invariants: a worker does one task at a time, so that the cause of its death is known. No task waits for a
worker that cannot start. Results are equal to those of ``LocalPool``.
"""

from __future__ import annotations

import os
import re
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from pickle import PicklingError
from types import TracebackType
from typing import Any

from typing_extensions import Self

from memgraph_rag.display import show
from memgraph_rag.errors import ClusterError, SettingsError, convert_errors
from memgraph_rag.ingestion.graph_building import BuildOutcome, GraphBuilder
from memgraph_rag.ingestion.planning import PendingDocument
from memgraph_rag.ingestion.shared_files import SharedFile
from memgraph_rag.ingestion.sources import GroupSize, Loaded, Request, load_request
from memgraph_rag.types import Failure

_AUTO = "auto"
_HOST_AND_PORT = re.compile(r"[\w.-]+:[0-9]{1,5}")
_OBJECT_STORE_BYTES = 256 * 2**20  # of a cluster that is started here: groups and their graphs are small
_ANSWER_SECONDS = 5.0
_READ_TOGETHER = 16  # requests in one task
_BYTES_TOGETHER = 2**20  # total size of the files in one task
_MOST_TRIES = 2  # of a task, before its items are tried one by one
_MOST_DEATHS = 8  # deaths of workers without a finished task between them


class _Worker:
    """The class of the actors: a builder with its own models."""

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
    """A task for a worker: a method and several items.

    Attributes:
        method: the name of the worker's method.
        names: the names of the items, for errors.
        tries: the number of workers that got the task.
        outcomes: the outcome of each item, when the task is finished.
        error: the error of Ray, if there are no outcomes.
    """

    method: str
    items: Sequence[Any]
    names: Sequence[str]
    tries: int = 0
    outcomes: list[Any] | None = None
    error: Any = None

    def alone(self) -> Iterator[_Task]:
        """Yield a task for each item alone."""
        return (_Task(self.method, [item], [name]) for item, name in zip(self.items, self.names, strict=True))


class RayPool:
    """A ``BuildPool`` on a Ray cluster, which builds two groups for each worker ahead.

    A cluster with GPUs has one worker on each GPU; otherwise one worker on each core. If a worker dies, another worker
    on a living node gets its group; if that worker dies too, each document of the group is built alone. The workers
    share the token limit. A worker that sees the same file reads it; otherwise this process reads it.

    Args:
        builder: each worker gets a copy.
        address: HOST:PORT of a cluster, or "auto" for a cluster on this machine, which is started if none runs, and
            stopped at the end. If this process is connected to a cluster already, that cluster is used.
        device: the device of the models, as in the settings. "cpu" and "mps" request no GPU.

    Raises:
        SettingsError: Ray is not installed, or the address is invalid.
    """

    group_size = GroupSize(documents=64, characters=32_000)

    def __init__(self, builder: GraphBuilder, address: str, *, device: str) -> None:
        if find_spec("ray") is None:
            raise SettingsError(
                "Expected the package ray, which builds on a cluster, got no such package. Install it: "
                'pip install "memgraph_rag[ray]", or build in this process.',
                setting="ray",
            )
        if not isinstance(address, str) or not (address == _AUTO or _HOST_AND_PORT.fullmatch(address)):
            raise SettingsError(
                f'Expected ray="auto" or HOST:PORT of a cluster, got {show(address)}. Pass one of the two.',
                setting="ray",
            )
        self._builder = builder
        self._address = address
        self._wants_gpu = device == "auto" or device.startswith("cuda")

    @cached_property
    def _ray(self) -> Any:
        import ray  # pyright: ignore[reportMissingImports]

        return ray

    @property
    def ahead(self) -> int:
        """The number of groups that are begun before the first of them is written: two for each worker."""
        return 2 * self._most_workers

    def load(self, requests: Iterable[Request]) -> Iterator[Loaded | Failure]:
        """Yield the document of each request (``BuildPool.load``). Workers read files in batches, some in advance."""
        batches: deque[tuple[list[_Asked], Callable[[], list[Any]]]] = deque()
        for batch in _read_together(requests):
            files = [asked.file for asked in batch if asked.file is not None]
            batches.append((batch, self._begin(_Task("read_each", files, [file.path for file in files]))))
            while len(batches) > self.ahead:
                yield from _iterate_loaded(*batches.popleft())
        while batches:
            yield from _iterate_loaded(*batches.popleft())

    def start(self, documents: Sequence[PendingDocument]) -> Callable[[], list[BuildOutcome]]:
        """Begin to build a group, and return a function that waits for the outcome of each document, in order."""
        if not documents:
            return list
        return self._begin(_Task("build_each", documents, [document.record.key for document in documents]))

    def settle(self) -> None:
        """Let the workers drop the recorded model replies, because their documents are stored."""
        self._settling = [worker.settle.remote() for worker in self._workers]

    def __enter__(self) -> Self:
        self._is_own_connection = not self._ray.is_initialized()
        if self._is_own_connection:
            _connect(self._ray, self._address)
        resources = self._ray.cluster_resources()
        gpus = int(resources.get("GPU", 0)) if self._wants_gpu else 0
        self._most_workers = gpus or max(1, int(resources.get("CPU", 1)))
        self._worker_class = self._ray.remote(num_cpus=1, num_gpus=1 if gpus else 0)(_Worker)
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
        if kind is None and self._settling:
            self._ray.wait(self._settling, num_returns=len(self._settling), timeout=_ANSWER_SECONDS)
        for worker in (*self._workers, *self._starting.values()):
            self._ray.kill(worker)
        if self._is_own_connection:
            self._ray.shutdown()

    def _begin(self, task: _Task) -> Callable[[], list[Any]]:
        """Queue a task, and return a function that waits for the outcome of each item."""
        if not task.items:
            return list
        self._queue(task).append(task)
        self._collect()
        return partial(self._finish, task)

    def _dispatch(self) -> None:
        """Give waiting tasks to idle workers, and start further workers for the other tasks, up to the limit.

        Tasks that read files come first, because this process needs the texts before it can write.
        """
        while (waiting := self._files or self._groups) and self._idle:
            task, worker = waiting.popleft(), self._idle.pop()
            task.tries += 1
            self._running[getattr(worker, task.method).remote(task.items)] = task, worker
        unserved = len(self._files) + len(self._groups) - len(self._starting)
        room = self._most_workers - len(self._workers) - len(self._starting)
        for _ in range(min(unserved, room)):
            worker = self._start_worker()
            self._starting[worker.__ray_ready__.remote()] = worker

    def _start_worker(self) -> Any:
        try:
            return self._worker_class.remote(self._builder.divide_among(self._most_workers))
        except (TypeError, PicklingError) as exc:
            raise SettingsError(
                f"Expected models and layers that can be sent to workers, got one that cannot be pickled: "
                f"{str(exc).splitlines()[0]}. Name the models, model=…, embedder=…, instead of giving objects.",
                setting="ray",
            ) from exc

    def _collect(self, *, timeout_s: float | None = 0.0) -> None:
        """Record finished tasks, and dispatch waiting tasks.

        Args:
            timeout_s: 0 does not wait; None waits until at least one task is finished.

        Raises:
            ClusterError: workers die repeatedly.
        """
        waiting = [*self._starting, *self._running]
        if waiting and timeout_s is None:
            self._ray.wait(waiting)
        done, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0) if waiting else ([], [])
        for reference in done:
            if reference in self._starting:
                self._note_start(reference, self._starting.pop(reference))
            else:
                self._note_outcomes(reference, *self._running.pop(reference))
        self._dispatch()

    def _note_start(self, reference: Any, worker: Any) -> None:
        try:
            self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            self._make_death_error([], error)
        else:
            self._workers.append(worker)
            self._idle.append(worker)

    def _note_outcomes(self, reference: Any, task: _Task, worker: Any) -> None:
        """Record the outcomes of a task. If its worker died, queue the task again, up to ``_MOST_TRIES`` times."""
        try:
            task.outcomes = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            task.error = error
        except self._ray.exceptions.RayError as error:
            self._workers.remove(worker)
            self._ray.kill(worker)  # the worker may still run on a node that is out of reach
            if task.tries < _MOST_TRIES:
                self._queue(task).appendleft(task)
            else:
                task.error = error
            return
        self._idle.append(worker)

    def _queue(self, task: _Task) -> deque[_Task]:
        return self._files if task.method == "read_each" else self._groups

    def _finish(self, task: _Task) -> list[Any]:
        """Wait for a task, and return the outcome of each item. If its workers died, try each item alone."""
        self._collect()
        while task.outcomes is None and task.error is None:
            self._collect(timeout_s=None)
        if task.outcomes is not None:
            self._deaths = 0
            return task.outcomes
        if isinstance(task.error, self._ray.exceptions.RayTaskError):
            raise task.error.cause from task.error  # the error that a builder in this process would raise
        death = self._make_death_error(task.names, task.error)
        if len(task.items) == 1:
            return [death]
        parts = [self._begin(part) for part in task.alone()]
        return [outcome for part in parts for outcome in part()]

    def _make_death_error(self, names: Sequence[str], error: Exception) -> ClusterError:
        """Return the error for items whose workers died. Without names it is for a worker that did not start.

        Raises:
            ClusterError: workers die repeatedly, so the documents are not the cause.
        """
        first = ", ".join(map(show, names[:3])) or "its start"
        reason = " ".join(str(error).split())[:500]
        self._deaths += 1
        if self._deaths >= _MOST_DEATHS:
            raise ClusterError(
                f"Expected workers that build, got {self._deaths} deaths of workers one after another, the last one at "
                f"{first}: {reason} Stored documents stay. See Ray's logs, and check that memgraph_rag and its models "
                "are installed on all nodes and fit into their memory.",
                deaths=self._deaths,
            ) from error
        return ClusterError(
            f"Expected a worker that reads or builds {first}, got its death, twice: {reason} See Ray's logs, and add "
            "the other documents without it.",
            keys=list(names),
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, and the file that a worker may read for it."""

    request: Request
    file: SharedFile | None


def _read_together(requests: Iterable[Request]) -> Iterator[list[_Asked]]:
    """Yield batches of consecutive requests, limited by their number and the total size of their files."""
    batch: list[_Asked] = []
    size = 0
    for request in requests:
        file = SharedFile.find(request.source) if isinstance(request.source, Path) else None
        batch.append(_Asked(request, file))
        size += file.size if file else 0
        if len(batch) >= _READ_TOGETHER or size >= _BYTES_TOGETHER:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _iterate_loaded(batch: Sequence[_Asked], texts: Callable[[], list[Any]]) -> Iterator[Loaded | Failure]:
    """Yield the document of each request. This process reads the files that no worker could read."""
    read_elsewhere = iter(texts())
    for asked in batch:
        text = next(read_elsewhere) if asked.file is not None else None
        if isinstance(text, ClusterError):
            yield Failure(str(asked.request.source), text)
        elif text is None:
            yield load_request(asked.request)
        else:
            yield load_request(asked.request, lambda _, text=text: text)


def _connect(ray: Any, address: str) -> None:
    """Connect to a cluster. "auto" starts a cluster on this machine if none runs.

    Raises:
        ClusterError: no cluster answers at the address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address != _AUTO:
        _require_answer(address)
    options = {"log_to_driver": False, "logging_level": "ERROR"}
    with convert_errors(partial(_make_no_answer_error, address)):  # Ray raises a bare Exception at a timeout
        try:
            ray.init(address=address, **options)
        except ConnectionError:
            if address != _AUTO:
                raise
            ray.init(address="local", include_dashboard=False, object_store_memory=_OBJECT_STORE_BYTES, **options)


def _require_answer(address: str) -> None:
    """Open a connection to the address as a test, because Ray itself would retry for minutes.

    Raises:
        ClusterError: no connection within five seconds.
    """
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER_SECONDS).close()
    except (OSError, OverflowError, ValueError) as exc:
        raise _make_no_answer_error(address, exc) from exc


def _make_no_answer_error(address: str, error: Exception) -> ClusterError:
    return ClusterError(
        f"Expected a Ray cluster at {address}, got no answer: {show(error)}. Start one with `ray start --head`, or use "
        'ray="auto". A cluster with token authentication needs its token here too (see the documentation of Ray).',
        address=address,
    )
