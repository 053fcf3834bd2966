"""``Memory``: the whole library behind one object.

It checks what the user gives and hands it to the rooms below. Invariant: nothing heavy is loaded before it is needed;
a wrong argument is refused before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, overload

from typing_extensions import Self, Unpack

from memgraph_rag.answering import saved_questions as kept_questions
from memgraph_rag.answering.snapshot import GraphSnapshot
from memgraph_rag.answering.strategy_choice import strategy_for
from memgraph_rag.calls import scopes, telemetry, validation
from memgraph_rag.calls.record_list import RecordList
from memgraph_rag.contracts import (
    AttentiveModel,
    Embedder,
    EntityRecognizer,
    GraphStore,
    LanguageModel,
    Layer,
    MemoryLayer,
    Progress,
    SearchMode,
    Strategy,
)
from memgraph_rag.errors import SettingsError
from memgraph_rag.facts.remarks import with_days
from memgraph_rag.ingestion.layer_choice import DEFAULT_LAYERS, choose_layers, known_layers
from memgraph_rag.ingestion.memory_layers import (
    choose_memory_layers,
    documents_without,
    known_memory_layers,
    split_layers,
)
from memgraph_rag.ingestion.sources import Request
from memgraph_rag.inspection import document_reading, neighbourhood
from memgraph_rag.maintenance import reembed
from memgraph_rag.maintenance.lacking_layers import build_lacking_layers
from memgraph_rag.maintenance.maintenance import Maintenance
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.scoped import ScopedMemory
from memgraph_rag.session import Session
from memgraph_rag.settings import Settings
from memgraph_rag.strategies import find_strategy
from memgraph_rag.text.folders import Folder
from memgraph_rag.text.loading import Source
from memgraph_rag.text.paths import names_folder
from memgraph_rag.tools import TOOLS, ToolName
from memgraph_rag.types import (
    Answer,
    AnswerStyle,
    Document,
    DocumentRecord,
    Evidence,
    Limits,
    MetadataValue,
    Node,
    Question,
    Scope,
    ScopeFields,
    Step,
    Tool,
)  # fmt: skip
from memgraph_rag.types.inspection import Neighbourhood
from memgraph_rag.types.receipts import Failure, Receipt

__all__ = ["DEFAULT_LAYERS", "Memory", "known_layers", "known_memory_layers"]


class Memory:
    """Long-term memory in a graph.

    Args:
        store: a file (embedded Ladybug), a Neo4j address, an open ``GraphStore``; by default the setting, else a
            file in the user's data directory.
        namespace: the wall between memories that share a database; bound once.
        model: a packaged model's name, a folder, a GGUF file, ``owner/name`` on a hub, an address (``openai:NAME``,
            ``http://HOST/v1#NAME``), a ``LanguageModel``, or "auto". Loaded, or asked, when first needed.
        reader: beside a model behind an address, or one given as an object: the local model that attends to what that
            one writes, named likewise, an ``AttentiveModel``, or "auto": the smallest, unless the model attends itself.
        embedder: likewise.
        recognizer: what finds names: "auto", "stanza", "spacy", "rules", or an ``EntityRecognizer``. A namespace keeps
            the one that it was built with.
        strategy: how ``ask`` reads: by name (``strategies.known_strategies``), or a ``Strategy`` of your own; by
            default the walk, and ``overviews`` for questions about a whole, where there are some.
        layers: what ``add`` builds beyond segments, by name (``known_layers``) or as ``Layer`` objects; by default
            entities, which need no language model. ``"points"`` cost one minutes a chapter, ``"relations"`` as much
            again. Systems bring further ones. Layers of the memory (``known_memory_layers``) are built by
            ``deepen``, not by ``add``.
        progress: told what is being done, for progress bars.
        **settings: any other field of ``Settings``, such as ``neo4j={"password": …}`` or ``segment_tokens``. With
            ``read_only`` the store is not changed, and several processes may read one file, while none writes it.

    May be used from several threads, in the process that opened it: in a forked child every call is a ``StoreError``.
    Closing it closes the store that it opened. Every method may raise ``StoreError`` where the database fails, one that
    writes ``StoreReadOnly``, and one that needs a model ``ModelNotFound``: models are looked for when they are needed.

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
        reader: str | Path | AttentiveModel | None = None,
        embedder: str | Path | Embedder | None = None,
        recognizer: str | EntityRecognizer | None = None,
        strategy: str | Strategy | None = None,
        layers: Sequence[str | Layer | MemoryLayer] = DEFAULT_LAYERS,
        progress: Progress | None = None,
        **settings: Any,
    ) -> None:
        models = {"language": model, "reader": reader, "embedder": embedder, "recognizer": recognizer}
        given = {
            "store": store,
            "model": model,
            **{name: models[name] for name in ("reader", "embedder", "recognizer")},
        }
        validation.check_parts(given)
        names = {name: validation.as_text(part) for name, part in given.items()}
        self.settings = Settings.load(namespace=namespace, **names, **settings)
        of_documents, of_memory = split_layers(layers)
        self._strategy = None if strategy is None else find_strategy(strategy)
        self._parts = OpenMemory(
            self.settings,
            choose_layers(of_documents, self.settings),
            choose_memory_layers(of_memory),
            store=validation.as_object(store),
            namespace=namespace,
            models={name: validation.as_object(part) for name, part in models.items()},
            progress=progress,
        )
        self.maintenance = Maintenance(self._parts)

    @property
    def namespace(self) -> str:
        """The namespace that this memory reads and writes."""
        return self._parts.store.namespace

    @property
    def language_model(self) -> LanguageModel:
        """The language model, with its reader; weights load when they are first needed."""
        return self._parts.models.language.unwrapped

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        return self._parts.models.embedder.unchecked

    @property
    def recognizer(self) -> EntityRecognizer:
        """The recognizer that finds names in documents and questions.

        Raises:
            SettingsError: another one than the namespace was built with.
            ModelNotFound: the one that the namespace was built with is not installed.
        """
        return self._parts.models.recognizer.unchecked

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
        (``Action.REPLACED``). A stored document keeps its owner, the "user" and "session" of its metadata: a call that
        names others is refused. All or nothing: an error or a crash leaves the store as it was.

        Args:
            source: a str is always text; a Path is a file (text, Markdown, HTML, PDF); a Document; chat messages.
            key: the user's name for it; by default the one under which this file is stored, however its path is
                written, else the path as given; for text and chat a hash of the words and the owner, so that two users
                who say the same have a document each. The keys of a session's pages (``session``) are its own.
            title: by default the one stored with the same text, else the file's own.
            metadata: kept with the document; by default those stored under the key stay. Another "time" or "date" (see
                ``search``) or "echo" replaces the document. ``{"echo": True}`` says that all of it is something that
                the memory answered, ``{"echo": False}`` that none is, whatever it looks like.

        What ``ask`` answered before and is added again is recognised: such segments are marked (``Segment.echo``),
        counted (``Receipt.echoes``), and never are evidence. Other documents with the same text are named by
        ``Receipt.same_as``. A str that is also the name of a file gets a ``MemgraphRagWarning``.

        Raises:
            DocumentError: it cannot be read as text; or another file, or a document of another owner, is stored under
                this key.
            StoreError: the database failed, or was opened for reading only.
        """
        with telemetry.span("add") as event_fields:
            (outcome,) = self._parts.ingestion(self._parts.layers).add([Request(source, key, title, metadata)])
            if isinstance(outcome, Failure):
                raise outcome.error
            event_fields |= telemetry.of_receipt(outcome)
        return outcome

    def add_many(
        self, sources: Iterable[Source] | Path, *, metadata: Mapping[str, MetadataValue | date] | None = None,
        limits: Limits | None = None, ray: str | None = None,
    ) -> Iterator[Receipt | Failure]:  # fmt: skip
        """Store documents, or the files of a folder, and yield each outcome in order; a failure stops no other one.

        The model work of several documents runs together: faster than ``add`` for each. Nothing is done before the
        first outcome is asked for, and what is not asked for may not be stored. Sources are taken some hundreds ahead;
        where that raises, what came before is stored.

        Args:
            sources: several of what ``add`` takes; or the Path of a folder, all files of which are added that can be
                read (``text.folders.Folder``), but for the memory's own.
            metadata: of each, as ``add`` takes it.
            limits: ``Limits(tokens=…)``. Once they are reached, what is finished is stored, and each document that
                needs more is a ``Failure`` with ``TokenLimitReached``; the same call again goes on from there.
            ray: build on a Ray cluster: its address, or "auto" for one of this machine (docs/scale.md). This process
                plans and writes; an actor on each GPU, else on each core, reads and builds. The graph is the same.

        Raises:
            SettingsError: a single text or file came, not several sources; a limit that is none; Ray is not installed.
            ClusterError: while it is iterated: no cluster answers, or its workers die again and again.
        """
        if isinstance(sources, Path) and names_folder(sources):
            sources = Folder(sources, without=[self._parts.file] if self._parts.file else ())
        if isinstance(sources, (str, bytes, PurePath)) or not isinstance(sources, Iterable):
            kind = type(sources).__name__
            raise SettingsError(f"Expected several sources, such as a list, got one {kind}. Give it in a list.")
        requests = (Request(source, metadata=metadata) for source in sources)
        models = self._parts.models_within(validation.checked_limits(limits, takes=["tokens"]))
        ingestion = self._parts.ingestion(self._parts.layers, models, ray=ray)
        return telemetry.each("add", ingestion.add(requests))

    def deepen(
        self,
        documents: Sequence[str | Path] | None = None,
        *,
        layers: Sequence[str | Layer | MemoryLayer] | None = None,
        limits: Limits | None = None,
    ) -> Iterator[Receipt | Failure]:
        """Build the layers that documents still lack, yielding an outcome of each; then the layers of the whole memory.

        Without ``documents`` the oldest comes first, and the last page of a conversation is left alone while it takes
        further turns (``Session.end`` closes it). ``add`` is never kept waiting: a document is built outside of
        transactions and then written in one.

        Documents are built in groups, whose prompts the model reads together; then some dozens at a time are stored in
        one transaction, and each alone where that is refused. When this is interrupted, what is stored stays, and of
        the rest what the model had finished is not asked of it again by the next call. A document that lacks nothing is
        ``Action.UNCHANGED``.

        Args:
            documents: keys, ids or paths of files; all by default.
            layers: by name or as objects, as for ``Memory``; by default entities, points, this memory's own, and the
                layers of the memory that are there. Of such a layer the receipt has its name for a key.
            limits: tokens, as for ``add_many``; seconds, after which no further documents are begun, up to eight at a
                time. What is begun is finished, and the next call goes on from there.

        Raises:
            DocumentNotFound: a document is not in this memory.
            SettingsError: there is no such layer, or a limit is no number above 0.
            ModelNotFound: a layer needs a language model, and there is none.
        """
        checked = validation.checked_limits(limits, takes=["seconds", "tokens"])
        return telemetry.each("deepen", build_lacking_layers(self._parts, documents, layers, checked))

    def session(self, *, user: str, session: str = "default") -> Session:
        """A conversation that is stored turn by turn (``add``), and asked between its turns (``recall``, ``ask``).

        Nothing is stored by this. Users and sessions are no walls as namespaces are: ``search`` without ``user`` finds
        what anybody said.

        Args:
            user: whose conversation it is, by any name.
            session: which of the user's.

        Raises:
            SettingsError: one of them is no text that can be stored.
        """
        return self.scoped(user=user).session(session)

    def scoped(self, **scope: Unpack[ScopeFields]) -> ScopedMemory:
        """Return a view of this memory that is held to a scope: ``memory.scoped(user="ann", since="2026-03-01")``.

        No method of the view gives, or changes, anything from outside of the scope.

        Raises:
            SettingsError: a user, a session or a time is none.
        """
        return ScopedMemory(self, self._parts, Scope(**scope))

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        question: str,
        *,
        strategy: str | Strategy | None = None,
        style: AnswerStyle = "sentence",
        limits: Limits | None = None,
        keep_trace: bool = False,
        **scope: Unpack[ScopeFields],
    ) -> Answer:
        """Read the memory for a question and answer it, citing exact spans.

        Args:
            strategy: another than this memory's own.
            style: "sentence"; "short" for the phrase alone (a name, a date, a number, yes or no), which saves a turn of
                the model; "detailed" for a paragraph, with a mark ``[n]`` of its citation behind each sentence.
            limits: reading ends with the step that reaches one: ``Limits(seconds=10)``.
            keep_trace: store the question with its answer and all that was read for it, so that ``question`` finds it.
                Asked again, it is replaced; where a document is replaced of which something was read, it is stale; it
                goes with the first such document that is forgotten.
            scope: what is read, as for ``search``; nothing from outside of it, in whatever way the strategy reads.

        Raises:
            QuestionError: the question is empty or too long.
            DocumentNotFound: a document is not in this memory, or, with ``keep_trace``, was replaced or forgotten
                while it was read.
            StrategyError: no such strategy, or one whose trace cannot be kept because it quotes what it did not read.
            SettingsError: a limit, style or time that is none; or ``keep_trace`` with a time.
            SearchMemoryExceeded: the namespace is too large for a graph search.
        """
        *_, answer = self.stream(
            question, strategy=strategy, style=style, limits=limits, keep_trace=keep_trace, **scope
        )
        assert isinstance(answer, Answer)
        return answer

    def stream(
        self,
        question: str,
        *,
        strategy: str | Strategy | None = None,
        style: AnswerStyle = "sentence",
        limits: Limits | None = None,
        keep_trace: bool = False,
        **scope: Unpack[ScopeFields],
    ) -> Iterator[Step | str | Answer]:
        """The same as it happens: steps, then pieces of the answer's text, then the ``Answer``.

        Arguments and errors as for ``ask``; they are checked here, before the first item is asked for.
        """
        self._parts.process.require()
        question = validation.checked_question(question)
        chosen = find_strategy(strategy) if strategy is not None else self._strategy
        snapshot = GraphSnapshot(self._parts.store)
        chosen = chosen or strategy_for(question, snapshot.statistics(), self._parts.models.embedder)
        held = Scope(**scope)
        if keep_trace:
            kept_questions.require_keepable(chosen, held)
        extent = self._parts.extent_of(held)
        checked = validation.checked_limits(limits)
        style = validation.checked_style(style)
        items = self._parts.reading.run(question, chosen, checked, extent, style, snapshot=snapshot)
        return telemetry.over(
            "ask",
            kept_questions.keep_answers(items, self._parts.store, self.namespace) if keep_trace else items,
            strategy=chosen.name,
        )

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        mode: str | SearchMode = "graph",
        min_relevance: float | None = None,
        **scope: Unpack[ScopeFields],
    ) -> RecordList[Evidence]:
        """The k segments that bear on a query most, best first; no language model is used.

        The first graph search reads the namespace into memory; later ones read what has changed.

        Args:
            k: how many, at least 1.
            mode: "graph" (words and vectors, then a walk over the names that segments share), "hybrid" (words and
                vectors), "keywords", "vector"; the name of an installed system's mode ("segments", "hipporag",
                "hipporag2": docs/asking.md), or a ``SearchMode`` of your own.
            min_relevance: of the k only those that are as near to the query as this (``Evidence.relevance``), from 0 to
                1: 0.1 leaves out most of what is about something else, and a tenth of the evidence with it.
            scope: what is searched, by the fields of ``Scope``: ``documents``, ``user``, ``session``, ``where``,
                ``since``, ``until``, ``at``; all by default.

        Raises:
            QuestionError: the query is empty.
            SettingsError: no such mode, k below 1 or above 1,000,000, a time that is none, or ``min_relevance``
                where it is not known how near evidence is: in mode "keywords", and without a calibrated embedder.
            SearchMemoryExceeded: the namespace is too large for a graph search.
        """
        self._parts.process.require()
        query = validation.checked_question(query)
        validation.check_count("k", k)
        validation.check_relevance(min_relevance, mode=mode, embedder=self._parts.models.embedder)
        with telemetry.span("search", k=k) as event_fields:
            extent = self._parts.extent_of(Scope(**scope))
            evidence = self._parts.search.find(query, k=k, mode=mode, extent=extent)
            if min_relevance is not None:
                evidence = [item for item in evidence if item.relevance is not None and item.relevance >= min_relevance]
            event_fields |= {"mode": mode if isinstance(mode, str) else mode.name, "found": len(evidence)}
        return with_days(evidence)

    def tools(self, names: Sequence[ToolName] = TOOLS, **scope: Unpack[ScopeFields]) -> list[Tool]:
        """Return functions for a model that calls functions: search, ask, add and forget, each with a JSON schema.

        Args:
            names: which of them; ``("search", "ask")`` for a model that is to change nothing.
            scope: what they find, replace and forget; what they add is of the scope's user and session.

        Raises:
            SettingsError: no tool of that name; a user or session that is no name.
        """
        return self.scoped(**scope).tools(names)

    # ── looking and forgetting ───────────────────────────────────────────────────────────────────────────

    def get(self, name: str | Path) -> Document | Node:
        """Return a document with its whole text, or the segment or information point of an id.

        Segments and citations are spans of the document's text.

        Args:
            name: the id of a node; a document's key or id, or any path of the file that it was read from.

        Raises:
            DocumentNotFound: there is none, or the path is that of several documents.
        """
        return document_reading.find(self._parts.store, name)

    def documents(
        self, *, after: str = "", limit: int | None = None, **scope: Unpack[ScopeFields]
    ) -> RecordList[DocumentRecord]:
        """Return the documents of this namespace, by key; where the scope names nothing but documents, in that order.

        Args:
            after: a key, which need not be there: only documents behind it.
            limit: the first so many. Without a scope the database reads no others.
            scope: as for ``search``. A document is in a time as far as any of it was said then.

        Raises:
            DocumentNotFound: a document that the scope names is not in this memory.
            SettingsError: no key can be ``after``, or the limit is no whole number of at least 1.
        """
        return RecordList(document_reading.records(self._parts, Scope(**scope), after=after, limit=limit))

    def around(self, name: str, *, kind: neighbourhood.Kind | None = None, most: int = 40) -> Neighbourhood:
        """Return what surrounds a document, an entity, a kept question or an overview, to look at; no model is used.

        Args:
            name: a document's key, a question's text, an entity's name or the one part that only it has, an overview's
                title or layer; or an id. What is found first counts, in this order.
            kind: "document", "question", "entity" or "overview": look for these alone.
            most: of each kind; how many more there are is in ``left_out``.

        Raises:
            DocumentNotFound: nothing of that name; the message says what is near, or lists the several that it may be.
            SettingsError: no such kind, or ``most`` below 1 or above 1,000,000.
        """
        return neighbourhood.around(self._parts.store, name, kind=kind, most=most)

    def questions(self, question: str | None = None) -> list[Question]:
        """Return the questions that were kept (``ask(…, keep_trace=True)``), the newest first.

        Where a document that one rests on was replaced since, it is stale (``is_stale``, ``changes``): the answer and
        what it cites are of that time, and of the walk only the nodes that are still there are left.

        Args:
            question: only the one of this text or id; the list is empty where there is none.
        """
        if question is None:
            return self._parts.store.questions()
        ids = kept_questions.question_ids(question, self.namespace)
        return self._parts.store.questions(ids)[:1] if ids else []

    @overload
    def forget(self, document: str | Path) -> Receipt: ...
    @overload
    def forget(self, *, user: str, session: str | None = None) -> list[Receipt]: ...
    @overload
    def forget(self, *, question: str) -> None: ...
    def forget(
        self,
        document: str | Path | None = None,
        *,
        user: str | None = None,
        session: str | None = None,
        question: str | None = None,
    ) -> Receipt | list[Receipt] | None:
        """Remove a document and everything that rests on it alone; kept questions that rest on it too.

        Args:
            document: its key or id, or any path of the file that it was read from.
            user: all that this user said, or was added with it as metadata, is removed, a receipt for each document;
                with ``session`` only that of theirs. After an interruption the same call removes the rest.
            question: a kept question, by its text or id, is removed, and nothing else.

        Raises:
            DocumentNotFound: there is none, or the path is that of several documents.
            QuestionNotFound: no such question was kept.
            SettingsError: not just one of a document, a user and a question is named.
        """
        scopes.require_one(document=document, user=user, session=session, question=question)
        self._parts.require_writable()
        if question is not None:
            with telemetry.span("forget_question"):
                return kept_questions.forget(self._parts.store, question)
        with telemetry.span("forget") as event_fields, self._parts.answers.forgetting():
            receipts = scopes.forget(self._parts.store, self._parts.scopes, document, user=user, session=session)
            self._parts.journal.clear()
            reembed.forget_kept(self._parts.reembedding_dir)
            event_fields |= telemetry.of_receipt(receipts[0]) if document is not None else {"documents": len(receipts)}
        return receipts if document is None else receipts[0]

    def status(self) -> dict[str, Any]:
        """Return counts by label and relationship type, schema version and embedder, as the store tells them.

        ``documents_without``: of each layer of the memory that is there, how many documents it does not cover (yet).
        """
        lacking = documents_without(self._parts.store)
        return {
            "counts": dict(self._parts.store.statistics()),
            "schema": dict(self._parts.store.schema),
            **({"documents_without": lacking} if lacking else {}),
        }

    def close(self) -> None:
        """Let go of the store, if this memory opened it; a second call does nothing."""
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
