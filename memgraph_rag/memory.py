"""``Memory``: the whole library behind one object. Wiring only.

It checks what the user gives, opens the store and the models, and hands documents to ``ingestion`` and questions
to ``reading``. Invariant: nothing heavy is loaded before it is needed; a wrong argument is refused before that.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import date, datetime, timezone
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any

from typing_extensions import Self

from memgraph_rag.contracts import (
    Embedder,
    EntityRecognizer,
    GraphStore,
    LanguageModel,
    Layer,
    Progress,
    SearchMode,
    Strategy,
)
from memgraph_rag.errors import (
    DocumentError,
    QuestionNotFound,
    SettingsError,
    StoreError,
    StoreReadOnly,
    StrategyError,
)
from memgraph_rag.layers.entities import EntitiesLayer
from memgraph_rag.layers.points import PointsLayer
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.models.journal import Journal
from memgraph_rag.operations import archive, neighbourhood, reembed, repair, telemetry
from memgraph_rag.operations.answer import Reading
from memgraph_rag.operations.archive_check import check_as_added
from memgraph_rag.operations.document_lookup import checked_names, find_documents
from memgraph_rag.operations.ingest import Ingestion
from memgraph_rag.operations.model_loader import FoundModels, open_embedder
from memgraph_rag.operations.outcomes import Outcomes
from memgraph_rag.operations.sources import Request
from memgraph_rag.operations.update_graph import Learning
from memgraph_rag.operations.validation import (
    as_object,
    as_text,
    check_count,
    check_namespace,
    check_part,
    check_relevance,
    checked_budget,
    checked_question,
    checked_time,
    may_name,
    readable,
    with_known_arguments,
)
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.settings import Settings
from memgraph_rag.stores import OpeningProcess, open_place, open_store, write_checks
from memgraph_rag.strategies import DEFAULT, QUOTE_UNREAD, find_strategy
from memgraph_rag.text.folders import Folder
from memgraph_rag.text.loading import Source
from memgraph_rag.text.paths import names_folder
from memgraph_rag.types import (
    Action,
    Answer,
    Damage,
    DocumentGraph,
    DocumentRecord,
    Evidence,
    Failure,
    MetadataValue,
    Neighbourhood,
    Node,
    Question,
    Receipt,
    Step,
    make_id,
    question_id,
)

__all__ = ["DEFAULT_LAYERS", "LAYERS", "Memory"]

LAYERS = ("entities", "points", "relations")
"""The layers that exist, in the order in which they are built, the cheap ones first."""

DEFAULT_LAYERS = ("entities", "points")
"""What is built where nothing else is asked for: relations cost the model as much again (docs/decisions.md)."""

_IMPORTED_TOGETHER = 64


@with_known_arguments
class Memory:
    """Long-term memory in a graph.

    Args:
        store: a file (embedded Ladybug), a Neo4j address, an open ``GraphStore``; by default the setting, else a
            file in the user's data directory.
        namespace: the wall between memories that share a database; bound once.
        model: a packaged model's name, a folder, a GGUF file, ``owner/name`` on a hub, a ``LanguageModel``, or
            "auto". Loaded when first needed.
        embedder: likewise.
        recognizer: what finds names: "auto", "stanza", "spacy", "rules", or an ``EntityRecognizer``. A namespace keeps
            the one that it was built with.
        strategy: how ``ask`` reads: by name (``memgraph_rag.strategies.STRATEGIES``), or a ``Strategy`` of your own.
        layers: what ``add`` builds beyond segments; ``("entities",)`` needs no language model and is fast: search works
            at once, and ``deepen`` builds the rest when there is time. ``"relations"`` are built where they are named.
        progress: told what is being done, for progress bars.
        **settings: any other field of ``Settings``, such as ``neo4j_password`` or ``segment_tokens``. With
            ``read_only`` the store is not changed, and several processes may read one file, while none writes it.

    May be used from several threads, in the process that opened it: in a child that is forked from it every call is a
    ``StoreError``. Closing it closes the store that it opened. Beside what is said of a method, each
    may raise ``StoreError`` where the database fails, each that writes ``StoreReadOnly``, and each that needs a model
    ``ModelNotFound``, for models are looked for when they are first needed.

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
        recognizer: str | EntityRecognizer | None = None,
        strategy: str | Strategy = DEFAULT,
        layers: Sequence[str] = DEFAULT_LAYERS,
        progress: Progress | None = None,
        **settings: Any,
    ) -> None:
        check_part("store", store, "write")
        check_part("model", model, "generate")
        check_part("embedder", embedder, "embed")
        check_part("recognizer", recognizer, "recognize")
        self.settings = Settings.load(
            store=as_text(store),
            namespace=namespace,
            model=as_text(model),
            embedder=as_text(embedder),
            recognizer=as_text(recognizer),
            **settings,
        )
        self._layers = _checked_layers(layers, self.settings)
        self._strategy = find_strategy(strategy)
        self._progress = progress
        self._process = OpeningProcess("this memory")
        given = as_object(store)
        self._owns_store = given is None
        self._store = self._open_store() if given is None else given
        check_namespace(namespace, self._store)
        owner = make_id(self._store.namespace, "journal")
        self._journal = Journal(self.settings.cache_dir / "journal", owner=owner)
        self._models = FoundModels(
            self.settings,
            language=as_object(model),
            embedder=as_object(embedder),
            recognizer=as_object(recognizer),
            stored_recognizer=self._store.recognizer,
            journal=self._journal,
            progress=progress,
        )
        try:
            self._store.migrate(embedder=self.embedder.name, dimension=self.embedder.dimension)
            self._search = self._new_search()
        except BaseException:
            self.close()
            raise

    def _new_search(self) -> SegmentSearch:
        return SegmentSearch(
            self._store,
            self.embedder,
            self.recognizer,
            stemming=self.settings.stemming,
            most_bytes=self.settings.search_memory_mib * 2**20,
        )

    def _ingestion(self, layers: Sequence[Layer]) -> Ingestion:
        self._require_writable()
        return Ingestion(
            self._store,
            self._models,
            layers,
            count_tokens=self._models.token_counter(needs_language=any(layer.needs_language for layer in layers)),
            segment_tokens=self.settings.segment_tokens,
            progress=self._progress,
        )

    @cached_property
    def _reading(self) -> Reading:
        relations = next((layer for layer in self._layers if isinstance(layer, RelationsLayer)), None)
        return Reading(
            self._store,
            self._models,
            self._search,
            answer_tokens=self.settings.answer_tokens,
            checks_speaker=self.settings.checks_speaker,
            checks_names=self.settings.checks_names,
            extract=Learning(self._store, self._models, relations) if relations and not self._store.read_only else None,
        )

    # ── what it is made of ───────────────────────────────────────────────────────────────────────────────

    @property
    def language_model(self) -> LanguageModel:
        """The language model; its weights load when they are first needed."""
        return self._models.language

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        return self._models.embedder

    @property
    def recognizer(self) -> EntityRecognizer:
        """What finds names in documents and questions.

        Raises:
            SettingsError: another one than the namespace was built with.
            ModelNotFound: the one that the namespace was built with is not installed.
        """
        return self._models.recognizer

    def _open_store(self) -> GraphStore:
        settings = self.settings
        return open_store(
            settings.store,
            namespace=settings.namespace,
            user=settings.neo4j_user,
            password=settings.neo4j_password,
            database=settings.neo4j_database,
            read_only=settings.read_only,
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
        metadata: Mapping[str, MetadataValue | date] | None = None,
    ) -> Receipt:
        """Store one document and return what the database then holds of it.

        The same content again changes nothing (``Action.UNCHANGED``); other metadata are stored, and all that was
        built stays (``Action.DESCRIBED``); another text or title under the same key takes its place
        (``Action.REPLACED``). All or nothing: an error or a crash leaves the store as it was.

        Args:
            source: a str is always text; a Path is a file (text, Markdown, HTML, PDF); a Document; chat messages.
            key: the user's name for it; by default the one under which this file is stored, however its path is
                written, else the path as given; for text and chat a hash.
            title: by default the one stored with the same text, else the file's own.
            metadata: kept with the document; by default those stored under the key stay. Another "time" or "date" (see
                ``search``) or "echo" replaces the document. ``{"echo": True}`` says that all of it is something that
                the memory answered, ``{"echo": False}`` that none is, whatever it looks like.

        What ``ask`` answered before and is added again is recognised: such segments are marked (``Segment.echo``),
        counted (``Receipt.echoes``), and never are evidence. Other documents with the same text are named by
        ``Receipt.same_as``. A str that is also the name of a file gets a ``MemgraphRagWarning``.

        Raises:
            DocumentError: it cannot be read as text, or another file is stored under this key.
            StoreError: the database failed, or was opened for reading only.
        """
        with telemetry.span("add") as told:
            (outcome,) = self._ingestion(self._layers).add([Request(source, key, title, metadata)])
            if isinstance(outcome, Failure):
                raise outcome.error
            told |= telemetry.of_receipt(outcome)
        return outcome

    def add_many(self, sources: Iterable[Source] | Path) -> Iterator[Receipt | Failure]:
        """Store documents, or the files of a folder, telling of each in order; one that fails stops no other.

        The model work of several documents runs together, so this is faster than calling ``add`` for each. Nothing is
        done before the first outcome is asked for (an iterator that never is gets a ``MemgraphRagWarning``), and what
        is left when the iterator is left is not stored. Sources are taken some hundreds ahead of what is told; where
        taking them raises, what came before is stored and told first, then that very error is raised.

        Args:
            sources: several of what ``add`` takes; or the Path of a folder, which is ``folder(path)``.

        Raises:
            SettingsError: a single text or file came, not several sources.
        """
        if isinstance(sources, Path) and names_folder(sources):
            sources = self.folder(sources)
        if isinstance(sources, (str, bytes, PurePath)) or not isinstance(sources, Iterable):
            raise SettingsError(
                f"Expected several sources, such as a list, got one {type(sources).__name__}. Give it as add(…), or in "
                "a list."
            )
        requests = (Request(source) for source in sources)
        return Outcomes("add_many", telemetry.each("add", self._ingestion(self._layers).add(requests)))

    def folder(self, path: Path) -> Folder:
        """The files of a folder and of all below it, as sources for ``add_many``; ``left_out`` says what is none.

        What can be read, in a fixed order: see ``text.folders.Folder``. This memory's own files are left out.

        Raises:
            DocumentError: it is no folder.
        """
        store = self.settings.store
        is_file = self._owns_store and "://" not in store and store != ":memory:"
        return Folder(path, without=[Path(store).expanduser()] if is_file else ())

    def deepen(
        self, documents: Sequence[str | Path] | None = None, *, layers: Sequence[str] | None = None
    ) -> Iterator[Receipt | Failure]:
        """Build the layers that documents still lack, telling of each in order.

        Documents are built in groups, whose prompts the model reads together, and each of a group is then written for
        itself. When this is interrupted, what is written stays, and of the rest what the model had finished is not
        asked of it again by the next call. A document that lacks nothing is ``Action.UNCHANGED``.

        Args:
            documents: keys, ids or paths of files; all by default.
            layers: by name; entities and points by default.

        Raises:
            DocumentNotFound: a document is not in this memory.
            SettingsError: there is no such layer.
            ModelNotFound: a layer needs a language model, and there is none.
        """
        chosen = _checked_layers(DEFAULT_LAYERS if layers is None else layers, self.settings)
        ids = self._ids(documents)
        return Outcomes("deepen", telemetry.each("deepen", self._ingestion(chosen).deepen(self._store.documents(ids))))

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        question: str,
        *,
        strategy: str | Strategy | None = None,
        documents: Sequence[str | Path] | None = None,
        max_seconds: float | None = None,
        max_tokens: int | None = None,
        max_nodes: int | None = None,
        keep_trace: bool = False,
    ) -> Answer:
        """Read the memory for a question and answer it, citing exact spans.

        Args:
            strategy: another than this memory's own.
            documents: keys, ids or paths of files of the documents to read; all by default.
            max_seconds: reading ends with the step in which this time is reached.
            max_tokens: likewise, for tokens that the model reads.
            max_nodes: likewise, for nodes.
            keep_trace: store the question with its answer and all that was read for it, so that ``question`` finds it.
                Asked again, it is replaced; where a document is replaced of which something was read, it is stale; it
                goes with the first such document that is forgotten.

        Raises:
            QuestionError: the question is empty or too long.
            DocumentNotFound: a document is not in this memory.
            StrategyError: no such strategy, or one whose trace cannot be kept because it quotes what it did not read.
            DocumentNotFound: with ``keep_trace``, also where what was read was replaced or forgotten meanwhile.
            SettingsError: a budget that is none.
            SearchMemoryExceeded: the namespace is too large for a graph search.
        """
        *_, answer = self.stream(
            question,
            strategy=strategy,
            documents=documents,
            max_seconds=max_seconds,
            max_tokens=max_tokens,
            max_nodes=max_nodes,
            keep_trace=keep_trace,
        )
        assert isinstance(answer, Answer)
        return answer

    def stream(
        self,
        question: str,
        *,
        strategy: str | Strategy | None = None,
        documents: Sequence[str | Path] | None = None,
        max_seconds: float | None = None,
        max_tokens: int | None = None,
        max_nodes: int | None = None,
        keep_trace: bool = False,
    ) -> Iterator[Step | str | Answer]:
        """The same as it happens: steps, then pieces of the answer's text, then the ``Answer``.

        Arguments and errors as for ``ask``; they are checked here, before the first item is asked for.
        """
        self._process.require()
        question = checked_question(question)
        chosen = find_strategy(strategy) if strategy is not None else self._strategy
        if keep_trace and chosen.name in QUOTE_UNREAD:
            raise StrategyError(
                f"Expected a strategy that quotes only what it reads, to keep its trace, got {chosen.name!r}: what it "
                "says of documents that it did not read could not go with them. Ask without keep_trace, or by another.",
                name=chosen.name,
            )
        ids = self._ids(documents)
        given = {"max_seconds": max_seconds, "max_tokens": max_tokens, "max_nodes": max_nodes}
        budget = checked_budget(
            **{name: getattr(self.settings, name) if value is None else value for name, value in given.items()}
        )
        items = self._reading.run(question, chosen, budget, ids)
        return telemetry.over("ask", self._kept(items) if keep_trace else items, strategy=chosen.name)

    def _kept(self, items: Generator[Step | str | Answer, None, None]) -> Generator[Step | str | Answer, None, None]:
        """The same items; the answer is stored before it is told."""
        with closing(items):
            for item in items:
                if isinstance(item, Answer):
                    asked_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
                    self._store.keep(Question(question_id(self.namespace, item.question), asked_at, item))
                yield item

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        mode: SearchMode = "graph",
        documents: Sequence[str | Path] | None = None,
        where: Mapping[str, MetadataValue] | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        min_relevance: float | None = None,
    ) -> list[Evidence]:
        """The k segments that bear on a query most, best first; no language model is used.

        The first graph search reads the namespace into memory; later ones read what has changed.

        Args:
            k: how many, at least 1.
            mode: "graph" (words and vectors, then a walk over the names that segments share), "hybrid" (words and
                vectors), "keywords" or "vector".
            documents: keys, ids or paths of files of the documents to search; all by default.
            where: only documents whose metadata hold all of these.
            since: only what is not older: ISO 8601, a date or a datetime. It is compared with a message's time; for
                other documents with the time or date in their metadata, else with the time of adding. Without a zone it
                is UTC. Only in mode "graph", as is ``until``.
            until: only what is older.
            min_relevance: of the k only those that are as near to the query as this (``Evidence.relevance``), from 0 to
                1: 0.1 leaves out most of what is about something else, and a tenth of the evidence with it.

        Raises:
            QuestionError: the query is empty.
            SettingsError: no such mode, k below 1 or above 1,000,000, a time that is none, or ``min_relevance`` where
                it is not known how near evidence is: in mode "keywords", and with an embedder that is not calibrated.
            SearchMemoryExceeded: the namespace is too large for a graph search.
        """
        self._process.require()
        query = checked_question(query)
        check_count("k", k)
        check_relevance(min_relevance, mode=mode, embedder=self.embedder)
        with telemetry.span("search", k=k) as told:
            found = self._search.find(
                query,
                k=k,
                mode=mode,
                documents=self._holding(where, self._ids(documents)),
                since=checked_time("since", since),
                until=checked_time("until", until),
            )
            if min_relevance is not None:
                found = [one for one in found if one.relevance is not None and one.relevance >= min_relevance]
            told |= {"mode": mode, "found": len(found)}
        return found

    def _holding(self, where: Mapping[str, MetadataValue] | None, ids: list[str] | None) -> list[str] | None:
        """The ids of those documents whose metadata hold all of ``where``."""
        if where is None:
            return ids
        if not isinstance(where, Mapping):
            raise SettingsError(f"Expected where as a mapping of metadata, got {where!r}.", where=where)
        records = self._store.documents(ids)
        return [record.id for record in records if where.items() <= record.metadata.items()]

    # ── looking and forgetting ───────────────────────────────────────────────────────────────────────────

    def get(self, node_id: str) -> Node | None:
        """The segment or information point of that id; None where there is none."""
        return next(iter(self._store.nodes([node_id])), None) if may_name(node_id) else None

    def documents(self) -> list[DocumentRecord]:
        """All documents of this namespace, by key."""
        return self._store.documents()

    def around(self, name: str, *, kind: neighbourhood.Kind | None = None, most: int = 40) -> Neighbourhood:
        """What surrounds a document, an entity or a kept question in the graph, to look at; no model is used.

        Args:
            name: a document's key, a question's text, an entity's name or the one part that only it has; or an id. What
                is found first counts, in this order.
            kind: "document", "question" or "entity": look for these alone.
            most: of each kind; how many more there are is in ``left_out``.

        Raises:
            DocumentNotFound: nothing of that name; the message says what is near, or lists the several that it may be.
            SettingsError: no such kind, or ``most`` below 1 or above 1,000,000.
        """
        if kind is not None and kind not in neighbourhood.KINDS:
            raise SettingsError(f"Expected kind out of {neighbourhood.KINDS}, got {kind!r}.", kind=kind)
        check_count("most", most)
        if not isinstance(name, str):
            raise SettingsError(f"Expected a name as a str, got {type(name).__name__}.", name=name)
        return neighbourhood.look(self._store, neighbourhood.find(self._store, readable(name), kind=kind), most=most)

    def questions(self) -> list[Question]:
        """All questions that were kept (``ask(…, keep_trace=True)``), the newest first; stale ones say what changed."""
        return self._store.questions()

    def question(self, question: str) -> Question | None:
        """The kept question of that text or id, with its answer and its walk; None where there is none.

        Where a document that it rests on was replaced since, it is stale (``is_stale``, ``changes``): the answer and
        what it cites are of that time, and of the walk only the nodes that are still there are left.
        """
        ids = self._question_ids(question)
        return next(iter(self._store.questions(ids)), None) if ids else None

    def _question_ids(self, question: str) -> list[str]:
        """What the kept question of that text, or id, may have as its id."""
        if not isinstance(question, str) or not question.strip():
            return []
        return [question_id(self.namespace, readable(question)), *([question] if may_name(question) else [])]

    def forget_question(self, question: str) -> None:
        """Remove a kept question, by its text or id.

        Raises:
            QuestionNotFound: there is none.
        """
        self._require_writable()
        with telemetry.span("forget_question"):
            for one in self._question_ids(question):  # not looked at before: one that is damaged goes too
                with suppress(QuestionNotFound):
                    return self._store.forget_question(one)
            raise QuestionNotFound(
                f"Expected the text or id of a kept question in namespace {self.namespace!r}, got {question!r}. "
                "List them with questions(), or 'memgraph-rag questions'.",
                question=question,
            )

    def forget(self, document: str | Path) -> Receipt:
        """Remove a document and everything that rests on it alone; kept questions that rest on it too.

        Args:
            document: its key or id, or any path of the file that it was read from.

        Raises:
            DocumentNotFound: there is none, or the path is that of several documents.
        """
        self._require_writable()
        with telemetry.span("forget") as told:
            receipt = self._store.forget(find_documents(self._store, [document])[0].id)
            self._journal.clear()
            reembed.forget_kept(self._reembedding_dir)
            told |= telemetry.of_receipt(receipt)
        return receipt

    def purge(self) -> None:
        """Rewrite the embedded file so that not a byte of what was forgotten or replaced is left in it.

        ``forget`` takes a document out of everything that can be asked; its bytes stay in the file until others take
        their place. All namespaces of the file are rewritten; it takes room for a second copy meanwhile. What the file
        system, backups or the disk itself still hold is beyond this.

        Raises:
            StoreError: the store is a Neo4j server (what that keeps is in ``docs/security.md``), or there is no room.
        """
        self._require_writable()
        with telemetry.span("purge"):
            self._store.purge()
            self._journal.clear()
            reembed.forget_kept(self._reembedding_dir)

    def reembed(self, embedder: str | Path | Embedder) -> int:
        """Embed everything in the store, in all namespaces, by another embedder, of any dimension; how many documents.

        Searches and questions go on with the old embeddings while the new ones are made; then the store has the new
        ones at one moment, and this memory embeds with the new embedder. Other memories that are open on the store
        raise ``SchemaMismatch`` from then on: open them again. After an interruption everything is as it was, and the
        next call embeds only what is missing. In an embedded file the switch writes the file anew, as ``purge`` does.

        Raises:
            StoreError: a document is damaged (``repair``), or others write too fast.
            ModelNotFound: there is no such embedder.
        """
        self._require_writable()
        check_part("embedder", embedder, "embed")
        given = as_object(embedder)
        new = open_embedder(str(embedder), self.settings) if given is None else given
        with telemetry.span("reembed") as told:
            told["documents"] = reembed.reembed(self._store, new, folder=self._reembedding_dir, progress=self._progress)
            self._models.embedder = new
            self.__dict__.pop("_reading", None)
            self._search = self._new_search()
            self._store.migrate(embedder=new.name, dimension=new.dimension)
        return told["documents"]

    @property
    def _reembedding_dir(self) -> Path:
        return self.settings.cache_dir / "reembedding"

    def examine(self) -> list[Damage]:
        """What is wrong with this namespace's graph and the database's indexes, kind by kind; nothing is changed.

        Nothing is, where only this library wrote: it is for files that were damaged and databases that others changed.
        """
        with telemetry.span("examine") as told:
            found = repair.examine(self._store)
            told["found"] = sum(damage.number for damage in found)
        return found

    def repair(self) -> list[Damage]:
        """Put right what ``examine`` finds, in one transaction; what was found, with what cannot be mended.

        What belongs to nothing is removed, what can be told from the rest is written again, what has no embedding is
        embedded. Of a document whose points are broken all points go: ``deepen`` builds them again. A document of which
        segments are missing cannot be mended: forget it, and add it again.
        """
        self._require_writable()
        with telemetry.span("repair") as told:
            found = repair.repair(self._store, self.embedder)
            told["found"] = sum(damage.number for damage in found)
        return found

    def export_to(self, path: str | Path) -> int:
        """Write all documents of this namespace, with all that was built of them, into one file; how many.

        JSON Lines, one document at a time in memory. ``import_from`` reads it into any store. Only an archive or an
        empty file is replaced; a symbolic link is followed.

        Raises:
            DocumentError: the file cannot be written, or something else is there.
        """
        self._process.require()
        if (place := open_place(path)) is not None:
            raise DocumentError(
                f"Expected a new file, or an archive to replace; {path} holds something else: it belongs to the open "
                f"store {place}. Name another file.",
                path=path,
            )
        store, embedder = self._store, self.embedder
        graphs = (graph for document_id in store.document_ids() if (graph := store.graph_of(document_id)) is not None)
        with telemetry.span("export") as told:
            told["documents"] = archive.write(
                Path(path), graphs, embedder=embedder.name, dimension=embedder.dimension
            )  # fmt: skip
        return told["documents"]

    def import_from(self, path: str | Path) -> Iterator[Receipt]:
        """Store the documents of a file that ``export_to`` wrote, telling of each; no model is used.

        The whole file is checked before the first is stored, as ``examine`` would and further; what comes through a
        pipe is copied into a private file first. Another document of the same key is replaced; one that is stored just
        so stays as it is, and makes no kept question stale (``Action.UNCHANGED``). Each group of
        some dozens is one transaction; after an interruption the same call goes through them again.

        Raises:
            DocumentError: the file is no such file, is cut off or damaged, or holds what ``add`` could not have made.
            SchemaMismatch: it was written with another embedder.
        """
        self._require_writable()
        embedder = self.embedder
        file = archive.Archive(Path(path))
        file.verify(embedder=embedder.name, dimension=embedder.dimension, check=self._check_archived)
        found = file.read(namespace=self.namespace)
        groups = iter(lambda: list(islice(found, _IMPORTED_TOGETHER)), [])
        receipts = (receipt for group in groups for receipt in self._imported(group))
        return Outcomes("import_from", telemetry.each("import", receipts))

    def _check_archived(self, graph: DocumentGraph) -> None:
        """Refuse a document of an archive that cannot be stored whole, or that this memory could not have made."""
        write_checks.check(graph, self.embedder.dimension, namespace="")
        check_as_added(graph)
        if graph.document.recognizer not in ("", self.recognizer.name):
            raise SettingsError(
                f"Expected entities that {self.recognizer.name} found, got some of {graph.document.recognizer!r}. Open "
                "another namespace with that recognizer, or add the documents themselves.",
                setting="recognizer",
            )

    def _imported(self, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
        """Store those of these documents that are not stored just so; what became of each."""
        try:
            held = self._store.documents([graph.document.id for graph in graphs])
            same = {graph.document.id for graph in graphs if graph.document in held and self._holds(graph)}
        except StoreError:  # what is damaged is replaced
            same = set()
        written = iter(self._store.write_many([graph for graph in graphs if graph.document.id not in same]))
        return [self._unchanged(graph.document) if graph.document.id in same else next(written) for graph in graphs]

    def _holds(self, graph: DocumentGraph) -> bool:
        stored = self._store.graph_of(graph.document.id)
        return stored is not None and archive.same(stored, graph)

    def _unchanged(self, held: DocumentRecord) -> Receipt:
        return Receipt(held.id, held.key, Action.UNCHANGED, self._store.counts(held.id), echoes=held.echoes)

    def stats(self) -> dict[str, Any]:
        """Counts by label and relationship type, schema version, embedder: what the store says of itself."""
        return {"counts": dict(self._store.statistics()), "schema": dict(self._store.schema)}

    def _require_writable(self) -> None:
        """Refuse before any model works for what cannot be stored."""
        self._process.require()
        if self._store.read_only:
            raise StoreReadOnly(
                f"Expected a memory that may be changed; {self.settings.store} was opened for reading only. Open it "
                "again without read_only."
            )

    def _ids(self, documents: Sequence[str | Path] | None) -> list[str] | None:
        """The ids of the documents of these names, each once, in the order given."""
        if documents is None:
            return None
        records = find_documents(self._store, checked_names(documents))
        return list(dict.fromkeys(record.id for record in records))

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


def _checked_layers(names: Sequence[str], settings: Settings) -> list[Layer]:
    """The layers of these names, in the order in which they are built; relations bring the entities that they join."""
    known: dict[str, Callable[[], Layer]] = {
        "entities": EntitiesLayer,
        "points": lambda: PointsLayer(batch_tokens=settings.batch_tokens),
        "relations": lambda: RelationsLayer(batch_tokens=settings.batch_tokens, pool_questions=settings.pool_questions),
    }
    if isinstance(names, str) or not isinstance(names, Iterable) or not all(name in (*known,) for name in names):
        raise SettingsError(f"Expected layers out of {', '.join(known)}, got {names!r}.", layers=names)
    wanted = {*names, *(["entities"] if "relations" in names else [])}
    return [make() for name, make in known.items() if name in wanted]
