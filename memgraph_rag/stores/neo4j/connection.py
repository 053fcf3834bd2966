"""One connection to a Neo4j server: transactions on it, and its errors in our words.

It knows neither documents nor namespaces. The invariants: every transaction is managed, has a timeout, and says by
its metadata which operation it serves, never a text or a password; a read sees every write made before it through
the same connection, what earlier reads saw, and, but on a connection for reading only, what anybody wrote before it
was opened, also on a cluster's followers; no transaction is begun later than ``RETRY_S`` after the first try of it; a
child that is forked says nothing on its parent's sockets.
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

__all__ = ["Execute", "Neo4jConnection", "connect", "run_alone"]

R = TypeVar("R")
T = TypeVar("T")

Execute = Callable[[str, Mapping[str, Any]], list[dict[str, Any]]]

APPLICATION = "memgraph_rag"
READ_TIMEOUT_S = 60.0
WRITE_TIMEOUT_S = 600.0
RETRY_S = 30.0  # in which a transaction is tried again, after a lost connection or a deadlock
SHORTEST_WAIT_S, LONGEST_WAIT_S = 0.02, 4.0  # between two tries, doubled each time, of which a random part is waited
TORN_READS = 5  # tries after which a null is taken for what it says

LOGGER = logging.getLogger(__name__)
DRIVER_LOGGER = logging.getLogger("neo4j")

DENIED = ("Neo.ClientError.Security.", "Neo.ClientError.Database.DatabaseNotFound")
UNSERVED = (
    "Neo.ClientError.Cluster.",
    "Neo.TransientError.Cluster.",
    "Neo.TransientError.Transaction.BookmarkTimeout",
    "Neo.TransientError.Transaction.LeaseExpired",
)
"""What members of a cluster say that has no leader at the moment, or followers that do not keep up."""


def connect(
    address: str,
    *,
    auth: tuple[str, SecretStr] | None,
    database: str | None,
    timeout_s: float,
    read_only: bool = False,
) -> Neo4jConnection:
    """A connection that has answered; tried again until the timeout, for a server may be starting.

    Args:
        read_only: of a cluster any follower will do. Else its leader is asked first, whose bookmark later reads wait
            for: else two openings, one just after the other, could find different schemas.

    Raises:
        StoreUnavailable: nobody answered in time.
        StoreAccessDenied: wrong user, password or database.
    """
    if not DRIVER_LOGGER.handlers:  # else Python prints the driver's errors, of which ours tells already
        DRIVER_LOGGER.addHandler(logging.NullHandler())
    retrying = Retrying(
        retry=retry_if_exception(_passes),
        stop=stop_before_delay(timeout_s),
        wait=wait_exponential(multiplier=0.1, max=1.0),
        reraise=True,
    )
    try:
        with _in_our_words(address, database, time.monotonic()):
            return retrying(_connect_once, address, auth, database, timeout_s, read_only)
    except StoreError as error:
        _forget_frames(error.__cause__)
        raise


def run_alone(
    statement: queries.Statement,
    parameters: Mapping[str, Any],
    address: str,
    *,
    auth: tuple[str, SecretStr] | None,
    database: str,
    timeout_s: float,
) -> None:
    """Run one statement that commits by itself, as those of administration that wait do; it is not repeated.

    Args:
        database: it may be "system", of which ``connect`` can ask nothing.

    Raises:
        StoreError: as ``connect`` does, or the server refused the statement; ``code`` is what it says.
    """
    try:
        with (
            _in_our_words(address, database, time.monotonic()),
            _driver(address, auth, timeout_s) as driver,
            driver.session(database=database) as session,
        ):
            session.run(_query(statement.text, statement.name, WRITE_TIMEOUT_S), dict(parameters)).consume()
    except StoreError as error:
        _forget_frames(error.__cause__)
        raise


def _forget_frames(error: BaseException | None) -> None:
    """Drop the frames of the driver's errors: their variables hold the password, and some tools show variables."""
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
        # Not a managed transaction, which may be tried again when it fails.
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
        max_transaction_retry_time=0,  # it counts from the first failure, and may then wait for longer than that
        notifications_min_severity="OFF",  # on an empty database each label is unknown, and said so to the log
        telemetry_disabled=True,
        user_agent=APPLICATION,
    )


def _query(text: str, operation: str, timeout_s: float = READ_TIMEOUT_S) -> neo4j.Query:
    metadata = {"app": APPLICATION, "op": operation}
    # The driver's types ask for literal texts; ours come from files of this package.
    return neo4j.Query(text, metadata=metadata, timeout=timeout_s)  # pyright: ignore[reportArgumentType]


class Neo4jConnection:
    """A driver bound to one database. Made by ``connect``; may be used from several threads."""

    def __init__(self, driver: neo4j.Driver, *, address: str, database: str | None, version: str) -> None:
        self.address = address
        self.version = version
        self.process = OpeningProcess(address)
        self._driver = driver
        self.database = database
        self._bookmarks = driver.execute_query_bookmark_manager

    def read(self, operation: str, work: Callable[[Execute], T]) -> T:
        """What ``work`` returns, in one reading transaction; it may be called again after a lost connection."""
        return self._read(operation, READ_TIMEOUT_S, work, _as_it_is)

    def stream(
        self, operation: str, text: str, parameters: Mapping[str, Any], row: Callable[[Mapping[str, Any]], T]
    ) -> list[T]:
        """The rows of one statement, each made into what it is to be as soon as it arrives."""
        return self._read(operation, WRITE_TIMEOUT_S, lambda execute: execute(text, parameters), row)

    def _read(
        self,
        operation: str,
        timeout_s: float,
        work: Callable[[Callable[[str, Mapping[str, Any]], list[R]]], T],
        row: Callable[[dict[str, Any]], R],
    ) -> T:
        """Read again what was deleted while it was read.

        Neo4j isolates little: a node that somebody deletes after a statement found it has null in place of what it
        said. No statement of ours gives null otherwise; should one, its rows are taken after some tries.
        """
        torn = 0

        def once(session: neo4j.Session) -> T:
            nonlocal torn
            try:
                return session.execute_read(_unit_of_work(operation, timeout_s, work, row, whole=torn < TORN_READS))
            except TornRead:
                torn += 1
                raise

        return self._until_done(neo4j.READ_ACCESS, operation, once)

    def write(self, operation: str, work: Callable[[Execute], T]) -> T:
        """What ``work`` returns, after all of it is committed; nothing of it where it raises.

        It may be called again after a lost connection or a deadlock, and after a commit whose answer was lost: so
        ``work`` must leave the same graph when it is done twice. What it returned first is then what is true, and an
        error of ours that only the second time raises (what is forgotten cannot be forgotten again) is none.

        Raises:
            StoreUnavailable: nobody answered any more; whether the last try was committed is then not known.
        """
        unanswered: list[T] = []
        finished: list[T] = []

        def remember(execute: Execute) -> T:
            finished[:] = [work(execute)]
            return finished[0]

        def once(session: neo4j.Session) -> T:
            try:
                return session.execute_write(_unit_of_work(operation, WRITE_TIMEOUT_S, remember, _as_it_is))
            except exceptions.IncompleteCommit:
                unanswered.extend(finished)
                raise

        try:
            done = self._until_done(neo4j.WRITE_ACCESS, operation, once)
        except MemgraphRagError as error:
            if not unanswered or isinstance(error, StoreError):
                raise
            return unanswered[0]
        return unanswered[0] if unanswered else done

    def close(self) -> None:
        """Let go of the server; in a forked child say no farewell on the parent's sockets."""
        if self.process.is_current:
            self._driver.close()
        else:
            keep_for_ever(self._driver)

    def _until_done(self, access: str, operation: str, once: Callable[[neo4j.Session], T]) -> T:
        """The result of a transaction, which is begun again after a lost connection, a deadlock or a torn read.

        The driver's own retries are not used: they count their time from the first failure, may wait half a minute
        after it is over, and give up where the end of a transaction was not answered, even of a reading one.
        """
        self.process.require()
        retrying = Retrying(
            retry=retry_if_exception(_passes),
            stop=_is_late,
            wait=wait_random_exponential(multiplier=SHORTEST_WAIT_S, max=LONGEST_WAIT_S),
            before_sleep=lambda state: _tell(operation, state),
            reraise=True,
        )
        with _in_our_words(self.address, self.database, time.monotonic()):
            return retrying(self._once, access, once)

    def _once(self, access: str, once: Callable[[neo4j.Session], T]) -> T:
        with (
            self._driver.session(
                database=self.database, default_access_mode=access, bookmark_manager=self._bookmarks
            ) as session,
            ExitStack() as stack,
        ):
            stack.push(partial(_abandon_interrupted, session))
            return once(session)


def _abandon_interrupted(session: neo4j.Session, kind: type[BaseException] | None, *_: object) -> None:
    """After Ctrl-C, perhaps in the middle of a message, break the session's connection off without a farewell.

    With half a message in it the connection would let whoever uses it next wait for the other half; and to end the
    transaction in good order is to wait for all of its answer. For a task that is cancelled the driver does this
    itself; threads are given no public way to it.
    """
    if kind is not None and not issubclass(kind, Exception):
        session._handle_cancellation(message="interrupted")


class TornRead(Exception):
    """What was read was deleted meanwhile."""


def _passes(error: BaseException) -> bool:
    """Whether it may go well the next time; all of our transactions may be repeated."""
    if isinstance(error, exceptions.Neo4jError | exceptions.DriverError):
        return isinstance(error, exceptions.IncompleteCommit) or error.is_retryable()
    return isinstance(error, TornRead)


def _is_late(state: RetryCallState) -> bool:
    """Whether the time for another try is over; a torn read needs few, and always gets them."""
    torn = state.outcome is not None and isinstance(state.outcome.exception(), TornRead)
    return not torn and stop_before_delay(RETRY_S)(state)


def _tell(operation: str, state: RetryCallState) -> None:
    """Log why a transaction is begun again, without the server's words, in which a text may be."""
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
    """A transaction's function: ``work``, given what runs a statement and makes each row as soon as it arrives.

    Where rows must be ``whole``, one with a null in it is a ``TornRead``.
    """

    @neo4j.unit_of_work(metadata={"app": APPLICATION, "op": operation}, timeout=timeout_s)
    def run(transaction: neo4j.ManagedTransaction) -> T:
        def execute(text: str, parameters: Mapping[str, Any]) -> list[R]:
            result = transaction.run(text, dict(parameters))  # pyright: ignore[reportArgumentType]
            columns = result.keys()
            made = []
            for record in result:
                values = record.values()
                if whole and None in values:
                    raise TornRead
                made.append(row(dict(zip(columns, values, strict=True))))
            return made

        return work(execute)

    return run


def _as_it_is(row: dict[str, Any]) -> dict[str, Any]:
    return row


@contextmanager
def _in_our_words(address: str, database: str | None, began: float) -> Iterator[None]:
    """The driver's errors as ours; ``began`` is when the first try did."""
    try:
        yield
    except (exceptions.Neo4jError, exceptions.DriverError) as exc:
        seconds = time.monotonic() - began
        raise (_unavailable(exc, address, seconds) or _error(exc, address, database)) from exc


def _unavailable(
    exc: exceptions.Neo4jError | exceptions.DriverError, address: str, seconds: float
) -> StoreUnavailable | None:
    """What to tell where nobody answered, or of a cluster nobody who could serve; None where it is something else."""
    code = getattr(exc, "code", None) or ""
    lacks = (exceptions.ReadServiceUnavailable, exceptions.WriteServiceUnavailable)
    if code.startswith(UNSERVED) or isinstance(exc, lacks) or isinstance(exc.__cause__, lacks):
        return StoreUnavailable(
            f"Expected a leader and followers that keep up with it in the cluster at {address}, got none within "
            f"{seconds:.1f} s. Look into its servers' logs, then make the call again: nothing is stored twice.",
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


def _error(exc: exceptions.Neo4jError | exceptions.DriverError, address: str, database: str | None) -> StoreError:
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
            f"{address} refuses to check passwords for some seconds, after several wrong ones. Wait, then try with "
            "the right one.",
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
            f"Expected the database {show(database)} at {address} to run, got one that is stopped. Start it, or look "
            "into the server's log.",
            address=address,
            database=database,
        )
    reason = (getattr(exc, "message", None) or str(exc)).splitlines()[0][:300]
    return StoreError(
        f"Neo4j at {address} failed. It says {code or type(exc).__name__}: {reason}", address=address, code=code
    )
