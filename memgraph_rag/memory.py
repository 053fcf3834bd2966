"""``Memory``: the whole library behind one object. Wiring only.

It checks what the user gives, opens the store and the models, and hands documents to ``ingestion`` and questions
to ``reading``. Invariant: nothing heavy is loaded before it is needed; a wrong argument is refused before that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

from memgraph_rag.contracts import Embedder, GraphStore, LanguageModel, Layer, Models, Progress, SearchMode
from memgraph_rag.errors import DocumentNotFound, QuestionError, SettingsError
from memgraph_rag.ingestion import Ingestion, Request
from memgraph_rag.layers.points import PointsLayer
from memgraph_rag.reading import Reading
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.settings import Settings
from memgraph_rag.stores import open_store
from memgraph_rag.strategies import DEFAULT, find_strategy
from memgraph_rag.text.loading import Source
from memgraph_rag.types import (
    Answer,
    Budget,
    DocumentRecord,
    Evidence,
    Failure,
    MetadataValue,
    Node,
    Receipt,
    Step,
)

__all__ = ["LAYERS", "Memory"]

LAYERS = ("points",)
"""The layers that exist, in the order in which they are built."""

_MOST_QUESTION_CHARACTERS = 20_000

_UNREADABLE = re.compile(
    "[\x00\ud800-\udfff]"
)  # NUL and halves of surrogate pairs: no store and no tokenizer takes them


class Memory:
    """Long-term memory in a graph.

    Args:
        store: a file (embedded Ladybug), a Neo4j address, an open ``GraphStore``; by default the setting, else a
            file in the user's data directory.
        namespace: the wall between memories that share a database; bound once.
        model: a packaged model's name, a folder, a GGUF file, ``owner/name`` on a hub, a ``LanguageModel``, or
            "auto". Loaded when first needed.
        embedder: likewise.
        strategy: how ``ask`` reads, by name (``memgraph_rag.strategies.STRATEGIES``).
        layers: what ``add`` builds beyond segments; ``()`` needs no language model weights.
        progress: told what is being done, for progress bars.
        **settings: any other field of ``Settings``, such as ``neo4j_password`` or ``segment_tokens``.

    May be used from several threads. Closing it closes the store that it opened.

    Raises:
        SettingsError: a setting cannot work.
        StoreError: the store cannot be opened, or was built with another embedder.
        ModelNotFound: there is no such model.
    """

    def __init__(
        self,
        store: str | Path | GraphStore | None = None,
        *,
        namespace: str | None = None,
        model: str | Path | LanguageModel | None = None,
        embedder: str | Path | Embedder | None = None,
        strategy: str = DEFAULT,
        layers: Sequence[str] = LAYERS,
        progress: Progress | None = None,
        **settings: Any,
    ) -> None:
        _check_part("store", store, "write")
        _check_part("model", model, "generate")
        _check_part("embedder", embedder, "embed")
        self.settings = Settings.load(
            store=_as_text(store),
            namespace=namespace,
            model=_as_text(model),
            embedder=_as_text(embedder),
            **settings,
        )
        self._layers = _checked_layers(layers, self.settings)
        self._strategy = find_strategy(strategy)
        self._progress = progress
        self._given_model = None if isinstance(model, (str, Path)) else model
        self._given_embedder = None if isinstance(embedder, (str, Path)) else embedder
        self._owns_store = store is None or isinstance(store, (str, Path))
        self._store = self._open_store() if store is None or isinstance(store, (str, Path)) else store
        _check_namespace(namespace, self._store)
        try:
            self._store.migrate(embedder=self.embedder.name, dimension=self.embedder.dimension)
        except BaseException:
            self.close()
            raise
        self._search = SegmentSearch(self._store, self.embedder)

    @cached_property
    def _models(self) -> Models:
        return Models(self.language_model, self.embedder)

    @cached_property
    def _ingestion(self) -> Ingestion:
        return Ingestion(
            self._store,
            self._models,
            self._layers,
            segment_tokens=self.settings.segment_tokens,
            progress=self._progress,
        )

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self._store, self._models, self._search, answer_tokens=self.settings.answer_tokens)

    # ── what it is made of ───────────────────────────────────────────────────────────────────────────────

    @cached_property
    def language_model(self) -> LanguageModel:
        """The language model; its weights load when they are first needed."""
        if self._given_model is not None:
            return self._given_model
        from memgraph_rag.models.catalogue import find_language_model
        from memgraph_rag.models.language_model import TransformersModel

        settings = self.settings
        name, folder = find_language_model(settings.model, cache_dir=settings.cache_dir, progress=self._progress)
        return TransformersModel(
            folder, name=name, window=settings.window, device=settings.device, dtype=settings.dtype
        )

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model."""
        if self._given_embedder is not None:
            return self._given_embedder
        from memgraph_rag.models.catalogue import find_embedder
        from memgraph_rag.models.embedder import SentenceEmbedder

        name, folder = find_embedder(self.settings.embedder)
        return SentenceEmbedder(folder, name=name, device=self.settings.device)

    def _open_store(self) -> GraphStore:
        settings = self.settings
        password = settings.neo4j_password.get_secret_value() if settings.neo4j_password else None
        return open_store(
            settings.store,
            namespace=settings.namespace,
            user=settings.neo4j_user,
            password=password,
            database=settings.neo4j_database,
        )

    @property
    def namespace(self) -> str:
        """The namespace that this memory reads and writes."""
        return self._store.namespace

    # ── adding ───────────────────────────────────────────────────────────────────────────────────────────

    def add(
        self,
        source: Source,
        *,
        key: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
    ) -> Receipt:
        """Store one document and return what the database then holds of it.

        The same content again changes nothing (``Action.UNCHANGED``); other content under the same key takes its
        place. All or nothing: an error or a crash leaves the store as it was.

        Args:
            source: a str is always text; a Path is a file (text, Markdown, HTML, PDF); a Document; chat messages.
            key: the user's name for it; by default the path as given, or a hash of the text.
            title: by default the file's own.
            metadata: kept with the document.

        Raises:
            DocumentError: it cannot be read as text, or another file is stored under this key.
            StoreError: the database failed.
        """
        (outcome,) = self._ingestion.run([Request(source, key, title, metadata)])
        if isinstance(outcome, Failure):
            raise outcome.error
        return outcome

    def add_many(self, sources: Iterable[Source]) -> Iterator[Receipt | Failure]:
        """Store documents, telling of each in order; one that fails does not stop the others.

        The model work of several documents runs together, so this is faster than calling ``add`` for each.
        """
        return self._ingestion.run(Request(source) for source in sources)

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        question: str,
        *,
        strategy: str | None = None,
        documents: Sequence[str] | None = None,
        max_seconds: float | None = None,
        max_tokens: int | None = None,
        max_nodes: int | None = None,
    ) -> Answer:
        """Read the memory for a question and answer it, citing exact spans.

        Args:
            strategy: another than this memory's own.
            documents: keys or ids of the documents to read; all by default.
            max_seconds: reading ends with the step in which this time is reached.
            max_tokens: likewise, for tokens that the model reads.
            max_nodes: likewise, for nodes.

        Raises:
            QuestionError: the question is empty or too long.
            DocumentNotFound: a document is not in this memory.
            StrategyError: no such strategy.
        """
        *_, answer = self.stream(
            question,
            strategy=strategy,
            documents=documents,
            max_seconds=max_seconds,
            max_tokens=max_tokens,
            max_nodes=max_nodes,
        )
        assert isinstance(answer, Answer)
        return answer

    def stream(
        self,
        question: str,
        *,
        strategy: str | None = None,
        documents: Sequence[str] | None = None,
        max_seconds: float | None = None,
        max_tokens: int | None = None,
        max_nodes: int | None = None,
    ) -> Iterator[Step | str | Answer]:
        """The same as it happens: steps, then pieces of the answer's text, then the ``Answer``.

        Arguments and errors as for ``ask``; they are checked here, before the first item is asked for.
        """
        question = _checked_question(question)
        chosen = find_strategy(strategy) if strategy is not None else self._strategy
        ids = self._ids(documents)
        given = {"max_seconds": max_seconds, "max_tokens": max_tokens, "max_nodes": max_nodes}
        budget = _checked_budget(
            **{name: getattr(self.settings, name) if value is None else value for name, value in given.items()}
        )
        return self._reading.run(question, chosen, budget, ids)

    def search(
        self, query: str, *, k: int = 10, mode: SearchMode = "hybrid", documents: Sequence[str] | None = None
    ) -> list[Evidence]:
        """The k segments that bear on a query most, best first; no language model is used.

        Args:
            k: how many, at least 1.
            mode: "hybrid" (words and vectors), "keywords" or "vector".
            documents: keys or ids of the documents to search; all by default.

        Raises:
            QuestionError: the query is empty.
            SettingsError: no such mode, or k below 1.
        """
        query = _checked_question(query)
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise SettingsError(f"Expected k as a whole number of at least 1, got {k!r}.", k=k)
        return self._search.find(query, k=k, mode=mode, documents=self._ids(documents))

    # ── looking and forgetting ───────────────────────────────────────────────────────────────────────────

    def get(self, node_id: str) -> Node | None:
        """The segment or information point of that id; None where there is none."""
        return next(iter(self._store.nodes([node_id])), None) if _may_name(node_id) else None

    def documents(self) -> list[DocumentRecord]:
        """All documents of this namespace, by key."""
        return self._store.documents()

    def forget(self, document: str) -> Receipt:
        """Remove a document (by key or id) and everything that rests on it alone.

        Raises:
            DocumentNotFound: there is none.
        """
        return self._store.forget(self._record(document).id)

    def stats(self) -> dict[str, Any]:
        """Counts by label and relationship type, schema version, embedder: what the store says of itself."""
        return {"counts": dict(self._store.statistics()), "schema": dict(self._store.schema)}

    def _ids(self, documents: Sequence[str] | None) -> list[str] | None:
        """The ids behind keys or ids, each once, in the order given."""
        if documents is None:
            return None
        if isinstance(documents, str) or not isinstance(documents, Iterable):
            raise SettingsError(f"Expected documents as a list of keys or ids, got {documents!r}.", documents=documents)
        return list(dict.fromkeys(self._record(document).id for document in documents))

    def _record(self, id_or_key: str) -> DocumentRecord:
        record = self._store.document(id_or_key) if _may_name(id_or_key) else None
        if record is None:
            raise DocumentNotFound(
                f"Expected the key or id of a document in namespace {self.namespace!r}, got {id_or_key!r}. "
                "List them with documents(), or 'memgraph-rag documents'.",
                key=id_or_key,
            )
        return record

    def close(self) -> None:
        """Let go of the store, if this memory opened it; a second call does nothing."""
        if self._owns_store:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _as_text(value: object) -> str | None:
    """A str or Path as a setting; anything else is no setting."""
    return str(value) if isinstance(value, (str, Path)) else None


def _check_part(name: str, part: object, method: str) -> None:
    """A store or a model is given by its name, or as an object that can do its work."""
    if not isinstance(part, (str, Path, type(None))) and not callable(getattr(part, method, None)):
        raise SettingsError(
            f"Expected {name} as a str, a Path or an object that has {method}(), got {part!r}.", setting=name
        )


def _check_namespace(given: str | None, store: GraphStore) -> None:
    """An open store brings its namespace; another one could not be kept apart."""
    if given is not None and given != store.namespace:
        raise SettingsError(
            f"Expected the namespace of the given store, {store.namespace!r}, got {given!r}. "
            "Leave it out, or open the store with the other one.",
            setting="namespace",
        )


def _checked_layers(names: Sequence[str], settings: Settings) -> list[Layer]:
    known = {"points": lambda: PointsLayer(batch_tokens=settings.batch_tokens)}
    if isinstance(names, str) or not isinstance(names, Iterable) or not all(name in (*known,) for name in names):
        raise SettingsError(f"Expected layers out of {tuple(known)}, got {names!r}.", layers=names)
    return [make() for name, make in known.items() if name in names]


def _may_name(value: object) -> bool:
    """Whether anything can be stored under this id or key."""
    return isinstance(value, str) and not _UNREADABLE.search(value)


def _checked_question(question: str) -> str:
    """The question without surrounding white space, and with U+FFFD for what cannot be read."""
    if not isinstance(question, str):
        raise QuestionError(f"Expected a question as a str, got {type(question).__name__}.")
    if not question.strip():
        raise QuestionError("Expected a question, got an empty text.")
    if len(question) > _MOST_QUESTION_CHARACTERS:
        raise QuestionError(
            f"Expected a question of at most {_MOST_QUESTION_CHARACTERS:,} characters, got {len(question):,}. "
            "Add the long text as a document and ask about it.",
            characters=len(question),
        )
    return _UNREADABLE.sub("\ufffd", question).strip()


def _checked_budget(**limits: float | None) -> Budget:
    for name, value in limits.items():
        kinds, expected = ((int, float), "a number") if name == "max_seconds" else (int, "a whole number")
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not value > 0):
            raise SettingsError(f"Expected {name} as {expected} above 0, got {value!r}.", setting=name)
    return Budget(**limits)  # type: ignore[arg-type]
