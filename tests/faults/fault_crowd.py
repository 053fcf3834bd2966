"""Many who add, replace, forget, ask and search at once, in threads and in processes.

Each writer has keys of its own, so that what must be there in the end is known; all write some keys together. The
invariants that are tried: nobody gets an error; a reader sees a document whole, in one of its versions, or not at
all; in the end the graph is that of what the last receipts say, node for node.
"""

from __future__ import annotations

import multiprocessing
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from all_strategies import STRATEGIES
from fault_kills import context
from fault_tally import Tally
from fault_world import Place, open_journaled
from memories import FOX, RIVER

from memgraph_rag import Limits, Memory
from memgraph_rag.errors import DocumentNotFound
from memgraph_rag.types import Receipt

OWN_KEYS = 3
SHARED = ("everybody's", "nobody's")
VERSIONS = 4
MODES = ("graph", "hybrid", "keywords", "vector")
QUESTIONS = ("Who built a wooden box?", "What did the miller sell?", "Who met Eve in Oslo?")


def text_of(key: str, version: int) -> str:
    """A text that says which version of which key it is, in each sentence."""
    story = (FOX, RIVER)[version % 2]
    mark = f" of {key} {version}."
    return story.replace(".", mark)


def version_in(key: str, text: str) -> int | None:
    """The version that a text is, whole; None where it is none."""
    return next((version for version in range(VERSIONS) if text_of(key, version) == text), None)


@dataclass
class Told:
    """What one of the crowd has to say in the end."""

    calls: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    held: dict[str, int] = field(default_factory=dict)
    receipts: dict[str, Receipt] = field(default_factory=dict)


def write_on(memory: Memory, name: str, seconds: float, seed: int) -> Told:
    """Add, replace and forget, until the time is over."""
    chance = random.Random(seed)
    report = Told()
    own = [f"{name}-{number}" for number in range(OWN_KEYS)]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        key = chance.choice([*own, *own, *SHARED])
        try:
            if key in report.held and chance.random() < 0.3:
                memory.forget(key)
                report.calls["forget"] += 1
                del report.held[key]
            else:
                version = chance.randrange(VERSIONS)
                receipt = memory.add(text_of(key, version), key=key)
                report.calls[receipt.action.value] += 1
                report.held[key] = version
                report.receipts[key] = receipt
        except DocumentNotFound as error:
            if key in SHARED:
                report.held.pop(key, None)
            else:
                report.errors.append(f"{name}: {error}")
        except Exception as error:  # noqa: BLE001 - any is a finding
            report.errors.append(f"{name}: {type(error).__name__}: {error} ({error.__cause__!r})")
    return report


def read_on(memory: Memory, name: str, seconds: float, seed: int) -> Told:
    """Ask, search and look, until the time is over."""
    chance = random.Random(seed)
    report = Told()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        what = chance.choice(("search", "ask", "look"))
        try:
            report.torn += _READ[what](memory, chance)
            report.calls[what] += 1
        except DocumentNotFound:
            report.calls["gone"] += 1
        except Exception as error:  # noqa: BLE001 - any is a finding
            report.errors.append(f"{name}, {what}: {type(error).__name__}: {error} ({error.__cause__!r})")
    return report


def _search(memory: Memory, chance: random.Random) -> Iterable[str]:
    mode: Any = chance.choice(MODES)
    for evidence in memory.search(chance.choice(QUESTIONS), mode=mode, k=5):
        if not _stands(evidence.document_key, evidence.segment.start, evidence.segment.text):
            yield f"search, {mode}: {evidence.document_key!r} {evidence.segment.text!r}"


def _ask(memory: Memory, chance: random.Random) -> Iterable[str]:
    strategy = chance.choice(sorted(STRATEGIES))
    answer = memory.ask(chance.choice(QUESTIONS), strategy=strategy, limits=Limits(nodes=4))
    for cited in answer.citations:
        if not _stands(cited.document_key, cited.start, cited.quote):
            yield f"ask, {strategy}: {cited}"


def _look(memory: Memory, chance: random.Random) -> Iterable[str]:
    records = memory.documents()
    if not records:
        return
    record = chance.choice(records)
    text = "".join(segment.text for segment in memory._parts.store.list_segments(record.id))
    if text and version_in(record.key, text) is None:
        yield f"segments of {record.key!r}: {text!r}"
    counts = memory._parts.store.count_by_document([record.id])[record.id]
    if counts and not counts.get("Segment"):
        yield f"counts of {record.key!r}: {dict(counts)}"


_READ: dict[str, Callable[[Memory, random.Random], Iterable[str]]] = {"search": _search, "ask": _ask, "look": _look}


def _stands(key: str, start: int, quote: str) -> bool:
    return any(text_of(key, version)[start : start + len(quote)] == quote for version in range(VERSIONS))


def take_part(place: Place, roles: list[str], seconds: float, seed: int, sender: Any) -> None:
    """One process: a thread for each role, all on one memory."""
    memory, _ = open_journaled(place)
    with memory:
        sender.send(_together(memory, roles, seconds, seed))
    sender.close()


def _together(memory: Memory, roles: list[str], seconds: float, seed: int) -> list[Told]:
    reports: list[Told] = []

    def play(role: str, number: int) -> None:
        part = write_on if role.startswith("writer") else read_on
        reports.append(part(memory, role, seconds, seed + number))

    threads = [threading.Thread(target=play, args=(role, number)) for number, role in enumerate(roles)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return reports


def crowd(place: Place, *, writers: int, readers: int, seconds: float, processes: int, seed: int = 0) -> Tally:
    """Writers and readers for some time, spread over processes; one process where the engine allows no more."""
    roles = [f"writer{number}" for number in range(writers)] + [f"reader{number}" for number in range(readers)]
    if processes == 1:
        memory, _ = open_journaled(place)
        with memory:
            reports = _together(memory, roles, seconds, seed)
    else:
        reports = _in_processes(place, roles, seconds, processes, seed)
    return _settle(place, reports)


def _in_processes(place: Place, roles: list[str], seconds: float, processes: int, seed: int) -> list[Told]:
    made = context()
    children: list[tuple[Any, Any]] = []
    for number in range(processes):
        listening, tell = made.Pipe(duplex=False)
        arguments = (place, roles[number::processes], seconds, seed + 100 * number, tell)
        child = made.Process(target=take_part, args=arguments)
        child.start()
        tell.close()
        children.append((child, listening))
    reports: list[Told] = []
    for child, listening in children:
        try:
            if listening.poll(seconds + 120):
                reports += listening.recv()
            else:
                reports.append(Told(errors=["a process did not end"]))
        except EOFError:
            reports.append(Told(errors=["a process died"]))
        child.join(30)
        if child.is_alive():
            child.kill()
    assert multiprocessing.active_children() == []
    return reports


def _settle(place: Place, reports: list[Told]) -> Tally:
    """Compare what is there with what was told, and with a graph that is built anew."""
    tally = Tally(tried=sum(sum(report.calls.values()) for report in reports))
    print(f"crowd: {dict(sum((report.calls for report in reports), Counter()))}")
    errors = [error for report in reports for error in report.errors]
    torn = [text for report in reports for text in report.torn]
    for text in (errors + torn)[:10]:
        print(f"crowd: {text[:500]}")
    tally.lost += len(errors)
    tally.left_over += len(torn)
    held = {key: version for report in reports for key, version in report.held.items() if key not in SHARED}
    receipts = {key: receipt for report in reports for key, receipt in report.receipts.items()}
    memory, _ = open_journaled(place)
    with memory:
        records = {record.key: record for record in memory.documents()}
        texts = {key: _text(memory, record.id) for key, record in records.items()}
        for key, version in held.items():
            if texts.get(key) != text_of(key, version):
                print(f"crowd: {key!r} should be version {version}, is {version_in(key, texts.get(key, ''))}")
                tally.lost += 1
            elif (counts := memory._parts.store.count_by_document([records[key].id])[records[key].id]) != receipts[
                key
            ].counts:
                print(f"crowd: {key!r} has {counts}, told {receipts[key].counts}")
                tally.lost += 1
        unknown = set(records) - set(held) - set(SHARED)
        torn_now = [key for key, text in texts.items() if version_in(key, text) is None]
        tally.left_over += len(unknown) + len(torn_now)
        tally.left_over += not _is_as_built_anew(place, memory, texts)
    return tally


def _text(memory: Memory, document_id: str) -> str:
    return "".join(segment.text for segment in memory._parts.store.list_segments(document_id))


def _is_as_built_anew(place: Place, memory: Memory, texts: dict[str, str]) -> bool:
    from store_snapshot import whole_graph

    graph = whole_graph(memory._parts.store, place.address)
    for record in memory.documents():
        memory.forget(record.id)
    emptied = whole_graph(memory._parts.store, place.address)
    for key, text in sorted(texts.items()):
        memory.add(text, key=key)
    anew = whole_graph(memory._parts.store, place.address)
    for key in texts:
        memory.forget(key)
    if emptied != ([], []):
        print(f"crowd: after all was forgotten {len(emptied[0])} nodes and {len(emptied[1])} edges are left")
    if graph != anew:
        for name, lines, other in (("nodes", graph[0], anew[0]), ("edges", graph[1], anew[1])):
            print(f"crowd: {name}: {len(set(lines) - set(other))} too many, {len(set(other) - set(lines))} missing")
            print("crowd: e.g.", [line[:300] for line in (set(lines) ^ set(other))][:2])
    return graph == anew and emptied == ([], [])


def _alone(part: Callable[[Memory, int], object], place: Place, number: int, sender: Any) -> None:
    try:
        memory, _ = open_journaled(place)
        with memory:
            part(memory, number)
        sender.send("")
    except Exception as error:  # noqa: BLE001 - any is a finding
        sender.send(f"{type(error).__name__}: {error}")


def _errors_of(part: Callable[[Memory, int], object], place: Place, processes: int) -> list[str]:
    """What went wrong in processes that each open the memory and do their part, at the same moment."""
    made, children = context(), []
    for number in range(processes):
        listening, tell = made.Pipe(duplex=False)
        child = made.Process(target=_alone, args=(part, place, number, tell))
        child.start()
        tell.close()
        children.append((child, listening))
    errors: list[str] = []
    for child, listening in children:
        errors.append(listening.recv() if listening.poll(180) else "it did not end")
        child.join(30)
    for error in filter(None, errors):
        print(f"{part.__name__}: {error[:500]}")
    return [error for error in errors if error]


def _add_first(memory: Memory, number: int) -> None:
    memory.add(text_of(f"first-{number}", 1), key=f"first-{number}")


def opened_together(place: Place, processes: int = 8) -> Tally:
    """Processes that all find a new database, make its schema and add a document, at the same moment."""
    tally = Tally(tried=processes, lost=len(_errors_of(_add_first, place, processes)))
    memory, _ = open_journaled(place)
    with memory:
        keys = {record.key for record in memory.documents()}
        tally.lost += len({f"first-{number}" for number in range(processes)} - keys)
        tally.left_over += not _is_as_built_anew(place, memory, {key: text_of(key, 1) for key in sorted(keys)})
    return tally


TURNS = 40  # more than a page takes
_SAID = [{"role": "user", "content": f"I saw {number} trees.", "id": number} for number in range(TURNS)]


def _say(memory: Memory, number: int) -> None:
    """Add turns of its own, and with them, as an agent that sends its history does, the turn that all know."""
    session = memory.session(user="team", session="1")
    for turn in _SAID[number % 2 :: 2]:
        session.add([_SAID[0], turn])


def said_together(place: Place, processes: int = 2) -> Tally:
    """Processes that write one session, turn by turn: each turn is there once, and each writer's are in order."""
    tally = Tally(tried=processes, lost=len(_errors_of(_say, place, processes)))
    memory, _ = open_journaled(place)
    with memory:
        records = sorted(memory.documents(), key=lambda record: int(record.key.rpartition("/")[2]))
        text = "".join(_text(memory, record.id) for record in records)
        trees = [int(number) for number in re.findall(r"user: I saw (\d+) trees\.\n\n", text)]
        tally.lost += len(set(range(TURNS)) - set(trees))
        tally.left_over += len(trees) - len(set(trees))
        orders = ([number for number in trees if number and number % 2 == parity] for parity in (0, 1))
        tally.left_over += sum(order != sorted(order) for order in orders)
        tally.left_over += len(memory.maintenance.examine())
    return tally
