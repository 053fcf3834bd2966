"""A Neo4j cluster as a driver sees it: doors to one real server, one of them the leader's, the others followers'.

The server answers all messages. What a cluster would answer otherwise is changed on the way back: the routing table,
and what a follower says to a write. It knows the protocol and nothing of graphs. What it is not: members that have
different data. The invariant: a write is committed through the door of the leader only.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from bolt_messages import ANSWER_BYTES, HANDSHAKE_BYTES, MANIFEST, NO_VERSION, Message, Messages, message
from fault_proxy import CHUNK, Direction, Link, Proxy
from fault_world import Place

NOT_A_LEADER = "Neo.ClientError.Cluster.NotALeader"
LAGS = "Neo.TransientError.Transaction.BookmarkTimeout"
NONSENSE = message("RUN", "no statement", {}, {})
"""Goes to the server in place of what is refused, so that it fails there too and its answers stay in order."""

Moment = Literal["BEGIN", "RUN", "COMMIT", "COMMITTED"]
"""Before a message of a writing transaction reaches a member, or before the answer to its commit leaves it."""

Change = Callable[[Message], Message]
"""What the client is answered in place of the server's answer."""


@dataclass
class Transaction:
    """One transaction as a member saw it; ``bookmark`` is what its commit was answered with."""

    member: int
    mode: str
    operation: str
    bookmarks: frozenset[str]
    statements: int = 0
    bookmark: str = ""
    is_refused: bool = False


@dataclass
class Conversation:
    """What was said on one connection: the open transaction, and how answers that are awaited will be changed."""

    link: Link
    transaction: Transaction | None = None
    awaited: deque[Change] = field(default_factory=deque)


class Member(Proxy):
    """One door to the server.

    Attributes:
        complaint: the code of the error that every transaction is answered with from its beginning; empty for none.
    """

    def __init__(self, cluster: Cluster, number: int, server: tuple[str, int]) -> None:
        self.cluster, self.number, self.complaint = cluster, number, ""
        super().__init__(*server)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def vanish(self) -> None:
        """End all connections; new ones are refused."""
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes who waits for a connection; closing alone does not
        self.close()

    def come_back(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._open = True
        threading.Thread(target=self._accept, daemon=True).start()

    def _pump(self, link: Link, direction: Direction) -> None:
        if direction == "down":
            return  # begins after the handshake
        try:
            proposals = _exactly(link.client, HANDSHAKE_BYTES)
            link.server.sendall(proposals.replace(MANIFEST, NO_VERSION))
            link.client.sendall(_exactly(link.server, ANSWER_BYTES))
            talk = Conversation(link)
            threading.Thread(target=self._answer, args=(talk,), daemon=True).start()
            for request in _messages(link.client):
                passed, change = self.cluster.requested(self, talk, request)
                if request.is_answered:
                    talk.awaited.append(change)
                link.server.sendall(passed.bytes)
            link.server.shutdown(socket.SHUT_WR)
        except OSError:
            link.reset()

    def _answer(self, talk: Conversation) -> None:
        try:
            for answer in _messages(talk.link.server):
                changed = answer if answer.name == "RECORD" else talk.awaited.popleft()(answer)
                talk.link.client.sendall(changed.bytes)
            talk.link.client.shutdown(socket.SHUT_WR)
        except OSError:
            talk.link.reset()


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = source.recv(count - len(data))
        if not more:
            raise ConnectionResetError
        data += more
    return data


def _messages(source: socket.socket) -> Iterator[Message]:
    incoming = Messages()
    while data := source.recv(CHUNK):
        yield from incoming.take(data)


def _unchanged(answer: Message) -> Message:
    return answer


class Cluster:
    """Three members, of which the first leads at first.

    Attributes:
        leader: the number of the member that takes writes; None while there is none.
        ttl_s: how long a routing table may be used.
        transactions: what the members saw, in order of beginning.
        tables: how many routing tables were given.
    """

    def __init__(self, host: str, port: int, *, size: int = 3) -> None:
        self.leader: int | None = 0
        self.ttl_s = 300
        self.transactions: list[Transaction] = []
        self.tables = 0
        self._lock = threading.Lock()
        self._plan: tuple[Moment, Iterator[int], Callable[[], object]] | None = None
        self.members = [Member(self, number, (host, port)) for number in range(size)]

    @property
    def followers(self) -> list[Member]:
        return [member for member in self.members if member.number != self.leader]

    @property
    def is_struck(self) -> bool:
        """Whether what was planned last has happened."""
        return self._plan is None

    def plan(self, moment: Moment, after: int, act: Callable[[], object]) -> None:
        """Do that at such a moment of a writing transaction, after so many further ones."""
        with self._lock:
            self._plan = moment, iter(range(after)), act

    def heal(self) -> None:
        """No plan and no complaint any more; who had vanished is back."""
        self._plan = None
        for member in self.members:
            member.complaint = ""
            if not member._open:
                member.come_back()

    def close(self) -> None:
        for member in self.members:
            if member._open:
                member.vanish()

    def requested(self, member: Member, talk: Conversation, request: Message) -> tuple[Message, Change]:
        """What goes to the server, and what becomes of its answer."""
        if request.name == "ROUTE":
            return request, self._route
        if request.name == "BEGIN":
            (extra,) = request.fields
            self._begin(member, talk, extra)
        elif request.name == "RUN" and talk.transaction is None:
            self._begin(member, talk, request.fields[2])
            begun, talk.transaction = talk.transaction, None  # it commits by itself
            return self._refused(member, begun) or (request, _unchanged)
        transaction = talk.transaction
        if transaction is None:
            return request, _unchanged
        if request.name in ("ROLLBACK", "RESET"):
            talk.transaction = None
            return request, _unchanged
        if request.name in ("BEGIN", "RUN", "COMMIT"):
            if transaction.mode == "w":
                self._reach(request.name)
            if refused := self._refused(member, transaction, is_begun=request.name != "BEGIN"):
                return refused
            transaction.statements += request.name == "RUN"
        if request.name == "COMMIT":
            talk.transaction = None
            return request, lambda answer: self._committed(transaction, answer)
        return request, _unchanged

    def _begin(self, member: Member, talk: Conversation, extra: dict[str, object]) -> None:
        operation = extra.get("tx_metadata", {}).get("op", "")
        bookmarks = frozenset(extra.get("bookmarks", ()))
        talk.transaction = Transaction(member.number, extra.get("mode", "w"), operation, bookmarks)
        self.transactions.append(talk.transaction)

    def _refused(
        self, member: Member, transaction: Transaction, *, is_begun: bool = True
    ) -> tuple[Message, Change] | None:
        """What to send instead, where this member does not serve this transaction."""
        if member.complaint:
            code = member.complaint
        elif is_begun and transaction.mode == "w" and member.number != self.leader:
            code = NOT_A_LEADER
        else:
            return None
        transaction.is_refused = True
        refusal = message("FAILURE", _failure(code))
        return NONSENSE, lambda answer: refusal if answer.name == "FAILURE" else answer

    def _reach(self, moment: Moment) -> None:
        with self._lock:
            if self._plan is None or self._plan[0] != moment or next(self._plan[1], None) is not None:
                return
            act, self._plan = self._plan[2], None
        act()

    def _committed(self, transaction: Transaction, answer: Message) -> Message:
        if answer.name == "SUCCESS":
            transaction.bookmark = answer.fields[0].get("bookmark", "")
            if transaction.mode == "w":
                self._reach("COMMITTED")
        return answer

    def _route(self, answer: Message) -> Message:
        if answer.name != "SUCCESS":
            return answer
        self.tables += 1
        table = answer.fields[0]["rt"]
        leading = [] if self.leader is None else [self.members[self.leader].address]
        servers = {
            "WRITE": leading,
            "READ": [member.address for member in self.followers],
            "ROUTE": [member.address for member in self.members],
        }
        told = [{"role": role, "addresses": addresses} for role, addresses in servers.items()]
        return message("SUCCESS", {"rt": {**table, "ttl": self.ttl_s, "servers": told}})


def _failure(code: str) -> dict[str, object]:
    """As Bolt 5.7 and later tell it (``neo4j_code`` …), and as those before do (``code``)."""
    text = "The member was told to refuse it."
    status = {"gql_status": "50N42", "description": text, "diagnostic_record": {}}
    return {"code": code, "neo4j_code": code, "message": text, **status}


@contextmanager
def cluster_of(place: Place) -> Iterator[tuple[Cluster, Place]]:
    """A cluster before the server of that place, and the place as the cluster's client sees it."""
    server = urlsplit(place.address["address"])
    cluster = Cluster(server.hostname or "", server.port or 7687)
    routed = f"neo4j://{cluster.members[0].address}"
    try:
        yield cluster, Place({**place.address, "address": routed}, place.namespace, place.cache)
    finally:
        cluster.close()
