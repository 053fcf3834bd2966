"""A scope is a wall in code: whatever is asked within it, no reader gives a word from outside, in any field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from all_strategies import STRATEGIES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memories import options

from memgraph_rag import Limits, Memory
from memgraph_rag.search.modes import list_known_modes
from memgraph_rag.server.tools import recall
from memgraph_rag.types import Scope, ScopeFields

QUERY = "Where do I live and what do I like about the river?"
DAYS = ("2026-01-10", "2026-02-10", "2026-03-10")


@dataclass(frozen=True)
class Said:
    """One segment, known by a word that stands nowhere else."""

    word: str
    key: str
    user: str | None
    session: str | None
    project: str | None
    day: str


def word(number: int) -> str:
    return "Zq" + "".join("bcdfghjk"[int(digit)] for digit in f"{number:03o}") + "a"


def in_scope(said: Said, scope: dict[str, Any]) -> bool:
    """What a scope means, by another way than the code that is tested."""
    end = scope.get("until") or (scope["at"] + "T99" if scope.get("at") else "9999")
    return (
        (scope.get("documents") is None or said.key in scope["documents"])
        and scope.get("user") in (None, said.user)
        and scope.get("session") in (None, said.session)
        and (scope.get("where") is None or said.project == scope["where"]["project"])
        and (scope.get("since") or "") <= said.day < end
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, list[Said]]]:
    layers = ("entities", "points", "relations", "facts", "outline", "context")
    with Memory(tmp_path_factory.mktemp("walls") / "notes.lbug", **options(layers=layers)) as memory:
        told: list[Said] = []

        def new(key: str, user: str | None, session: str | None, project: str | None, day: str) -> str:
            told.append(Said(word(len(told)), key, user, session, project, day))
            return told[-1].word

        for user, session in (("ann", "1"), ("ann", "2"), ("bob", "1")):
            key = f"session/{user}/{session}/0"
            for day in DAYS:
                lines = [f"I live in {new(key, user, session, None, day)}.",
                         f"Please always mention the river {new(key, user, session, None, day)}.",
                         f"My favourite river is the {new(key, user, session, None, day)}."]  # fmt: skip
                memory.session(user=user, session=session).add(
                    [{"role": "user", "content": line, "time": f"{day}T10:00"} for line in lines]
                )
        for user in ("ann", "bob", None):
            for project in ("mill", None):
                for day in DAYS:
                    metadata = {"user": user, "project": project, "date": day}
                    key = f"{user} {project} {day}"
                    words = [new(key, user, None, project, day) for _ in range(3)]
                    met = f"Tom of {words[0]} met Eve at the river."
                    saw = f"Eve saw the mill of {words[1]}. It rained because {words[2]} sang."
                    memory.add(
                        f"# River\n\n{met}\n\n## Mill\n\n{saw}",
                        key=key,
                        metadata={name: value for name, value in metadata.items() if value is not None},
                    )
        list(memory.deepen())
        list(memory.deepen(layers=["library"]))
        yield memory, told


def scopes(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    times = st.sampled_from([{}, {"since": DAYS[1]}, {"until": DAYS[1]}, {"at": DAYS[1]}, {"at": "2026-01-01"},
                             {"since": DAYS[1], "until": DAYS[2]}])  # fmt: skip
    owners = st.sampled_from([{}, {"user": "ann"}, {"user": "bob"}, {"user": "eve"}, {"session": "1"},
                              {"user": "ann", "session": "2"}])  # fmt: skip
    others = st.sampled_from([{}, {"where": {"project": "mill"}}, {"documents": keys[::2]}, {"documents": keys[:1]},
                              {"documents": keys[1::3], "where": {"project": "mill"}}])  # fmt: skip
    return st.tuples(owners, times, others).map(lambda parts: {**parts[0], **parts[1], **parts[2]})


def readings(memory: Memory, scope: dict[str, Any], strategy: str, mode: Any, archive: Path) -> dict[str, str]:
    """What each public reader gives, with every field, as text."""
    owner = {name: value for name, value in scope.items() if name in ("user", "session")}
    time = {name: value for name, value in scope.items() if name in ("since", "until", "at")}
    call: Any = SimpleNamespace(request_context=SimpleNamespace(lifespan_context=SimpleNamespace(memory=memory)))
    given: dict[str, Any] = {
        "search": lambda: memory.search(QUERY, mode=mode, k=20, **scope),
        "wishes": lambda: memory.scoped(**scope).wishes(QUERY),
        "ask": lambda: memory.ask(QUERY, strategy=strategy, **scope),
        "stream": lambda: list(memory.stream(QUERY, limits=Limits(nodes=3), **scope)),
        "documents": lambda: memory.documents(**scope),
        "recall over MCP": lambda: recall(call=call, query=QUERY, **scope),
    }
    search, ask = memory.tools(("search", "ask"), **scope)
    given["search tool"] = lambda: search.to_text({"query": QUERY})
    given["ask tool"] = lambda: ask.to_text({"question": QUERY})
    if set(owner) | set(time) == set(scope):
        search_in, ask_in = memory.tools(("search", "ask"), **owner)
        given["search tool with a time"] = lambda: search_in.to_text({"query": QUERY, **time})
        if not {"since", "until"} & set(time):
            given["ask tool with a time"] = lambda: ask_in.to_text({"question": QUERY, **time})
    view = memory.scoped(**scope)
    given |= {
        "search of a view": lambda: view.search(QUERY, mode=mode, k=20),
        "ask of a view": lambda: view.ask(QUERY, strategy=strategy),
        "stream of a view": lambda: list(view.stream(QUERY, limits=Limits(nodes=3))),
        "documents of a view": view.documents,
    }
    if not time:
        given["export"] = lambda: (memory.maintenance.export_to(archive, **scope), archive.read_text())[1]
        given["export of a view"] = lambda: (view.export_to(archive), archive.read_text())[1]
    if "user" in owner:
        session = memory.session(**owner) if "session" in owner else memory.session(user=owner["user"])
        within: Any = {"within": "session"} if "session" in owner else {}
        rest = {name: value for name, value in scope.items() if name not in owner}
        given["recall of a view's session"] = lambda: view.session().recall(QUERY, k=20)
        given["ask of a view's session"] = lambda: view.session().ask(QUERY)
        given["recall of a session"] = lambda: session.recall(QUERY, k=20, **within, **rest)
        given["ask of a session"] = lambda: session.ask(QUERY, **within, **rest)
    return {name: repr(reader()) for name, reader in given.items()}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_reader_gives_words_from_outside_its_scope(
    world: tuple[Memory, list[Said]], tmp_path: Path, data: st.DataObject
) -> None:
    memory, told = world
    scope = data.draw(scopes(sorted({said.key for said in told})))
    strategy = data.draw(st.sampled_from(sorted(STRATEGIES)))
    mode = data.draw(st.sampled_from(list_known_modes()))
    outside = {said.word.casefold() for said in told if not in_scope(said, scope)}

    for reader, text in readings(memory, scope, strategy, mode, tmp_path / "notes.jsonl").items():
        leaks = {canary for canary in outside if canary in text.casefold()}
        assert not leaks, (reader, scope, strategy, mode, leaks)


def test_readers_give_what_is_in_their_scope(world: tuple[Memory, list[Said]], tmp_path: Path) -> None:
    memory, told = world
    inside = {said.word.casefold() for said in told if said.user == "ann"}

    for reader, text in readings(memory, {"user": "ann"}, "pecan", "graph", tmp_path / "notes.jsonl").items():
        if not reader.startswith("documents"):  # records hold no words
            assert any(canary in text.casefold() for canary in inside), reader


def test_scope_and_its_keywords_have_the_same_fields() -> None:
    assert [field.name for field in fields(Scope)] == list(ScopeFields.__annotations__)
