"""The parts of an open memory: settings, store, models and search.

It connects the rooms and holds no algorithm. ``Memory`` has the methods that users call. Invariant: weights of models
load at their first use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgraph_rag import answering, facts, ingestion
from memgraph_rag.calls import scopes
from memgraph_rag.calls.document_lookup import find_documents, make_name_list
from memgraph_rag.calls.scope_index import ScopeIndex
from memgraph_rag.calls.validation import check_namespace
from memgraph_rag.contracts import GraphStore, Layer, LearningLayer, MemoryLayer, Models, Progress, cosine_scale
from memgraph_rag.display import show
from memgraph_rag.errors import StoreReadOnly
from memgraph_rag.facts.fact_search import FactSearch
from memgraph_rag.models.files.journal import Journal
from memgraph_rag.models.model_loader import FoundModels
from memgraph_rag.models.wrappers.checked_models import CheckedEmbedder
from memgraph_rag.models.wrappers.token_limit import LimitedModels
from memgraph_rag.settings import Settings
from memgraph_rag.stores import OpeningProcess, open_store
from memgraph_rag.types import Extent, Limits, Scope, Statement, make_id

if TYPE_CHECKING:
    from memgraph_rag.answering.answer import Reading
    from memgraph_rag.facts.brief import Briefs
    from memgraph_rag.facts.wishes import Wishes
    from memgraph_rag.ingestion.ingest import Ingestion
    from memgraph_rag.ingestion.segmenting import CutSegments


def open_configured_store(settings: Settings, *, read_only: bool = False) -> GraphStore:
    """Open the store that the settings name.

    The store is open for reading only if the settings or ``read_only`` say so. Errors are those of ``open_store``.
    """
    return open_store(
        settings.store,
        namespace=settings.namespace,
        user=settings.neo4j.user,
        password=settings.neo4j.password,
        database=settings.neo4j.database,
        read_only=settings.read_only or read_only,
    )


class OpenMemory:
    """The parts of one open memory, which ``Memory``, its views, its sessions and its ``Maintenance`` share.

    Args:
        settings: all settings.
        layers: the layers that ``Memory.add`` builds. None lets the language model decide (``layers``).
        memory_layers: the layers of the memory that ``Memory.deepen`` builds.
        store: an open store, which the caller closes. With None the store of the settings is opened.
        namespace: the namespace that the caller expects, or None.
        models: the models that were passed as objects, with the keys "language", "reader", "embedder" and
            "recognizer". The settings name the model of each key with the value None.
        progress: receives the progress of long work.

    Raises:
        SettingsError: the store has another namespace.
        StoreError: the store cannot be opened, or another embedder built it.
        ModelNotFound: a model does not exist.
    """

    def __init__(
        self,
        settings: Settings,
        layers: Sequence[Layer] | None,
        memory_layers: Sequence[MemoryLayer],
        *,
        store: GraphStore | None,
        namespace: str | None,
        models: Mapping[str, Any],
        progress: Progress | None,
    ) -> None:
        self.settings, self.given_layers, self.memory_layers = settings, layers, memory_layers
        self.progress = progress
        self._process = OpeningProcess()
        self._owns_store = store is None
        self._store = open_configured_store(settings) if store is None else store
        self.scopes = ScopeIndex(self.store)
        self.answers = ingestion.GivenAnswers(self.store)
        check_namespace(namespace, self.store)
        self.journal = Journal(settings.cache_dir / "journal", owner=make_id(self.store.namespace, "journal"))
        self.models = FoundModels(
            settings,
            **models,
            stored_recognizer=lambda: self.store.recognizer(),
            journal=self.journal,
            progress=progress,
        )
        self.models.stored_embedder = lambda: self.store.schema.get("embedder", "")
        with ExitStack() as on_failure:
            on_failure.callback(self.close)
            self.store.migrate(embedder=self.models.embedder.name, dimension=self.models.embedder.dimension)
            self.store.name_scale = lambda: cosine_scale(self.models.embedder)
            self.search = self._new_search()
            on_failure.pop_all()

    @property
    def store(self) -> GraphStore:
        """The store. Each call of a memory takes it here, so that a forked child is refused before any work.

        Raises:
            StoreError: the process was forked from the process that opened the memory.
        """
        self._process.require()
        return self._store

    def _new_search(self) -> FactSearch:
        return FactSearch(
            self.store,
            self.models.embedder,
            self.models.recognizer,
            most_bytes=self.settings.search_memory_mib * 2**20,
            space=self.settings.search,
            several=self.settings.several,
        )

    @cached_property
    def layers(self) -> Sequence[Layer]:
        """The layers that ``Memory.add`` builds: the given ones, else all for a large model on a GPU, else entities."""
        if self.given_layers is not None:
            return self.given_layers
        names = ingestion.FULL_LAYERS if self.models.is_large_on_gpu else ingestion.DEFAULT_LAYERS
        return ingestion.choose_layers(names, self.settings)

    @property
    def reembedding_dir(self) -> Path:
        """The folder in which ``reembed`` keeps finished embeddings until the store has them. It may not exist."""
        return self.settings.cache_dir / "reembedding"

    def limit_models(self, limits: Limits) -> Models:
        """Return the models; the language model raises ``TokenLimitReached`` beyond the tokens of the limits."""
        return self.models if limits.tokens is None else LimitedModels(self.models, limits.tokens)

    def ingestion(self, layers: Sequence[Layer], models: Models | None = None, *, ray: str | None = None) -> Ingestion:
        """Return an ``Ingestion`` that builds documents with these layers and stores them.

        Args:
            models: the models to use. The default is the models of this memory.
            ray: the address of a Ray cluster that builds. The default is to build in this process.

        Raises:
            StoreReadOnly: the memory is open for reading only.
        """
        self.require_writable()
        models = self.models if models is None else models
        builder = ingestion.GraphBuilder(self.store.namespace, models, layers, progress=self.progress)
        device = self.settings.device
        return ingestion.Ingestion(
            self.store,
            models,
            layers,
            ingestion.LocalPool(builder) if ray is None else ingestion.RayPool(builder, ray, device=device),
            self.answers,
            cut=self.make_cut(needs_language=any(layer.needs_language for layer in layers)),
            redact=self.settings.redact,
        )

    def make_cut(self, *, needs_language: bool) -> CutSegments:
        """Return the function that cuts documents into segments of this memory's sizes.

        Args:
            needs_language: whether the language model must be there; its tokens are counted in any case.
        """
        return partial(
            ingestion.cut_segments,
            namespace=self.store.namespace,
            count_tokens=self.models.token_counter(needs_language=needs_language),
            max_tokens=self.settings.segment_tokens,
            longest=self.settings.longest_segment_tokens,
        )

    @cached_property
    def reading(self) -> Reading:
        """The part that answers questions. It extracts relations only with a learning layer and a writable store."""
        layers = () if self.store.read_only else self.layers
        learning = next((layer for layer in layers if isinstance(layer, LearningLayer)), None)
        return answering.Reading(
            self.store,
            self.models,
            self.search,
            self.answers,
            checks_speaker=self.settings.checks in ("all", "speaker"),
            checks_names=self.settings.checks in ("all", "names"),
            extract=answering.Learning(self.store, self.models, learning) if learning else None,
            remark=partial(facts.write_remarks, self.search.facts),
            find_judge=lambda: self.models.turn_judge,
            find_phrases=self.models.find_phrases,
        )

    @cached_property
    def wishes(self) -> Wishes:
        """The part that finds instructions and preferences of users."""
        return facts.Wishes(self.search.facts, self.store, self.models.embedder)

    @cached_property
    def briefs(self) -> Briefs:
        """The part that writes briefs. The embedder counts their tokens, so that no language model is needed."""
        return facts.Briefs(self.search, self.store, self.models.embedder, self.models.embedder.count_tokens)

    def statements(self, extent: Extent) -> list[Statement]:
        """Return the statements of people about themselves within an extent; see ``list_statements``."""
        return facts.list_statements(self.search.facts, self.store, extent)

    def use_embedder(self, embedder: CheckedEmbedder) -> None:
        """Use another embedder from now on. The store must hold its embeddings. Searches read the store again.

        A call of another thread that began before keeps the former object of the store, which refuses its vectors. So
        each writer takes the store before the embedder.
        """
        self.models.embedder = embedder
        store = self.store.bind_namespace(self.store.namespace)
        store.migrate(embedder=embedder.name, dimension=embedder.dimension)
        self._store = self.scopes.store = self.answers.store = store
        for part in ("reading", "wishes", "briefs"):  # they hold the former embedder
            self.__dict__.pop(part, None)
        self.search = self._new_search()

    def require_writable(self) -> None:
        """Check that the memory may be changed, before a model works for a result that cannot be stored.

        Raises:
            StoreReadOnly: the memory is open for reading only.
            StoreError: the process was forked from the process that opened the memory.
        """
        if self.store.read_only:
            raise StoreReadOnly(
                f"Expected a memory that may be changed, got {show(self.settings.store)}, opened for reading only. "
                "Open the memory again without read_only."
            )

    def document_ids(self, documents: Sequence[str | Path] | None) -> list[str] | None:
        """Return the ids of the documents with these names, without repetitions, in the given order.

        None means all documents, and returns None.

        Raises:
            DocumentNotFound: a name belongs to no document, or to several.
        """
        if documents is None:
            return None
        records = find_documents(self.store, make_name_list(documents))
        return list(dict.fromkeys(record.id for record in records))

    def resolve_extent(self, scope: Scope) -> Extent:
        """Return the document ids and the period that a scope selects; errors as for ``scopes.resolve_extent``."""
        return scopes.resolve_extent(scope, self.store, self.scopes)

    def close(self) -> None:
        """Close the store if this memory opened it. A second call does nothing."""
        if self._owns_store:
            self._store.close()
