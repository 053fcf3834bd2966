"""A connection to a Neo4j server: its transactions, and its errors as errors of this library.

The module knows neither documents nor namespaces. Invariants: every transaction is managed, has a timeout, and names
its operation in its metadata, never a text or a password. A read sees every earlier write through the same connection
and everything that earlier reads saw, also on the followers of a cluster; unless the connection is for reading only, it
also sees everything that was written before it was opened. No transaction begins later than ``RETRY_S`` after its first
try. In a forked child, ``close`` sends nothing on the parent's sockets.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, TypeVar

import neo4j
from neo4j import exceptions
from pydantic import SecretStr
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_before_delay,
    wait_exponential,
    wait_random_exponential,
)

from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagError, StoreAccessDenied, StoreError, StoreUnavailable
from memgraph_rag.stores.shared import queries
from memgraph_rag.stores.shared.process_guard import OpeningProcess, keep_for_ever

R = TypeVar("R")
T = TypeVar("T")

Execute = Callable[[str, Mapping[str, Any]], list[dict[str, Any]]]

APPLICATION = "memgraph_rag"
READ_TIMEOUT_S = 60.0
WRITE_TIMEOUT_S = 600.0
RETRY_S = 30.0  # the time for new tries of a transaction, after a lost connection or a deadlock
SHORTEST_WAIT_S, LONGEST_WAIT_S = 0.02, 4.0  # between two tries: doubled each time, part of it random
TORN_READS = 5  # tries after which a null counts as a stored value

LOGGER = logging.getLogger(__name__)
DRIVER_LOGGER = logging.getLogger("neo4j")

DENIED = ("Neo.ClientError.Security.", "Neo.ClientError.Database.DatabaseNotFound")
UNSERVED = (
    "Neo.ClientError.Cluster.",
    "Neo.TransientError.Cluster.",
    "Neo.TransientError.Transaction.BookmarkTimeout",
    "Neo.TransientError.Transaction.LeaseExpired",
)
"""Error codes of a cluster that has no leader at the moment, or whose followers do not keep up."""


def connect(
    address: str, *, auth: tuple[str, SecretStr] | None, database: str | None, timeout_s: float, read_only: bool = False
) -> Neo4jConnection:
    """Return a connection to a server that has answered; retry until the timeout, as the server may be starting.

    Args:
        read_only: whether any follower of a cluster may answer. Otherwise the leader answers first, and later reads
            wait for its bookmark, so that two openings one after the other find the same schema.

    Raises:
        StoreUnavailable: no server answered in time.
        StoreAccessDenied: wrong user, password or database.
    """
    if not DRIVER_LOGGER.handlers:  # else Python prints the driver's errors, which our errors repeat
        DRIVER_LOGGER.addHandler(logging.NullHandler())
    retrying = Retrying(
        retry=retry_if_exception(_is_retryable),
        stop=stop_before_delay(timeout_s),
        wait=wait_exponential(multiplier=0.1, max=1.0),
        reraise=True,
    )
    try:
        with _convert_driver_errors(address, database, time.monotonic()):
            return retrying(_connect_once, address, auth, database, timeout_s, read_only)
    except StoreError as error:
        _forget_frames(error.__cause__)
        raise


def _forget_frames(error: BaseException | None) -> None:
    """Drop the frames of the driver's errors: their variables hold the password, and some tools display variables."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _connect_once(
    address: str, auth: tuple[str, SecretStr] | None, database: str | None, timeout_s: float, read_only: bool
) -> Neo4jConnection:
    driver = _driver(address, auth, timeout_s)
    access = neo4j.READ_ACCESS if read_only else neo4j.WRITE_ACCESS
    answered = False
    try:
        statement = queries.statement("read/list_components", "neo4j_5")
        # Not a managed transaction, because the driver would retry it.
        with driver.session(
            database=database, default_access_mode=access, bookmark_manager=driver.execute_query_bookmark_manager
        ) as session:
            result = session.run(_query(statement.text, statement.name))
            version = result.single(strict=True)["version"]
            connection = Neo4jConnection(driver, address=address, database=result.consume().database, version=version)
        answered = True
    finally:
        if not answered:
            driver.close()
    return connection


def _driver(address: str, auth: tuple[str, SecretStr] | None, timeout_s: float) -> neo4j.Driver:
    return neo4j.GraphDatabase.driver(
        address,
        auth=None if auth is None else neo4j.basic_auth(auth[0], auth[1].get_secret_value()),
        connection_timeout=timeout_s,
        connection_acquisition_timeout=timeout_s,
        max_transaction_retry_time=0,  # the driver counts from the first failure, and may exceed the time
        notifications_min_severity="OFF",  # on an empty database the driver would log each label as unknown
        telemetry_disabled=True,
        user_agent=APPLICATION,
    )


def _query(text: str, operation: str) -> neo4j.Query:
    metadata = {"app": APPLICATION, "op": operation}
    # The driver's types ask for literal texts; ours come from files of this package.
    return neo4j.Query(text, metadata=metadata, timeout=READ_TIMEOUT_S)  # pyright: ignore[reportArgumentType]


class Neo4jConnection:
    """A driver that is bound to one database. ``connect`` creates it. Several threads may use it."""

    def __init__(self, driver: neo4j.Driver, *, address: str, database: str | None, version: str) -> None:
        self.address = address
        self.version = version
        self.process = OpeningProcess()
        self._driver = driver
        self.database = database
        self._bookmarks = driver.execute_query_bookmark_manager

    def read(self, operation: str, work: Callable[[Execute], T]) -> T:
        """Call ``work`` in a read transaction, and return its result.

        ``work`` receives a function that executes a statement. It is called again after a lost connection, or if a row
        was deleted while it was read.

        Raises:
            StoreUnavailable: no server answered any more.
        """
        return self._read(operation, READ_TIMEOUT_S, work, _keep_row)

    def stream(
        self, operation: str, text: str, parameters: Mapping[str, Any], row: Callable[[Mapping[str, Any]], T]
    ) -> list[T]:
        """Run one reading statement; return its rows in order, each converted by ``row`` as soon as it arrives.

        After a lost connection the statement runs again, and ``row`` is called for all rows again. Earlier results are
        dropped. ``operation`` is the name of the operation in the metadata of the query and in the log.
        """
        return self._read(operation, WRITE_TIMEOUT_S, lambda execute: execute(text, parameters), row)

    def _read(
        self,
        operation: str,
        timeout_s: float,
        work: Callable[[Callable[[str, Mapping[str, Any]], list[R]]], T],
        row: Callable[[dict[str, Any]], R],
    ) -> T:
        """Read, and read again if rows were deleted during the reading.

        If a node is deleted after a statement found it, Neo4j returns null for its properties. Our statements return no
        other nulls. If one does, its rows are accepted after ``TORN_READS`` tries.
        """
        torn = 0

        def once(session: neo4j.Session) -> T:
            nonlocal torn
            try:
                return session.execute_read(_unit_of_work(operation, timeout_s, work, row, whole=torn < TORN_READS))
            except TornRead:
                torn += 1
                raise

        return self._run_until_done(neo4j.READ_ACCESS, operation, once)

    def write(self, operation: str, work: Callable[[Execute], T]) -> T:
        """Call ``work`` in a transaction, commit, and return its result; roll back if it raises.

        ``work`` may be called again after a lost connection or a deadlock, and after a commit whose answer was lost. So
        doing ``work`` twice must leave the same graph. In that case the first result is returned, and an error of this
        library that only the second call raises (a forgotten document cannot be forgotten again) is ignored.

        Raises:
            StoreUnavailable: no server answered any more. The last try may or may not be committed.
        """
        unanswered: list[T] = []
        finished: list[T] = []

        def remember(execute: Execute) -> T:
            finished[:] = [work(execute)]
            return finished[0]

        def once(session: neo4j.Session) -> T:
            try:
                return session.execute_write(_unit_of_work(operation, WRITE_TIMEOUT_S, remember, _keep_row))
            except exceptions.IncompleteCommit:
                unanswered.extend(finished)
                raise

        try:
            done = self._run_until_done(neo4j.WRITE_ACCESS, operation, once)
        except MemgraphRagError as error:
            if not unanswered or isinstance(error, StoreError):
                raise
            return unanswered[0]
        return unanswered[0] if unanswered else done

    def close(self) -> None:
        """Close the driver; a second call does nothing. In a forked child, send nothing on the parent's sockets."""
        if self.process.is_current:
            self._driver.close()
        else:
            keep_for_ever(self._driver)

    def _run_until_done(self, access: str, operation: str, once: Callable[[neo4j.Session], T]) -> T:
        """Return the result of a transaction; begin it again after a lost connection, a deadlock or a torn read.

        The retries of the driver are not used: they count the time from the first failure, may wait half a minute
        beyond it, and give up if the end of a transaction was not answered, even of a read.
        """
        retrying = Retrying(
            retry=retry_if_exception(_is_retryable),
            stop=_is_late,
            wait=wait_random_exponential(multiplier=SHORTEST_WAIT_S, max=LONGEST_WAIT_S),
            before_sleep=lambda state: _log_retry(operation, state),
            reraise=True,
        )
        with _convert_driver_errors(self.address, self.database, time.monotonic()):
            return retrying(self._run_once, access, once)

    def _run_once(self, access: str, once: Callable[[neo4j.Session], T]) -> T:
        with (
            self._driver.session(
                database=self.database, default_access_mode=access, bookmark_manager=self._bookmarks
            ) as session,
            ExitStack() as stack,
        ):
            stack.push(partial(_abandon_interrupted, session))
            return once(session)


def _abandon_interrupted(session: neo4j.Session, kind: type[BaseException] | None, *_: object) -> None:
    """Close the session's connection without a message if Ctrl-C came, perhaps in the middle of a message.

    After half a message, the next user of the connection would wait for the other half; and a normal end of the
    transaction waits for its whole answer. The driver does this itself for a cancelled task, but has no public method
    for threads.
    """
    if kind is not None and not issubclass(kind, Exception):
        session._handle_cancellation(message="interrupted")


class TornRead(Exception):
    """An error: a row was deleted while it was read, so that some of its values are null."""


def _is_retryable(error: BaseException) -> bool:
    """Return whether a new try may succeed. All transactions of this library may be repeated."""
    if isinstance(error, exceptions.Neo4jError | exceptions.DriverError):
        return isinstance(error, exceptions.IncompleteCommit) or error.is_retryable()
    return isinstance(error, TornRead)


def _is_late(state: RetryCallState) -> bool:
    """Return whether the time for new tries is over. A torn read needs few tries, and always gets them."""
    torn = state.outcome is not None and isinstance(state.outcome.exception(), TornRead)
    return not torn and stop_before_delay(RETRY_S)(state)


def _log_retry(operation: str, state: RetryCallState) -> None:
    """Log why a transaction is begun again, without the server's message, which may contain a text."""
    error = state.outcome.exception() if state.outcome else None
    reason = getattr(error, "code", None) or type(error).__name__
    LOGGER.debug("%s will be retried, for the %s. time: %s", operation, state.attempt_number, reason)


def _unit_of_work(
    operation: str,
    timeout_s: float,
    work: Callable[[Callable[[str, Mapping[str, Any]], list[R]]], T],
    row: Callable[[dict[str, Any]], R],
    *,
    whole: bool = False,
) -> Callable[[neo4j.ManagedTransaction], T]:
    """Return the function of a transaction: it calls ``work`` with a function that runs a statement.

    Each row is converted by ``row`` as soon as it arrives. With ``whole``, a row with a null raises ``TornRead``.
    """

    @neo4j.unit_of_work(metadata={"app": APPLICATION, "op": operation}, timeout=timeout_s)
    def run(transaction: neo4j.ManagedTransaction) -> T:
        def execute(text: str, parameters: Mapping[str, Any]) -> list[R]:
            result = transaction.run(text, dict(parameters))  # pyright: ignore[reportArgumentType]
            columns = result.keys()
            rows = []
            for record in result:
                values = record.values()
                if whole and None in values:
                    raise TornRead
                rows.append(row(dict(zip(columns, values, strict=True))))
            return rows

        return work(execute)

    return run


def _keep_row(row: dict[str, Any]) -> dict[str, Any]:
    return row


@contextmanager
def _convert_driver_errors(address: str, database: str | None, began: float) -> Iterator[None]:
    """Raise the driver's errors as ours. ``began`` is the time of the first try."""
    try:
        yield
    except (exceptions.Neo4jError, exceptions.DriverError) as exc:
        seconds = time.monotonic() - began
        raise (_to_unavailable(exc, address, seconds) or _to_error(exc, address, database)) from exc


def _to_unavailable(
    exc: exceptions.Neo4jError | exceptions.DriverError, address: str, seconds: float
) -> StoreUnavailable | None:
    """Return the error if no server answered, or no usable member of a cluster; None for any other error."""
    code = getattr(exc, "code", None) or ""
    lacks = (exceptions.ReadServiceUnavailable, exceptions.WriteServiceUnavailable)
    if code.startswith(UNSERVED) or isinstance(exc, lacks) or isinstance(exc.__cause__, lacks):
        return StoreUnavailable(
            f"Expected a leader and up-to-date followers in the cluster at {address}, got none within "
            f"{seconds:.1f} s. Read its servers' logs, then repeat the call: nothing is stored twice.",
            address=address,
            code=code,
        )
    if isinstance(exc, exceptions.ServiceUnavailable | exceptions.SessionExpired | exceptions.ConnectionPoolError):
        return StoreUnavailable(
            f"Expected a Neo4j at {address}, got no answer within {seconds:.1f} s. Start one with "
            '"memgraph-rag neo4j start", or use a file: Memory("notes.lbug").',
            address=address,
        )
    return None


def _to_error(exc: exceptions.Neo4jError | exceptions.DriverError, address: str, database: str | None) -> StoreError:
    code = getattr(exc, "code", None) or ""
    if code.endswith("DatabaseNotFound"):
        return StoreAccessDenied(
            f"Expected a database named {show(database)} at {address}, got none. Name another, or leave database "
            "out for the user's own.",
            address=address,
            database=database,
        )
    if code.endswith("AuthenticationRateLimit"):
        return StoreAccessDenied(
            f"Expected a password check by {address}, got a refusal for some seconds, after several wrong passwords. "
            "Wait, then try with the right one.",
            address=address,
        )
    if isinstance(exc, exceptions.AuthError) or code.startswith(DENIED):
        return StoreAccessDenied(
            f"Expected a user and password that {address} knows, got others: they were refused. Check user= and "
            "password=, or NEO4J_USERNAME and NEO4J_PASSWORD.",
            address=address,
        )
    if isinstance(exc, exceptions.DatabaseUnavailable):
        return StoreUnavailable(
            f"Expected the database {show(database)} at {address} to run, got a stopped one. Start it, or read the "
            "server's log.",
            address=address,
            database=database,
        )
    reason = (getattr(exc, "message", None) or str(exc)).splitlines()[0][:300]
    return StoreError(
        f"Expected Neo4j at {address} to run a statement, got {code or type(exc).__name__}: {reason}",
        address=address,
        code=code,
    )
