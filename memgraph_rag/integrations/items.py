"""Items of a framework (an id, a text and a JSON value), stored as documents of a memory.

It knows no framework. An item is one document. The document's text is the item's text, so searches of the memory find
it; the metadata hold collection, id, order and value. Invariants: an item is read exactly as it was put, whatever
characters it has; items of one collection never appear in another; a replaced item keeps its order; a document that
was not stored as an item, such as a file whose front matter looks like one, is none.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, DocumentNotFound
from memgraph_rag.memory import Memory
from memgraph_rag.types import Document, DocumentRecord, Evidence, Failure, MetadataValue, Turn

MAX_QUERY = 20_000
"""Most characters of a query; of a longer one the end is searched for, where a conversation asks."""

_BLANK = "-"
"""Stands for a text without words, which a memory does not store."""

_LONGEST_KEY = 400
_MOST_RESULTS = 1_000_000
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Item:
    """A stored item; ``order`` grows with every new one, and is the time of its first put in nanoseconds."""

    id: Any
    value: Any
    order: int
    key: str
    exact: str | None


class Items:
    """The items of one collection.

    Args:
        collection: first part of the documents' keys, and "collection" in their metadata.

    Ids are what JSON can hold: a str, or a list of them.
    """

    def __init__(self, memory: Memory, collection: str) -> None:
        self.memory = memory
        self.collection = collection
        self.lock = threading.RLock()
        self._last_order = 0

    def put(
        self,
        id: Any,  # noqa: A002 - the word of every framework
        text: str,
        value: Any,
        *,
        speaker: str = "",
        time: str = "",
        before: Item | None = None,
        **metadata: MetadataValue,
    ) -> Item:
        """Store an item in place of the item with its id, and return it.

        Args:
            text: what searches read; may be empty.
            value: what JSON can hold, up to 64 KiB of it with the metadata.
            speaker, time: of a chat message, which is then searched as such.
            before: the stored item, whose place in the order the new one keeps. Without it the item comes last, even if
                another has its id.

        Raises:
            DocumentError: it is too large, or JSON cannot hold the value.
        """
        document = self._document(id, text, value, before=before, speaker=speaker, time=time, metadata=metadata)
        self.memory.add(document)
        return _read_item(document.key, document.metadata)

    def put_many(self, entries: Iterable[tuple[Any, str, Any, Item | None]]) -> None:
        """Store items, each as (id, text, value, ``before`` as in ``put``); their texts are embedded together.

        Raises:
            DocumentError: the error of the first item that could not be stored; the others are stored. If JSON cannot
                hold a value, nothing is stored.
        """
        documents = [self._document(id_, text, value, before=before) for id_, text, value, before in entries]
        failures = [outcome for outcome in self.memory.add_many(documents) if isinstance(outcome, Failure)]
        if failures:
            raise failures[0].error

    def _document(
        self,
        id_: Any,
        text: str,
        value: Any,
        *,
        before: Item | None,
        speaker: str = "",
        time: str = "",
        metadata: Mapping[str, MetadataValue] = MappingProxyType({}),
    ) -> Document:
        stored = text if text.strip() else _BLANK
        fields: dict[str, MetadataValue] = {
            **metadata,
            "collection": self.collection,
            "item": json.dumps(id_),
            "order": self.next_order() if before is None else before.order,
            "value": as_json(value, id_),
        }
        if stored != text or _UNSTORABLE.search(text):
            fields["exact"] = json.dumps(text)
        turns = (Turn(0, len(stored), speaker, time),) if speaker or time else ()
        return Document(stored, self.key(id_), metadata=fields, turns=turns)

    def get(self, id: Any) -> Item | None:  # noqa: A002
        """Return the item with this id, or None."""
        try:
            (record,) = self.memory.documents(documents=[self.key(id)])
        except DocumentNotFound:
            return None
        return self._item(record)

    def text(self, item: Item) -> str:
        """Return the text that is stored under the item's key now, exactly as it was put.

        A text that the item itself carries (``exact``) is returned without reading, even after a deletion or
        replacement.

        Raises:
            DocumentNotFound: the item does not carry its text, and was deleted meanwhile.
        """
        return self.memory.get(item.key).text if item.exact is None else item.exact

    def delete(self, id: Any) -> bool:  # noqa: A002
        """Delete an item, and return whether it existed."""
        try:
            self.memory.forget(self.key(id))
        except DocumentNotFound:
            return False
        return True

    def all(self, **metadata: MetadataValue) -> list[Item]:
        """Return the items with all of these metadata, in the order of adding.

        Reads every document of the namespace.
        """
        records = [record for record in self.memory.documents() if metadata.items() <= record.metadata.items()]
        return sorted(filter(None, map(self._item, records)), key=lambda item: item.order)

    def search(self, query: str, items: Iterable[Item], *, k: int, mode: str = "graph") -> list[tuple[Item, Evidence]]:
        """Return up to ``k`` of these items that are most relevant to a query, each with its best passage, best first.

        Items without text are left out. Empty for a blank query. Of a query of more than ``MAX_QUERY`` characters only
        the end is searched for.
        """
        by_key = {item.key: item for item in items if item.exact is None or item.exact.strip()}
        if not by_key or k < 1 or not query.strip():
            return []
        best = self._best(query[-MAX_QUERY:], list(by_key), k, mode)
        return [(by_key[key], evidence) for key, evidence in best]

    def key(self, id: Any) -> str:  # noqa: A002
        """Return the key of an item's document, stored or not: collection and id, or a hash of a long id."""
        written = id if isinstance(id, str) else json.dumps(id)
        if len(written) > _LONGEST_KEY or _UNSTORABLE.search(written):
            framed = json.dumps(id).encode()
            written = f"sha256 {hashlib.sha256(framed).hexdigest()}"
        return f"{self.collection}:{written}"

    def _item(self, record: DocumentRecord) -> Item | None:
        """Return the item in a document; None unless the document's key is the item's, and its metadata are whole."""
        if record.metadata.get("collection") != self.collection:
            return None
        try:
            item = _read_item(record.key, record.metadata)
        except (KeyError, TypeError, ValueError, RecursionError):
            return None
        return item if item.key == self.key(item.id) else None

    def _best(self, query: str, keys: Sequence[str], k: int, mode: str) -> list[tuple[str, Evidence]]:
        """Return the best passage of each of k documents. The search grows until it reaches k documents."""
        count = k
        while True:
            evidence = self.memory.search(query, k=count, mode=mode, documents=keys)
            best: dict[str, Evidence] = {}
            for passage in evidence:
                best.setdefault(passage.document_key, passage)
            if len(best) >= min(k, len(keys)) or len(evidence) < count or count == _MOST_RESULTS:
                return list(best.items())[:k]
            count = min(count * 4, _MOST_RESULTS)

    def next_order(self) -> int:
        """Return a number above all earlier results of this method in this process."""
        with self.lock:
            self._last_order = max(self._last_order + 1, time.time_ns())
            return self._last_order


def as_json(value: Any, id: Any) -> str:  # noqa: A002
    """Return the value as JSON text.

    Raises:
        DocumentError: JSON cannot hold the value.
    """
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as exc:
        raise DocumentError(
            f"Expected a value that JSON can hold under {show(id)}, got {show(exc)}. Convert it before it is stored.",
            id=id,
        ) from exc


def _read_item(key: str, metadata: Mapping[str, Any]) -> Item:
    """Return the item of a document with these metadata.

    Raises:
        KeyError, TypeError, ValueError, RecursionError: the metadata are not those of an item.
    """
    exact = metadata.get("exact")
    return Item(
        id=json.loads(metadata["item"]),
        value=json.loads(metadata["value"]),
        order=int(metadata["order"]),
        key=key,
        exact=None if exact is None else json.loads(exact),
    )
