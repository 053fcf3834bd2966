"""A memory that is open: its settings, store, models and search, put together. What it does is in ``Memory``.

It knows every room, and no algorithm. Invariant: no weights are loaded before they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType

from typing_extensions import Self

from memgraph_rag.contracts import (
    AttentiveModel,
    Embedder,
    EntityRecognizer,
    GraphStore,
    LanguageModel,
    Layer,
    LearningLayer,
    MemoryLayer,
    Models,
    Progress,
)
from memgraph_rag.display import show
from memgraph_rag.errors import StoreReadOnly
from memgraph_rag.models.journal import Journal
from memgraph_rag.operations import scopes
from memgraph_rag.operations.answer import Reading
from memgraph_rag.operations.build_pool import LocalPool
from memgraph_rag.operations.document_lookup import checked_names, find_documents
from memgraph_rag.operations.given_answers import GivenAnswers
from memgraph_rag.operations.graph_building import GraphBuilder
from memgraph_rag.operations.ingest import Ingestion
from memgraph_rag.operations.model_loader import FoundModels
from memgraph_rag.operations.ray_pool import RayPool
from memgraph_rag.operations.remarks import Remarks
from memgraph_rag.operations.scope_index import ScopeIndex
from memgraph_rag.operations.token_limit import LimitedModels
from memgraph_rag.operations.update_graph import Learning
from memgraph_rag.operations.validation import MOST_TOKENS, check_count, check_namespace
from memgraph_rag.operations.wishes import Wishes
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.settings import Settings
from memgraph_rag.stores import OpeningProcess, open_store
from memgraph_rag.types import Extent, Scope, make_id

__all__ = ["OpenMemory", "open_settled"]


def open_settled(settings: Settings, *, read_only: bool = False) -> GraphStore:
    """The store that the settings name, for reading only where they or the caller say so; raises as ``open_store``."""
    return open_store(
        settings.store,
        namespace=settings.namespace,
        user=settings.neo4j.user,
        password=settings.neo4j.password,
        database=settings.neo4j.database,
        database_per_namespace=settings.neo4j.database_per_namespace,
        read_only=settings.read_only or read_only,
    )


class OpenMemory:
    """The parts of a memory. A context manager: leaving it closes the store that it opened."""

    settings: Settings
    _layers: Sequence[Layer]
    _memory_layers: Sequence[MemoryLayer]

    def _open(
        self,
        *,
        store: GraphStore | None,
        namespace: str | None,
        language: LanguageModel | None,
        reader: AttentiveModel | None,
        embedder: Embedder | None,
        recognizer: EntityRecognizer | None,
        progress: Progress | None,
    ) -> None:
        """Open the store and look for the models of the settings, where these are not given as objects.

        Raises:
            SettingsError: the store is bound to another namespace.
            StoreError: the store cannot be opened, or was built with another embedder.
            ModelNotFound: there is no such model.
        """
        self._progress = progress
        self._process = OpeningProcess("this memory")
        self._owns_store = store is None
        self._store = open_settled(self.settings) if store is None else store
        self._scopes = ScopeIndex(self._store)
        self._answers = GivenAnswers(self._store)
        check_namespace(namespace, self._store)
        owner = make_id(self._store.namespace, "journal")
        self._journal = Journal(self.settings.cache_dir / "journal", owner=owner)
        self._models = FoundModels(
            self.settings,
            language=language,
            reader=reader,
            embedder=embedder,
            recognizer=recognizer,
            stored_recognizer=self._store.recognizer,
            journal=self._journal,
            progress=progress,
        )
        try:
            self._store.migrate(embedder=self._models.embedder.name, dimension=self._models.embedder.dimension)
            self._search = self._new_search()
        except BaseException:
            self.close()
            raise

    @property
    def language_model(self) -> LanguageModel:
        """The language model, with its reader; weights load when they are first needed."""
        return self._models.language.unwrapped

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        return self._models.embedder.unchecked

    @property
    def recognizer(self) -> EntityRecognizer:
        """What finds names in documents and questions.

        Raises:
            SettingsError: another one than the namespace was built with.
            ModelNotFound: the one that the namespace was built with is not installed.
        """
        return self._models.recognizer.unchecked

    @property
    def namespace(self) -> str:
        """The namespace that this memory reads and writes."""
        return self._store.namespace

    def _new_search(self) -> SegmentSearch:
        return SegmentSearch(
            self._store,
            self._models.embedder,
            self._models.recognizer,
            stemming=self.settings.stemming,
            most_bytes=self.settings.search_memory_mib * 2**20,
            space=self.settings.search,
        )

    def _models_within(self, max_tokens: int | None) -> Models:
        """The models, and no more than so many tokens of the language model."""
        if max_tokens is None:
            return self._models
        check_count("max_tokens", max_tokens, most=MOST_TOKENS)
        return LimitedModels(self._models, max_tokens)

    def _ingestion(self, layers: Sequence[Layer], models: Models | None = None, *, ray: str | None = None) -> Ingestion:
        self._require_writable()
        models = self._models if models is None else models
        builder = GraphBuilder(self._store.namespace, models, layers, progress=self._progress)
        return Ingestion(
            self._store,
            models,
            layers,
            LocalPool(builder) if ray is None else RayPool(builder, ray, device=self.settings.device),
            self._answers,
            count_tokens=self._models.token_counter(needs_language=any(layer.needs_language for layer in layers)),
            segment_tokens=self.settings.segment_tokens,
        )

    @cached_property
    def _reading(self) -> Reading:
        learning = next((layer for layer in self._layers if isinstance(layer, LearningLayer)), None)
        return Reading(
            self._store,
            self._models,
            self._search,
            self._answers,
            answer_tokens=self.settings.answer_tokens,
            checks_speaker=self.settings.checks in ("all", "speaker"),
            checks_names=self.settings.checks in ("all", "names"),
            extract=Learning(self._store, self._models, learning) if learning and not self._store.read_only else None,
            remarks=Remarks(self._search.facts),
        )

    @cached_property
    def _wishes(self) -> Wishes:
        return Wishes(self._search.facts, self._store, self._models.embedder)

    @property
    def _reembedding_dir(self) -> Path:
        return self.settings.cache_dir / "reembedding"

    def _require_writable(self) -> None:
        """Refuse before any model works for what cannot be stored."""
        self._process.require()
        if self._store.read_only:
            raise StoreReadOnly(
                f"Expected a memory that may be changed, got {show(self.settings.store)}, opened for reading only. "
                "Open it again without read_only."
            )

    def _ids(self, documents: Sequence[str | Path] | None) -> list[str] | None:
        """The ids of the documents of these names, each once, in the order given."""
        if documents is None:
            return None
        records = find_documents(self._store, checked_names(documents))
        return list(dict.fromkeys(record.id for record in records))

    def _extent(self, scope: Scope) -> Extent:
        """What a scope comes to in this memory."""
        return scopes.extent_of(scope, self._store, self._scopes)

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
