"""Random sequences of everything that writes, some of it interrupted, held against a graph that is built anew.

The invariant that is tried: what is there follows from which documents are stored with which layers, and from
nothing else: not from the order, nor from what was replaced, forgotten, interrupted or refused on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import combinations, count
from typing import Any

from fault_world import KEYS, TEXTS, JournaledModel, Place
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from memories import options
from own_memory_layer import Pairs
from store_snapshot import whole_graph

from memgraph_rag import Action, Document, Memory
from memgraph_rag.errors import DocumentNotFound, StoreError
from memgraph_rag.stores import open_store
from memgraph_rag.stores.layer_rows import DocumentWrite

LAYERS = tuple(chosen for number in range(4) for chosen in combinations(("entities", "points", "relations"), number))

KEY = st.sampled_from(KEYS)
VERSION = st.integers(1, 2)
CHOICE = st.sampled_from(LAYERS)
QUESTION = st.sampled_from(("Who built a wooden box?", "Who bought the mill?", "Where did the fox run?"))


class Sequences(RuleBasedStateMachine):
    """One namespace, written by memories that build different layers.

    ``place`` is set by who runs it; each example has a namespace of its own there.
    """

    place: Place
    _numbers = count()

    def __init__(self) -> None:
        super().__init__()
        self._open = ExitStack()
        namespace = f"{self.place.namespace}-{next(self._numbers)}"
        self._store = open_store(**self.place.address, namespace=namespace)
        self._open.callback(self._store.close)
        self._model = JournaledModel(self.place.cache)
        self._memories = {layers: self._memory(layers) for layers in LAYERS}
        self._model.attach(self._memories[()]._parts.journal)
        self._held: dict[str, tuple[int, frozenset[str]]] = {}
        self._tags: dict[str, dict[str, str]] = {}
        self._kept: dict[str, frozenset[str]] = {}
        self._changed: dict[str, set[str]] = {}

    def _memory(self, layers: tuple[str, ...]) -> Memory:
        return Memory(self._store, cache_dir=self.place.cache, **options(model=self._model, layers=layers))

    @rule(key=KEY, version=VERSION, layers=CHOICE)
    def add(self, key: str, version: int, layers: tuple[str, ...]) -> None:
        receipt = self._memories[layers].add(TEXTS[key, version], key=key)
        assert receipt.stale_questions == self._note(key, version, layers)

    @precondition(lambda self: self._held)
    @rule(tag=st.sampled_from(("", "a", "b")), place=st.integers(0, len(KEYS) - 1))
    def describe(self, tag: str, place: int) -> None:
        key = sorted(self._held)[place % len(self._held)]
        metadata = {"tag": tag} if tag else {}
        action = self._memories[()].add(TEXTS[key, self._held[key][0]], key=key, metadata=metadata).action
        assert action is (Action.UNCHANGED if metadata == self._tags.get(key, {}) else Action.DESCRIBED)
        self._tags[key] = metadata

    @rule(versions=st.tuples(*[st.integers(0, 2)] * len(KEYS)), layers=CHOICE)
    def add_many(self, versions: tuple[int, ...], layers: tuple[str, ...]) -> None:
        wanted = {key: version for key, version in zip(KEYS, versions, strict=True) if version}
        receipts = list(
            self._memories[layers].add_many(Document(TEXTS[key, version], key) for key, version in wanted.items())
        )
        assert [receipt.key for receipt in receipts] == list(wanted)  # type: ignore[union-attr]
        for receipt, (key, version) in zip(receipts, wanted.items(), strict=True):
            self._tags[key] = {}  # a document that is given whole has no metadata if it has none
            assert receipt.stale_questions == self._note(key, version, layers)  # type: ignore[union-attr]

    @rule(key=KEY)
    def forget(self, key: str) -> None:
        try:
            receipt = self._memories[()].forget(key)
            assert key in self._held
            assert receipt.forgotten_questions == len(
                [question for question in self._kept if self._rests(question, key)]
            )
        except DocumentNotFound:
            assert key not in self._held
        self._held.pop(key, None)
        self._tags.pop(key, None)
        self._drop_readers(key)

    @rule(question=QUESTION, strategy=st.sampled_from(("walk", "pecan", "full_context")))
    def ask(self, question: str, strategy: str) -> None:
        answer = self._memories[()].ask(question, strategy=strategy, keep_trace=True)
        keys = {record.id: record.key for record in self._store.documents()}
        self._kept[question] = frozenset(keys[step.node.document_id] for step in answer.trace)
        self._changed[question] = set()

    @precondition(lambda self: self._kept)
    @rule(statement=st.integers(0, 5), again=st.booleans())
    def ask_or_forget_a_question_and_be_refused(self, statement: int, again: bool) -> None:
        question = min(self._kept)
        with _failing_at(self._store, statement) as failed:
            try:
                if again:
                    self.ask(question, "walk")
                else:
                    self._memories[()].forget(question=question)
                    del self._kept[question], self._changed[question]
            except StoreError:
                assert failed

    @rule(layers=CHOICE)
    def deepen(self, layers: tuple[str, ...]) -> None:
        list(self._memories[()].deepen(layers=layers))
        self._held = {key: (version, had | _built(layers)) for key, (version, had) in self._held.items()}

    @rule()
    def build_overviews(self) -> None:
        list(self._memories[()].deepen(layers=[Pairs()]))
        assert len(self._store.overviews("pairs")) >= len(self._held) // 2

    @rule(key=KEY, version=VERSION, layers=CHOICE, prompts=st.integers(1, 3))
    def add_and_be_interrupted(self, key: str, version: int, layers: tuple[str, ...], prompts: int) -> None:
        left = count(prompts - 1, -1)

        def interrupt() -> None:
            if next(left) == 0:
                raise KeyboardInterrupt

        self._model.told = interrupt
        try:
            self.add(key, version, layers)
        except KeyboardInterrupt:
            pass
        finally:
            self._model.told = lambda: None

    @rule(key=KEY, version=VERSION, layers=CHOICE, statement=st.integers(0, 12))
    def add_and_be_refused(self, key: str, version: int, layers: tuple[str, ...], statement: int) -> None:
        with _failing_at(self._store, statement) as failed:
            try:
                self.add(key, version, layers)
            except StoreError:
                assert failed

    @precondition(lambda self: self._held)
    @rule(key=KEY, statement=st.integers(0, 8))
    def forget_and_be_refused(self, key: str, statement: int) -> None:
        with _failing_at(self._store, statement) as failed:
            try:
                self.forget(key)
            except StoreError:
                assert failed

    @invariant()
    def documents_are_those_that_were_told(self) -> None:
        records = self._store.documents()
        stored = {record.key: (record.characters, frozenset(record.layers), record.metadata) for record in records}
        assert stored == {
            key: (len(TEXTS[key, version]), layers, self._tags.get(key, {}))
            for key, (version, layers) in self._held.items()
        }

    @invariant()
    def overviews_say_what_their_documents_say(self) -> None:
        for overview in self._store.overviews("pairs"):
            below = self._store.top_nodes(overview.documents)
            assert {node.document_id for node in below} == {*overview.documents}
            assert overview.text == " ".join(node.text for node in below)

    @invariant()
    def questions_are_those_that_rest_on_what_is_held(self) -> None:
        keys = {record.id: record.key for record in self._store.documents()}
        questions = {question.text: question for question in self._store.questions()}
        assert questions.keys() == self._kept.keys()
        for text, question in questions.items():
            assert {change.document_key for change in question.changes} == self._changed[text]
            read = {keys[step.node.document_id] for step in question.answer.trace}
            assert read == self._kept[text] - self._changed[text]
            assert {cited.document_key for cited in question.answer.citations} <= self._kept[text] <= set(keys.values())

    def teardown(self) -> None:
        try:
            assert self._memories[()].maintenance.examine() == []
            if self._store.overview_ids():
                list(self._memories[()].maintenance.remove_layer("pairs"))
            for question in self._kept:
                self._memories[()].forget(question=question)
            graph = whole_graph(self._store, self.place.address)
            self.build_overviews()
            for key in self._held:
                self._memories[()].forget(key)
            assert whole_graph(self._store, self.place.address) == ([], [])
            for key, (version, layers) in sorted(self._held.items(), reverse=True):
                self._memories[tuple(sorted(layers))].add(
                    TEXTS[key, version], key=key, metadata=self._tags.get(key, {})
                )
            assert graph == whole_graph(self._store, self.place.address)
            for key in self._held:
                self._memories[()].forget(key)
        finally:
            self._open.close()

    def _note(self, key: str, version: int, layers: tuple[str, ...]) -> int:
        """A document is there in that version; how many questions rested on the one before."""
        held, stale = self._held.get(key), 0
        if held is not None and held[0] != version:
            for question, changed in self._changed.items():
                stale += self._rests(question, key) and key not in changed
                changed |= {key} & self._kept[question]
        known = held[1] if held is not None and held[0] == version else frozenset[str]()
        self._held[key] = (version, known | _built(layers))
        return stale

    def _rests(self, question: str, key: str) -> bool:
        return key in self._kept[question]

    def _drop_readers(self, key: str) -> None:
        for question in [question for question in self._kept if self._rests(question, key)]:
            del self._kept[question], self._changed[question]


def _built(layers: tuple[str, ...]) -> frozenset[str]:
    """What is built where these layers are asked for: relations rest on entities."""
    return frozenset(layers) | ({"entities"} if "relations" in layers else set())


class _failing_at:  # noqa: N801 - reads as a word
    """A store whose n-th statement within a transaction fails; true once it did."""

    def __init__(self, store: Any, statement: int) -> None:
        self._store = store
        self._statement = statement
        self._failed = False

    def __bool__(self) -> bool:
        return self._failed

    def __enter__(self) -> _failing_at:
        transaction: Callable[..., Any] = self._store._transaction
        left = count(self._statement, -1)

        def check(do: Callable[..., Any]) -> Callable[..., Any]:
            def checked(*arguments: Any, **given: Any) -> Any:
                if next(left) == 0:
                    self._failed = True
                    message = "a statement failed"
                    raise StoreError(message)
                return do(*arguments, **given)

            return checked

        def fail(operation: str, work: Callable[..., Any], *given: Any, **options: Any) -> Any:
            def checked_work(write: DocumentWrite) -> Any:
                return work(replace(write, run=check(write.run), create=check(write.create)))

            return transaction(operation, checked_work, *given, **options)

        self._store._transaction = fail
        return self

    def __exit__(self, *_: object) -> None:
        del self._store._transaction
