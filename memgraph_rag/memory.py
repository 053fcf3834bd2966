"""``Memory``: the one class through which applications use the library.

It checks the arguments of each call and passes them to the rooms below. Invariant: models and drivers are loaded when
a call first needs them, and wrong arguments are refused before that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path, PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import Self, Unpack

from memgraph_rag import answering, ingestion, inspection, maintenance, strategies, text
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
from memgraph_rag.facts.remarks import add_days
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.settings import Settings
from memgraph_rag.stores import list_open_places
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
    Part,
    Question,
    Scope,
    ScopeFields,
    Step,
    Tool,
)  # fmt: skip
from memgraph_rag.types.brief import Brief
from memgraph_rag.types.inspection import MemoryMap, Neighbourhood
from memgraph_rag.types.receipts import Failure, Receipt

if TYPE_CHECKING:
    from memgraph_rag.inspection.memory_map import Cartographer
    from memgraph_rag.inspection.neighbourhood import Kind
    from memgraph_rag.maintenance.maintenance import Maintenance
    from memgraph_rag.scoped import ScopedMemory
    from memgraph_rag.session import Session
    from memgraph_rag.text.loading import Source


class Memory:
    """Long-term memory in a graph.

    Args:
        store: the path of an embedded Ladybug file, the address of a Neo4j server, or an open ``GraphStore``. The
            default is the setting ``store``, or a file in the user's data directory.
        namespace: the name that separates this memory from other memories in the same database. It cannot be changed
            later.
        model: the language model: the name of a packaged model, a folder, a GGUF file, ``owner/name`` on a hub, an
            address (``openai:NAME``, ``http://HOST/v1#NAME``), a ``LanguageModel``, or "auto". The first call that
            needs the model loads it.
        reader: the local model that reads the text that ``model`` wrote and measures attention. It is needed only
            where ``model`` is an address or an object that does not expose attention. It is named as ``model`` is, or
            is an ``AttentiveModel``, or "auto": the smallest local model.
        embedder: the embedding model: a name as for ``model``, or an ``Embedder``.
        recognizer: the recognizer of names in text: "auto", "stanza", "spacy", "rules", or an ``EntityRecognizer``. A
            namespace keeps the recognizer that built it.
        strategy: how ``ask`` reads: a name (``strategies.list_known_strategies``) or your own ``Strategy``. The default
            is the walk, and ``overviews`` for a question about the whole memory, if overviews were built.
        layers: the layers that ``add`` builds above the segments: names (``list_known_layers``) or ``Layer`` objects,
            or "full" for entities, points and relations. The default is entities, which need no language model; it is
            "full" for a language model of 7 billion weights or more on a GPU. ``"points"`` take a small model minutes
            for a chapter, ``"relations"`` as long again: the logger ``memgraph_rag.cost`` tells the cost before at
            level INFO. Installed systems add further names. Layers of the memory (``list_known_memory_layers``)
            are built by ``deepen``, not by ``add``.
        progress: a function that receives the name of a task, the number of finished steps and their total, for
            progress bars.
        **settings: any other field of ``Settings``, such as ``neo4j={"password": …}`` or ``segment_tokens``. With
            ``read_only=True`` nothing changes the store, and several processes may read one file while no process
            writes it.

    Several threads may use one memory. A forked child process may not: each call there raises ``StoreError``. ``close``
    closes the store if the memory opened it. Each method may raise ``StoreError`` when the database fails. A method
    that writes may raise ``StoreReadOnly``. A method that needs a model may raise ``ModelNotFound``, because models are
    located at their first use.

    Raises:
        SettingsError: a setting is invalid.
        StoreError: the store cannot be opened, or another embedder built it.
        ModelNotFound: a model does not exist.
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
        layers: Sequence[str | Layer | MemoryLayer] | None = None,
        progress: Progress | None = None,
        **settings: Any,
    ) -> None:
        models = {"language": model, "reader": reader, "embedder": embedder, "recognizer": recognizer}
        given = {"store": store, "model": model, "reader": reader, "embedder": embedder, "recognizer": recognizer}
        validation.check_parts(given)
        names = {name: validation.as_text(part) for name, part in given.items()}
        self.settings = Settings.load(namespace=namespace, **names, **settings)
        of_documents, of_memory = (None, []) if layers is None else ingestion.split_layers(layers)
        self._strategy = None if strategy is None else strategies.find_strategy(strategy)
        self._parts = OpenMemory(
            self.settings,
            None if of_documents is None else ingestion.choose_layers(of_documents, self.settings),
            ingestion.choose_memory_layers(of_memory) if of_memory else (),
            store=validation.as_object(store),
            namespace=namespace,
            models={name: validation.as_object(part) for name, part in models.items()},
            progress=progress,
        )

    @property
    def namespace(self) -> str:
        """The namespace that this memory reads and writes."""
        return self._parts.store.namespace

    @property
    def language_model(self) -> LanguageModel:
        """The language model, together with its reader if it needs one. Weights load at their first use.

        Raises:
            ModelNotFound: no language model was found.
        """
        return self._parts.models.language.unwrapped

    @property
    def embedder(self) -> Embedder:
        """The embedding model; after ``Maintenance.reembed``, the new one. Weights load at their first use."""
        return self._parts.models.embedder.unwrapped

    @property
    def recognizer(self) -> EntityRecognizer:
        """The recognizer that finds names in documents and questions.

        Raises:
            SettingsError: the namespace was built with another recognizer.
            ModelNotFound: the recognizer that built the namespace is not installed.
        """
        return self._parts.models.recognizer.unwrapped

    @cached_property
    def maintenance(self) -> Maintenance:
        """The maintenance tasks of this memory."""
        return maintenance.Maintenance(self._parts)

    @cached_property
    def _cartographer(self) -> Cartographer:
        return inspection.Cartographer()

    # ── adding ───────────────────────────────────────────────────────────────────────────────────────────

    def add(
        self,
        source: Source,
        *,
        key: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, MetadataValue | date] | None = None,
    ) -> Receipt:
        """Store one document and return a receipt of what the database now holds.

        If a document with the same key is stored already, the receipt's action says what happened:

        - ``Action.UNCHANGED``: the content is the same, and nothing was written.
        - ``Action.DEEPENED``: the content is the same, and layers that the document lacked were built.
        - ``Action.DESCRIBED``: only the metadata differ. They were stored, and all layers were kept.
        - ``Action.REPLACED``: the text or the title differs. The new document replaced the old document.

        A stored document keeps its owner, the "user" and "session" of its metadata; a call with another owner is
        refused. The write is one transaction: after an error or a crash the store is unchanged.

        Args:
            source: a str, which is always text; the Path of a file (text, Markdown, HTML, PDF); a ``Document``; or a
                list of chat messages.
            key: your name for the document. The default for a file is the key under which the file is stored already,
                or the path as given. The default for text and chat is a hash of the words and the owner: two users who
                say the same words get two documents. Keys of the pages of a ``session`` are reserved.
            title: the title. The default is the title that is stored with the same text, or the title in the file.
            metadata: stored with the document. The default keeps the metadata that are stored under the key. A new
                "time" or "date" (see ``search``) or a new "echo" replaces the document. ``{"echo": True}`` declares
                the whole text an earlier answer of this memory; ``{"echo": False}`` declares that it is not.

        Text that repeats an earlier answer of ``ask`` is recognised, if the question is kept, or if this process gave
        the answer and has forgotten no document since: its segments are marked (``Segment.echo``), counted
        (``Receipt.echoes``) and never used as evidence. ``Receipt.same_as`` lists other documents with the same text,
        up to a limit; for a document with an owner, only those of this owner. A str that is also the name of a file
        causes a ``MemgraphRagWarning``.

        Raises:
            DocumentError: the source cannot be read as text, or the key belongs to another file or another owner.
            StoreError: the database failed, or is open for reading only.
        """
        with telemetry.span("add") as event_fields:
            request = ingestion.Request(source, key, title, metadata)
            (outcome,) = self._parts.ingestion(self._parts.layers).add([request])
            if isinstance(outcome, Failure):
                raise outcome.error
            event_fields |= telemetry.describe_receipt(outcome)
        return outcome

    def add_many(
        self, sources: Iterable[Source] | Path, *, metadata: Mapping[str, MetadataValue | date] | None = None,
        limits: Limits | None = None, ray: str | None = None, include: Collection[str] = (),
    ) -> Iterator[Receipt | Failure]:  # fmt: skip
        """Store several documents, or the files of a folder, and yield the outcome of each in order.

        A document that cannot be stored yields a ``Failure`` and the others go on. The models process several documents
        together, which is faster than one call of ``add`` for each. The work begins with the first outcome that you
        request, and an outcome that you never request may mean a document that is not stored. Some hundreds of sources
        are read ahead; if the iterable raises, the sources before that are stored.

        Args:
            sources: an iterable of sources as for ``add``, or the Path of a folder. From a folder all readable files
                are added (``text.folders.Folder``), except the files of memories that this process has open.
            metadata: stored with each document, as for ``add``.
            limits: ``Limits(tokens=…)``. When the tokens are spent, finished documents are stored, and each document
                that needs more yields a ``Failure`` with ``TokenLimitReached``. The same call later continues there.
            ray: the address of a Ray cluster, or "auto" for a cluster on this machine (docs/scale.md). This process
                plans and writes; one actor on each GPU (without a GPU, on each core) reads and builds. The graph is
                the same.
            include: kinds of files in a folder that are otherwise left out, such as "svg" or "lock".

        Raises:
            SettingsError: ``sources`` is a single text or file, a limit is invalid, or Ray is not installed.
            ClusterError: during the iteration: no cluster answers, or its workers die repeatedly.
        """
        if isinstance(sources, Path) and names_folder(sources):
            sources = text.Folder(sources, without=list_open_places(), include=include)
        if isinstance(sources, (str, bytes, PurePath)) or not isinstance(sources, Iterable):
            kind = type(sources).__name__
            raise SettingsError(f"Expected several sources, such as a list, got one {kind}. Pass a list of sources.")
        requests = (ingestion.Request(source, metadata=metadata) for source in sources)
        models = self._parts.limit_models(validation.check_limits(limits, takes=["tokens"]))
        outcomes = self._parts.ingestion(self._parts.layers, models, ray=ray).add(requests)
        return telemetry.log_outcomes("add", outcomes)

    def deepen(
        self,
        documents: Sequence[str | Path] | None = None,
        *,
        layers: Sequence[str | Layer | MemoryLayer] | None = None,
        limits: Limits | None = None,
    ) -> Iterator[Receipt | Failure]:
        """Build the layers that documents lack, then the layers of the whole memory, and yield the outcome of each.

        A document that lacks no layer yields ``Action.UNCHANGED``. Named documents come by key. Without ``documents``,
        the oldest document comes first, and the last page of a conversation is skipped while it can take further turns
        (``Session.end`` closes it). Layers are built outside of transactions, so a concurrent ``add`` does not wait.

        The model reads the prompts of several documents together. Some dozens of documents are stored in one
        transaction; if the store refuses that, each document is stored in its own transaction. After an interruption
        the stored documents stay, and the next call does not repeat model calls that had finished.

        Args:
            documents: keys, ids or paths of files. The default is all documents.
            layers: names or objects, as for ``Memory``. The default is entities, points, the layers of this ``Memory``
                except relations, and, without ``documents``, the layers of the memory that are built already. The
                receipt of a layer of the memory has the name of the layer as its key.
            limits: tokens, as for ``add_many``, and seconds. Documents are begun in groups of eight; neither a group
                nor the layers of the memory are begun after that many seconds. A group that was begun is finished, and
                the next call continues after it.

        Raises:
            DocumentNotFound: a document is not in this memory.
            SettingsError: a layer does not exist, or a limit is not a number above 0.
            ModelNotFound: a layer needs a language model, and no model was found.
        """
        checked = validation.check_limits(limits, takes=["seconds", "tokens"])
        outcomes = maintenance.build_lacking_layers(self._parts, documents, layers, checked)
        return telemetry.log_outcomes("deepen", outcomes)

    def session(self, *, user: str, session: str = "default") -> Session:
        """Return a conversation. It stores turns (``add``), and it searches and answers between turns.

        This call stores nothing. Users and sessions do not separate memories as namespaces do: ``search`` without
        ``user`` finds the words of all users.

        Args:
            user: any name for the user.
            session: a name for the conversation, unique for the user.

        Raises:
            SettingsError: a name is not a text that can be stored.
        """
        return self.scoped(user=user).session(session)

    def scoped(self, **scope: Unpack[ScopeFields]) -> ScopedMemory:
        """Return a view of this memory that is limited to a scope: ``memory.scoped(user="ann", since="2026-03-01")``.

        No method of the view returns or forgets anything outside of the scope. ``add`` heeds only the user, the session
        and ``where``: it may add a document outside of the other fields, or replace one that has the same owner.

        Raises:
            SettingsError: a field of the scope is invalid, such as an empty user or a text that is no time.
        """
        from memgraph_rag.scoped import ScopedMemory

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
        """Read the memory to answer a question, and return the answer with citations of exact spans.

        If the memory holds no evidence, the answer says so (``Answer.abstained``); this is not an error.

        Args:
            question: one question.
            strategy: a strategy for this call, by name or as an object. The default is the strategy of this ``Memory``;
                if it has none, the question decides between the walk and ``overviews`` (``choose_strategy``).
            style: "sentence"; "short" for the phrase alone (a name, a date, a number, yes or no), which takes one
                model call less; "detailed" for a paragraph with the number ``[n]`` of a citation after each sentence.
            limits: the reading ends after the step that reaches a limit, ``Limits(seconds=10)``; then the answer is
                written.
            keep_trace: store the question with its answer and the nodes that were read, for ``questions``. The same
                question asked again replaces the stored question. If a document that was read is replaced, the stored
                question becomes stale; if such a document is forgotten, the stored question is removed.
            scope: the part of the memory that may be read, as for ``search``. No strategy reads outside of it.

        Raises:
            QuestionError: the question is empty or too long.
            DocumentNotFound: a document is not in this memory; or, with ``keep_trace``, a document was replaced or
                forgotten during the call.
            StrategyError: the strategy does not exist, or its trace cannot be stored because its answers quote text
                that it did not read.
            SettingsError: a limit, the style or a time is invalid; or ``keep_trace`` is used with a time.
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
    ) -> Iterator[Step | Part | str | Answer]:
        """Answer a question as ``ask`` does; yield each step, then pieces of the answer's text, then the ``Answer``.

        If a question is taken apart, each ``Part`` with its value follows the steps that were read for the part.

        Arguments and errors are those of ``ask``. The arguments are checked by this call, before the first item. An
        answer that abstains may come without pieces. If the iteration is abandoned, ``keep_trace`` stores nothing.
        """
        question = validation.check_question(question)
        chosen = strategies.find_strategy(strategy) if strategy is not None else self._strategy
        snapshot, is_default = answering.GraphSnapshot(self._parts.store), chosen is None
        chosen = chosen or answering.choose_strategy(question, snapshot.statistics(), self._parts.models.embedder)
        held = Scope(**scope)
        if keep_trace:
            answering.saved_questions.require_keepable(chosen, held)
        extent = self._parts.resolve_extent(held)
        checked = validation.check_limits(limits)
        style = validation.check_style(style)
        asks_turns = is_default and chosen.name == strategies.DEFAULT
        items = self._parts.reading.run(
            question, chosen, checked, extent, style, snapshot=snapshot, asks_turns=asks_turns
        )
        if keep_trace:
            items = answering.saved_questions.keep_answers(items, self._parts.store, self.namespace)
        return telemetry.log_answer(
            "ask",
            items,
            has_content=self.settings.capture_content,
            strategy=chosen.name,
        )

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        mode: str | SearchMode = "graph",
        min_relevance: float | None = None,
        judge: bool = False,
        **scope: Unpack[ScopeFields],
    ) -> RecordList[Evidence]:
        """Return the k segments that are most relevant to a query, best first. No language model is used without judge.

        The first graph search reads the namespace into memory; later searches read only the changes.

        Args:
            query: a question or some words.
            k: the number of segments, from 1 to 1,000,000. Fewer are returned if fewer match.
            mode: "graph" (words and vectors, then a walk over the names that segments share), "hybrid" (words and
                vectors), "keywords" or "vector"; the name of an installed system's mode ("segments", "hipporag",
                "hipporag2": docs/asking.md); or your own ``SearchMode``.
            min_relevance: drop each of the k segments that has a lower ``Evidence.relevance``, from 0 to 1; no segment
                takes its place. 0.1 drops most segments about other subjects, and about a tenth of the true evidence.
            judge: if a query asks how things are now, let the language model read the 20 nearest turns of a user, so
                that the turn with the answer comes first (docs/conversations.md). It takes about a second on a CPU.
            scope: the part of the memory that is searched, by the fields of ``Scope``: ``documents``, ``user``,
                ``session``, ``where``, ``since``, ``until``, ``at``. The default is all.

        Raises:
            QuestionError: the query is empty.
            SettingsError: the mode does not exist, k is out of range, or a time is invalid; or ``min_relevance`` is
                given where the relevance is unknown: in the mode "keywords", or with an embedder without calibration.
            SearchMemoryExceeded: the namespace is too large for a graph search.
            ModelNotFound: ``judge`` is True, and there is no language model.
        """
        query = validation.check_question(query)
        validation.check_count("k", k)
        validation.check_relevance(min_relevance, mode=mode, embedder=self._parts.models.embedder)
        with telemetry.span("search", k=k) as event_fields:
            extent = self._parts.resolve_extent(Scope(**scope))
            turn_judge = self._parts.models.turn_judge if judge else None
            evidence = self._parts.search.find(query, k=k, mode=mode, extent=extent, judge=turn_judge)
            if min_relevance is not None:
                evidence = [item for item in evidence if item.relevance is not None and item.relevance >= min_relevance]
            event_fields |= {"mode": mode if isinstance(mode, str) else mode.name, "found": len(evidence)}
            shown = query if self.settings.capture_content else None
            event_fields |= telemetry.describe_retrieval(evidence, k=k, query=shown)
        return add_days(evidence)

    def brief(self, *, max_tokens: int = 600, about: str | None = None, **scope: Unpack[ScopeFields]) -> Brief:
        """Return what an agent should know before a conversation, each line with its place. No model writes it.

        The sections are: what holds about people (since when), wishes and instructions, open ends (tasks, and deadlines
        from now on), decisions, what was done, and what was spoken of last. Each begins with the newest. The layer
        ``facts`` finds all sections but the last; without it only the last is there. ``Brief.text`` may be empty.

        Args:
            max_tokens: the most tokens of the text, counted by the embedder.
            about: a subject; only lines that bear on it, the nearest first.
            scope: the part of the memory that counts, as for ``search``. With ``at`` the brief is that of the day.

        Raises:
            SettingsError: ``max_tokens`` is below 1, or a time is invalid.
            QuestionError: the subject is empty.
        """
        validation.check_count("max_tokens", max_tokens)
        subject = None if about is None else validation.check_question(about)
        with telemetry.span("brief") as event_fields:
            extent = self._parts.resolve_extent(Scope(**scope))
            brief = self._parts.briefs.write(extent, max_tokens=max_tokens, about=subject)
            event_fields |= {"lines": len(brief.lines)}
        return brief

    def tools(self, names: Sequence[ToolName] = TOOLS, **scope: Unpack[ScopeFields]) -> list[Tool]:
        """Return tools for a model that calls functions: search, ask, add and forget, each with a JSON schema.

        Args:
            names: the tools to return, in this order. ``("search", "ask")`` lets the model change nothing.
            scope: the part of the memory that the tools can find and forget. Added documents belong to the user and
                the session of the scope. They replace no document of another user or session.

        Raises:
            SettingsError: a tool does not exist, or a field of the scope is invalid.
        """
        return self.scoped(**scope).tools(names)

    # ── looking and forgetting ───────────────────────────────────────────────────────────────────────────

    def get(self, name: str | Path) -> Document | Node:
        """Return a document with its whole text, or the segment, information point or overview with an id.

        Segments and citations are spans of the document's text. The document of a conversation has no turns.

        Args:
            name: the id of a node; or the key, the id or a path of the file of a document.

        Raises:
            DocumentNotFound: nothing has this name, or several documents were read from this path.
        """
        return inspection.document_reading.find(self._parts.store, name)

    def documents(
        self, *, after: str = "", limit: int | None = None, contains: str = "", **scope: Unpack[ScopeFields]
    ) -> RecordList[DocumentRecord]:
        """Return the documents of this namespace, sorted by key.

        If the scope has the field ``documents`` alone, the order is that of the field, with its repetitions.

        Args:
            after: return only documents with a greater key. The key need not exist.
            limit: the most documents to return. Without a scope the database reads no more than that.
            contains: return only documents whose key or title contains this text, in upper or lower case.
            scope: as for ``search``. A document is in a period if any part of it was said in the period.

        Raises:
            DocumentNotFound: a document of the scope is not in this memory.
            SettingsError: ``after`` is not a possible key, ``contains`` is no text, or the limit is no whole number of
                at least 1.
        """
        return RecordList(
            inspection.document_reading.records(
                self._parts, Scope(**scope), after=after, limit=limit, contains=contains
            )
        )

    def around(self, name: str, *, kind: Kind | None = None, most: int = 40) -> Neighbourhood:
        """Return the graph around a document, an entity, a kept question or an overview, to display. No model is used.

        Args:
            name: the key of a document, the text of a question, the name of an entity, the title or layer of an
                overview (of several, that of the most documents), or an id; tried in this order. At last, a part of an
                entity's name that no other name has.
            kind: try this kind alone: "document", "question", "entity" or "overview".
            most: the most neighbours of each kind and level. ``left_out`` counts the others. An entity may have twice
                as many segments and three times as many documents. A question may have as many cited segments in
                addition.

        Raises:
            DocumentNotFound: nothing has this name, or it is a part of several entity names. The message lists similar
                names, or these names.
            SettingsError: the kind does not exist, or ``most`` is below 1 or above 1,000,000.
        """
        return inspection.neighbourhood.look_around(self._parts.store, name, kind=kind, most=most)

    def map(self, *, most: int = 20_000) -> MemoryMap:
        """Return the documents and names of this memory at places in a plane, to display. No model is used.

        A map is computed once for a version of the memory. The documents and names with the most edges are on it;
        ``left_out`` counts the others.

        Args:
            most: the most nodes. Documents get at least half of the nodes, if there are so many documents.

        Raises:
            SettingsError: ``most`` is below 1 or above 1,000,000.
        """
        return self._cartographer.map(self._parts.store, most)

    def questions(self, question: str | None = None) -> list[Question]:
        """Return the stored questions (``ask(…, keep_trace=True)``), newest first.

        A question is stale if a document that was read for it was replaced later (``is_stale``, ``changes``). The
        answer and citations of a stale question are unchanged; its walk holds only the nodes that still exist.

        Args:
            question: return only the question with this text or id. If it is not stored, the list is empty.
        """
        if question is None:
            return self._parts.store.questions()
        ids = answering.saved_questions.question_ids(question, self.namespace)
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
        """Remove a document, all documents of a user, or a kept question.

        All nodes that rest on the document alone are removed too, and each kept question for which it was read.

        Args:
            document: its key or id, or a path of its file. One receipt is returned.
            user: remove all documents whose metadata name this user, and return a receipt for each; an empty list if
                there are none. After an interruption the same call removes the rest.
            session: with ``user``: only the documents of this session.
            question: the text or id of a kept question. Only the question is removed, and None is returned.

        Raises:
            DocumentNotFound: nothing has this name, or several documents were read from this path.
            QuestionNotFound: no such question is stored.
            SettingsError: not exactly one of a document, a user and a question is given.
        """
        scopes.require_one(document=document, user=user, session=session, question=question)
        self._parts.require_writable()
        if question is not None:
            with telemetry.span("forget_question"):
                return answering.saved_questions.forget(self._parts.store, question)
        with telemetry.span("forget") as event_fields, self._parts.answers.clear_at_exit():
            receipts = scopes.forget(self._parts.store, self._parts.scopes, document, user=user, session=session)
            self._parts.journal.clear()
            maintenance.reembed.delete_scratch_files(self._parts.reembedding_dir)
            event_fields |= (
                telemetry.describe_receipt(receipts[0]) if document is not None else {"documents": len(receipts)}
            )
        return receipts if document is None else receipts[0]

    def status(self) -> dict[str, Any]:
        """Return the state of the store as a dict.

        ``counts`` maps each node label and relationship type to its number in this namespace. ``schema`` holds the
        schema version and the embedder. ``documents_without`` maps each layer of the memory that is built to the number
        of documents that it does not cover yet; the key is absent if no such layer is built.
        """
        lacking = ingestion.count_uncovered_documents(self._parts.store)
        return {
            "counts": dict(self._parts.store.statistics()),
            "schema": dict(self._parts.store.schema),
            **({"documents_without": lacking} if lacking else {}),
        }

    def close(self) -> None:
        """Close the store if this memory opened it. A second call does nothing."""
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
