"""``Memory``: the whole library behind one object.

It checks what the user gives and hands it to ``operations``. Invariant: nothing heavy is loaded before it is needed; a
wrong argument is refused before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path, PurePath
from typing import Any, overload

from typing_extensions import Unpack

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
from memgraph_rag.operations import kept_questions, neighbourhood, reembed, scopes, telemetry, validation
from memgraph_rag.operations.asynchronous import awaited, iterated
from memgraph_rag.operations.document_lookup import checked_names, find_documents
from memgraph_rag.operations.layer_choice import DEFAULT_LAYERS, choose_layers, known_layers
from memgraph_rag.operations.maintenance import MaintainedMemory
from memgraph_rag.operations.memory_layers import choose_memory_layers, known_memory_layers, split_layers
from memgraph_rag.operations.remarks import with_days
from memgraph_rag.operations.session import Session
from memgraph_rag.operations.session_pages import Conversation
from memgraph_rag.operations.snapshot import GraphSnapshot
from memgraph_rag.operations.sources import Request
from memgraph_rag.operations.strategy_choice import strategy_for
from memgraph_rag.operations.tools import TOOLS, ToolName, make_tools
from memgraph_rag.operations.validation import as_object, as_text, check_parts
from memgraph_rag.settings import Settings
from memgraph_rag.strategies import find_strategy
from memgraph_rag.text.folders import Folder
from memgraph_rag.text.loading import Source
from memgraph_rag.text.paths import names_folder
from memgraph_rag.types import (
    Answer,
    AnswerStyle,
    DocumentRecord,
    Evidence,
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


class Memory(MaintainedMemory):
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
        parts = {"store": store, "model": model, "reader": reader, "embedder": embedder, "recognizer": recognizer}
        check_parts(parts)
        names = {name: as_text(part) for name, part in parts.items()}
        self.settings = Settings.load(namespace=namespace, **names, **settings)
        of_documents, of_memory = split_layers(layers)
        self._layers, self._memory_layers = choose_layers(of_documents, self.settings), choose_memory_layers(of_memory)
        self._strategy = None if strategy is None else find_strategy(strategy)
        self._open(
            store=as_object(store), namespace=namespace, language=as_object(model), reader=as_object(reader),
            embedder=as_object(embedder), recognizer=as_object(recognizer), progress=progress,
        )  # fmt: skip

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
            (outcome,) = self._ingestion(self._layers).add([Request(source, key, title, metadata)])
            if isinstance(outcome, Failure):
                raise outcome.error
            event_fields |= telemetry.of_receipt(outcome)
        return outcome

    def add_many(
        self, sources: Iterable[Source] | Path, *, metadata: Mapping[str, MetadataValue | date] | None = None,
        max_tokens: int | None = None, ray: str | None = None,
    ) -> Iterator[Receipt | Failure]:  # fmt: skip
        """Store documents, or the files of a folder, and yield each outcome in order; a failure stops no other one.

        The model work of several documents runs together: faster than ``add`` for each. Nothing is done before the
        first outcome is asked for, and what is not asked for may not be stored. Sources are taken some hundreds ahead;
        where that raises, what came before is stored.

        Args:
            sources: several of what ``add`` takes; or the Path of a folder, which is ``folder(path)``.
            metadata: of each, as ``add`` takes it.
            max_tokens: of the language model, read and written, in this call. Once they are reached, what is finished
                is stored, and each document that needs more is a ``Failure`` with ``TokenLimitReached``; the same call
                again goes on from there.
            ray: build on a Ray cluster: its address, or "auto" for one of this machine (docs/scale.md). This process
                plans and writes; an actor on each GPU, else on each core, reads and builds. The graph is the same.

        Raises:
            SettingsError: a single text or file came, not several sources; a limit that is none; Ray is not installed.
            ClusterError: while it is iterated: no cluster answers, or its workers die again and again.
        """
        if isinstance(sources, Path) and names_folder(sources):
            sources = self.folder(sources)
        if isinstance(sources, (str, bytes, PurePath)) or not isinstance(sources, Iterable):
            kind = type(sources).__name__
            raise SettingsError(f"Expected several sources, such as a list, got one {kind}. Give it in a list.")
        requests = (Request(source, metadata=metadata) for source in sources)
        ingestion = self._ingestion(self._layers, self._models_within(max_tokens), ray=ray)
        return telemetry.each("add", ingestion.add(requests))

    def folder(self, path: Path) -> Folder:
        """The files of a folder and of all below it, as sources for ``add_many``; ``left_out`` says what is none.

        What can be read, in a fixed order: see ``text.folders.Folder``. This memory's own files are left out.

        Raises:
            DocumentError: it is no folder.
        """
        store = self.settings.store
        is_file = self._owns_store and "://" not in store and store != ":memory:"
        return Folder(path, without=[Path(store).expanduser()] if is_file else ())

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
        return Session(
            Conversation(self.namespace, user, session),
            self._store,
            self._models,
            self._answers,
            search=self.search,
            wishes=self.wishes,
            ask=self.ask,
            deepen=lambda keys: self.deepen(keys, layers=self._layers),
            check=self._require_writable,
            count_tokens=self._models.token_counter(needs_language=False),
            segment_tokens=self.settings.segment_tokens,
        )

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        question: str,
        *,
        strategy: str | Strategy | None = None,
        style: AnswerStyle = "sentence",
        max_seconds: float | None = None,
        max_tokens: int | None = None,
        max_nodes: int | None = None,
        keep_trace: bool = False,
        **scope: Unpack[ScopeFields],
    ) -> Answer:
        """Read the memory for a question and answer it, citing exact spans.

        Args:
            strategy: another than this memory's own.
            style: "sentence"; "short" for the phrase alone (a name, a date, a number, yes or no), which saves a turn of
                the model; "detailed" for a paragraph, with a mark ``[n]`` of its citation behind each sentence.
            max_seconds: reading ends with the step that reaches it; so with ``max_tokens`` read and ``max_nodes``.
            keep_trace: store the question with its answer and all that was read for it, so that ``question`` finds it.
                Asked again, it is replaced; where a document is replaced of which something was read, it is stale; it
                goes with the first such document that is forgotten.
            scope: what is read, as for ``search``; nothing from outside of it, in whatever way the strategy reads.

        Raises:
            QuestionError: the question is empty or too long.
            DocumentNotFound: a document is not in this memory, or, with ``keep_trace``, was replaced or forgotten
                while it was read.
            StrategyError: no such strategy, or one whose trace cannot be kept because it quotes what it did not read.
            SettingsError: a budget, style or time that is none; or ``keep_trace`` with a time.
            SearchMemoryExceeded: the namespace is too large for a graph search.
        """
        *_, answer = self.stream(
            question, strategy=strategy, style=style, max_seconds=max_seconds, max_tokens=max_tokens,
            max_nodes=max_nodes, keep_trace=keep_trace, **scope,
        )  # fmt: skip
        assert isinstance(answer, Answer)
        return answer

    def stream(
        self,
        question: str,
        *,
        strategy: str | Strategy | None = None,
        style: AnswerStyle = "sentence",
        max_seconds: float | None = None,
        max_tokens: int | None = None,
        max_nodes: int | None = None,
        keep_trace: bool = False,
        **scope: Unpack[ScopeFields],
    ) -> Iterator[Step | str | Answer]:
        """The same as it happens: steps, then pieces of the answer's text, then the ``Answer``.

        Arguments and errors as for ``ask``; they are checked here, before the first item is asked for.
        """
        self._process.require()
        question = validation.checked_question(question)
        chosen = find_strategy(strategy) if strategy is not None else self._strategy
        snapshot = GraphSnapshot(self._store)
        chosen = chosen or strategy_for(question, snapshot.statistics(), self._models.embedder)
        held = Scope(**scope)
        if keep_trace:
            kept_questions.require_keepable(chosen, held)
        extent = self._extent(held)
        budget = validation.checked_budget(
            self.settings, max_seconds=max_seconds, max_tokens=max_tokens, max_nodes=max_nodes
        )
        style = validation.checked_style(style)
        as_of = self._search.as_of(extent.since, extent.until) if extent.since or extent.until else None
        items = self._reading.run(question, chosen, budget, extent.documents, style, snapshot=snapshot, as_of=as_of)
        return telemetry.over(
            "ask",
            kept_questions.keep_answers(items, self._store, self.namespace) if keep_trace else items,
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
    ) -> list[Evidence]:
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
        self._process.require()
        query = validation.checked_question(query)
        validation.check_count("k", k)
        validation.check_relevance(min_relevance, mode=mode, embedder=self._models.embedder)
        with telemetry.span("search", k=k) as event_fields:
            extent = self._extent(Scope(**scope))
            evidence = self._search.find(
                query, k=k, mode=mode, documents=extent.documents, since=extent.since, until=extent.until
            )
            if min_relevance is not None:
                evidence = [item for item in evidence if item.relevance is not None and item.relevance >= min_relevance]
            event_fields |= {"mode": mode if isinstance(mode, str) else mode.name, "found": len(evidence)}
        return with_days(evidence)

    def wishes(self, query: str, **scope: Unpack[ScopeFields]) -> list[Evidence]:
        """What users asked for that bears on a query: instructions and preferences, at most three, newest first.

        Those that a newer one supersedes are left out; ``why`` says which of the two it is. They are read by the layer
        ``facts``; ``Session.recall`` gives them too. Arguments and errors as for ``search``.
        """
        query = validation.checked_question(query)
        return self._wishes.bearing_on(query, self._extent(Scope(**scope)))

    # In a thread each, for programs with an event loop: arguments, errors and results are those of the methods.
    aadd, aask, asearch = awaited(add), awaited(ask), awaited(search)
    aadd_many, astream = iterated(add_many), iterated(stream)

    def tools(
        self, names: Sequence[ToolName] = TOOLS, *, user: str | None = None, session: str | None = None
    ) -> list[Tool]:
        """Functions for a model that calls functions: search, ask, add and forget, each with a JSON schema.

        Args:
            names: which of them; ``("search", "ask")`` for a model that is to change nothing.
            user: whose they are: they find, store, replace and forget this user's alone. So with ``session``.

        Raises:
            SettingsError: no tool of that name; a user or session that is no name.
        """
        scope = Scope(user=user, session=session)
        held: ScopeFields = {"user": user, "session": session}

        def forget(document: str) -> Receipt:
            scopes.require_within(document, scope, self._store, self._scopes)
            return self.forget(document)

        return make_tools(
            names, search=partial(self.search, **held), wishes=partial(self.wishes, **held),
            ask=partial(self.ask, **held), forget=forget,
            add=partial(self.add, metadata=scopes.owner_in(scope) or None),
        )  # fmt: skip

    # ── looking and forgetting ───────────────────────────────────────────────────────────────────────────

    def get(self, node_id: str) -> Node | None:
        """The segment or information point of that id; None where there is none."""
        return next(iter(self._store.nodes([node_id])), None) if validation.may_name(node_id) else None

    def documents(self, documents: Sequence[str | Path] | None = None) -> list[DocumentRecord]:
        """All documents of this namespace, by key.

        Args:
            documents: only these, in this order: keys, ids or paths of files.

        Raises:
            DocumentNotFound: one of them is not in this memory.
        """
        if documents is None:
            return self._store.documents()
        return find_documents(self._store, checked_names(documents))

    def text(self, document: str | Path) -> str:
        """The whole text of a document, of which segments and citations are spans.

        Args:
            document: its key or id, or any path of the file that it was read from.

        Raises:
            DocumentNotFound: there is none, or the path is that of several documents.
        """
        record = find_documents(self._store, [document])[0]
        return "".join(segment.text for segment in self._store.segments_of(record.id))

    def around(self, name: str, *, kind: neighbourhood.Kind | None = None, most: int = 40) -> Neighbourhood:
        """What surrounds a document, an entity, a kept question or an overview, to look at; no model is used.

        Args:
            name: a document's key, a question's text, an entity's name or the one part that only it has, an overview's
                title or layer; or an id. What is found first counts, in this order.
            kind: "document", "question", "entity" or "overview": look for these alone.
            most: of each kind; how many more there are is in ``left_out``.

        Raises:
            DocumentNotFound: nothing of that name; the message says what is near, or lists the several that it may be.
            SettingsError: no such kind, or ``most`` below 1 or above 1,000,000.
        """
        return neighbourhood.around(self._store, name, kind=kind, most=most)

    def questions(self) -> list[Question]:
        """All questions that were kept (``ask(…, keep_trace=True)``), the newest first; stale ones say what changed."""
        return self._store.questions()

    def question(self, question: str) -> Question | None:
        """The kept question of that text or id, with its answer and its walk; None where there is none.

        Where a document that it rests on was replaced since, it is stale (``is_stale``, ``changes``): the answer and
        what it cites are of that time, and of the walk only the nodes that are still there are left.
        """
        ids = kept_questions.question_ids(question, self.namespace)
        return next(iter(self._store.questions(ids)), None) if ids else None

    def forget_question(self, question: str) -> None:
        """Remove a kept question, by its text or id.

        Raises:
            QuestionNotFound: there is none.
        """
        self._require_writable()
        with telemetry.span("forget_question"):
            kept_questions.forget(self._store, question)

    @overload
    def forget(self, document: str | Path) -> Receipt: ...
    @overload
    def forget(self, *, user: str, session: str | None = None) -> list[Receipt]: ...
    def forget(
        self, document: str | Path | None = None, *, user: str | None = None, session: str | None = None
    ) -> Receipt | list[Receipt]:
        """Remove a document and everything that rests on it alone; kept questions that rest on it too.

        Args:
            document: its key or id, or any path of the file that it was read from.
            user: all that this user said, or was added with it as metadata, is removed, a receipt for each document;
                with ``session`` only that of theirs. After an interruption the same call removes the rest.

        Raises:
            DocumentNotFound: there is none, or the path is that of several documents.
            SettingsError: not just one of a document and a user is named.
        """
        self._require_writable()
        with telemetry.span("forget") as event_fields, self._answers.forgetting():
            receipts = scopes.forget(self._store, self._scopes, document, user=user, session=session)
            self._journal.clear()
            reembed.forget_kept(self._reembedding_dir)
            event_fields |= telemetry.of_receipt(receipts[0]) if document is not None else {"documents": len(receipts)}
        return receipts if document is None else receipts[0]
