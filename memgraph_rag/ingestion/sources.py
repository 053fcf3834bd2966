"""Loads the sources of the user as documents, gives each its key, and groups documents that are built together.

It knows loading and the fingerprints of a store; it builds and writes nothing. Invariants: a source that cannot be
loaded becomes a ``Failure`` and does not stop the others. All spellings of a path get the same key. No two documents of
a group have the same key.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from pathlib import Path

from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.stores import open_place
from memgraph_rag.text.chat import count_unread_times
from memgraph_rag.text.files import read
from memgraph_rag.text.loading import ReadFile, Source, load
from memgraph_rag.text.paths import expand_home, spellings
from memgraph_rag.text.session_pages import is_page_key
from memgraph_rag.types import (
    Document,
    DocumentRecord,
    Failure,
    Fingerprint,
    MetadataValue,
    make_id,
    shorten,
    text_hash,
)

_MOST_DESCRIBED = 60  # characters of the name of a source that could not be loaded
_MOST_SAME = 16  # keys in ``same_as`` of a receipt


@dataclass(frozen=True, slots=True)
class GroupSize:
    """The size at which a group is full: a number of documents or a number of characters."""

    documents: int
    characters: int


@dataclass(frozen=True, slots=True)
class Request:
    """One source to add, with the arguments of ``Memory.add``."""

    source: Source
    key: str | None = None
    title: str | None = None
    metadata: Mapping[str, MetadataValue | date] | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document to add.

    Attributes:
        has_key, has_title, has_metadata: whether the user gave this part.
        files: all spellings of the path of its file (``paths.spellings``); empty for text.
        text_sha256: ``text_hash`` of its text.
        same_as: the keys of other documents with the same text.
        unread_times: the number of its messages whose time was not understood.
        is_new: whether the store certainly holds no document with its key.
        has_hash: whether its key is a hash of its text.
    """

    document: Document
    has_key: bool
    has_title: bool
    has_metadata: bool
    files: tuple[str, ...]
    text_sha256: str
    same_as: tuple[str, ...] = ()
    unread_times: int = 0
    is_new: bool = False
    has_hash: bool = False

    @property
    def key(self) -> str:
        """The key of the document."""
        return self.document.key

    def merge_stored(self, stored: DocumentRecord) -> Document:
        """Return the document with its stored metadata and, if the text is equal, title, where the user gave none.

        The fields of a file's front matter replace stored ones of the same name.
        """
        own = self.document.metadata
        metadata = own if self.has_metadata else {**stored.metadata, **own}
        as_read = (self.document, replace(self.document, reading=0))
        is_same = stored.sha256 in [hash_changed(document, stored.title, stored.metadata) for document in as_read]
        title = stored.title if is_same and not self.has_title else self.document.title
        return replace(self.document, title=title, metadata=metadata)


Item = Loaded | DocumentRecord | Failure
"""An item of ingestion: a document to add, a stored document to deepen, or a source that failed."""


def load_request(request: Request, read_file: ReadFile = read) -> Loaded | Failure:
    """Load the document of a request, or return a ``Failure``.

    All parts of a ``Document`` count as given by the user. A file of an open store is refused without reading it.
    """
    source = request.source
    try:
        if isinstance(source, Path):
            _refuse_open_store(source)
        document = load(source, key=request.key, title=request.title, metadata=request.metadata, read_file=read_file)
        _refuse_page_key(document.key)
    except MemgraphRagError as error:
        return Failure(_describe(source), error)
    is_whole = isinstance(source, Document)
    return Loaded(
        document,
        has_key=request.key is not None or not isinstance(source, Path),
        has_title=is_whole or request.title is not None,
        has_metadata=is_whole or request.metadata is not None,
        files=spellings(source) if isinstance(source, Path) else tuple(filter(None, [document.source])),
        text_sha256=text_hash(document.text),
        unread_times=count_unread_times(source, document.turns),
        has_hash=request.key is None and not isinstance(source, (Path, Document)),
    )


def _refuse_open_store(path: Path) -> None:
    if (place := open_place(expand_home(path))) is not None:
        raise DocumentError(
            f"Expected a file to add, got {show(path)}, a part of the open store {show(place)}. Name another file.",
            path=path,
        )


def _refuse_page_key(key: str) -> None:
    """Check that a key is not reserved for a page of a session, which could then not store its turns."""
    if is_page_key(key):
        raise DocumentError(
            f"Expected a key of your own, got {show(key)}, which is reserved for a page of a session. Pass another "
            "key=…, or store turns with Memory.session.",
            key=key,
        )


def group_items(items: Iterable[Item], store: GraphStore, size: GroupSize, *, ahead: int) -> Iterator[list[Item]]:
    """Yield the items in groups, each with its key. Each group costs one query.

    A group ends with the item that fills it, which may be long, and before an item whose key it has already.

    Args:
        ahead: the number of previous groups that may not be stored yet when a group is yielded.
    """
    keys = _Keys(store, ahead)
    for group in _cut_groups(items, size):
        yield from _split_at_same_keys(keys.assign_keys(group))


class _Keys:
    """Gives files the keys that they have in the store, and finds documents with the same text.

    It remembers the current group and the previous groups that may not be stored yet.
    """

    def __init__(self, store: GraphStore, ahead: int) -> None:
        self._store = store
        self._key_of_file: deque[dict[str, str]] = deque(maxlen=ahead + 1)
        self._text_of_key: deque[dict[str, str]] = deque(maxlen=ahead + 1)

    def assign_keys(self, group: Sequence[Item]) -> list[Item]:
        """Return the group, with the keys under which its files are stored or were loaded before."""
        loaded = [item for item in group if isinstance(item, Loaded)]
        if not loaded:
            return list(group)
        stored = self._store.find_fingerprints(
            sources=[file for item in loaded if not item.has_key for file in item.files],
            text_hashes=[item.text_sha256 for item in loaded],
            document_ids=[make_id(self._store.namespace, "document", item.key) for item in loaded],
        )
        waiting = {fingerprint.key for fingerprint in stored}.union(*self._text_of_key)
        self._key_of_file.appendleft({})
        keyed = [self._assign_key(item, stored) if isinstance(item, Loaded) else item for item in group]
        self._text_of_key.append({item.key: item.text_sha256 for item in keyed if isinstance(item, Loaded)})
        keys_of_text = _keys_by_text(stored, dict(chain.from_iterable(map(dict.items, self._text_of_key))))
        times = Counter(item.key for item in keyed if isinstance(item, Loaded))
        return [
            replace(_mark_same(item, keys_of_text), is_new=times[item.key] == 1 and item.key not in waiting)
            if isinstance(item, Loaded)
            else item
            for item in keyed
        ]

    def _assign_key(self, item: Loaded, stored: Sequence[Fingerprint]) -> Loaded:
        """Return the document with the key that its file has already, unless the user gave a key."""
        if not item.has_key:
            key = next((known[file] for file in item.files for known in self._key_of_file if file in known), None)
            key = key or _find_stored_key(item, stored)
            item = replace(item, document=replace(item.document, key=key or item.key))
        recent = self._key_of_file[0]
        recent.update({file: item.key for file in item.files if file not in recent})
        return item


def _find_stored_key(item: Loaded, stored: Sequence[Fingerprint]) -> str | None:
    """Return the key under which a file is stored, or None. Of several keys, its own spelling has precedence."""
    keys = [
        (fingerprint.key != item.key, item.files.index(fingerprint.source), fingerprint.key)
        for fingerprint in stored
        if fingerprint.source in item.files
    ]
    return min(keys)[-1] if keys else None


def _keys_by_text(stored: Iterable[Fingerprint], recent: dict[str, str]) -> dict[str, set[str]]:
    """Return the keys of documents by the hash of their text. ``recent`` (hashes by key) overrides the stored text."""
    texts = {fingerprint.key: fingerprint.text_sha256 for fingerprint in stored} | recent
    keys: dict[str, set[str]] = {}
    for key, text_sha256 in texts.items():
        keys.setdefault(text_sha256, set()).add(key)
    return keys


def _mark_same(item: Loaded, keys_of_text: Mapping[str, set[str]]) -> Loaded:
    others = sorted(keys_of_text.get(item.text_sha256, set()) - {item.key})
    return replace(item, same_as=tuple(others[:_MOST_SAME])) if others else item


def _cut_groups(items: Iterable[Item], size: GroupSize) -> Iterator[list[Item]]:
    """Yield groups of consecutive items. A group ends when it is full."""
    group: list[Item] = []
    characters = 0
    for item in items:
        group.append(item)
        characters += _characters(item)
        if characters >= size.characters or len(group) >= size.documents:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _characters(item: Item) -> int:
    if isinstance(item, Failure):
        return 0
    return len(item.document.text) if isinstance(item, Loaded) else item.characters


def _split_at_same_keys(group: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the group in parts, cut before each item whose key is in the part already."""
    part: list[Item] = []
    keys: set[str] = set()
    for item in group:
        if not isinstance(item, Failure):
            if item.key in keys:
                yield part
                part, keys = [], set()
            keys.add(item.key)
        part.append(item)
    yield part


def hash_changed(document: Document, title: str, metadata: Mapping[str, MetadataValue]) -> str:
    """Return the ``sha256`` that a document would have with another title and other metadata."""
    return replace(document, title=title, metadata=metadata).sha256


def is_elsewhere(stored: DocumentRecord, files: Sequence[str]) -> bool:
    """Return whether a stored document was read from a file that is not among ``files``."""
    return bool(stored.source and files and stored.source not in files)


def _describe(source: object) -> str:
    """Return a short name for a source that could not be loaded; for a file, its whole path."""
    if isinstance(source, Path):
        return str(source)
    name = source.key if isinstance(source, Document) else source
    return shorten(name if isinstance(name, str) else show(name), _MOST_DESCRIBED)
