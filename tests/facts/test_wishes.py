"""Test that a user's instructions and preferences come with queries for which they matter, without superseded ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from memories import options

from memgraph_rag import Memory
from memgraph_rag.facts.wishes import MOST_WISHES
from memgraph_rag.types import Matrix

SUBJECTS = ("metric units", "dates", "dependencies", "short replies", "coffee")


class BySubject:
    """Embeds texts so that texts with the same subjects are near one another."""

    name, dimension = "by subject", len(SUBJECTS) + 1

    def embed(self, texts: list[str]) -> Matrix:
        rows = np.array([[*(subject in text for subject in SUBJECTS), 0.1] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", **options(layers=(), embedder=BySubject())) as memory:
        yield memory


def say(memory: Memory, *texts: str, day: str, user: str = "ann", session: str = "1") -> None:
    turns = [{"role": "user", "content": text, "time": day} for text in texts]
    memory.session(user=user, session=session).add(turns)


def wished(memory: Memory, query: str, *, at: str | None = None) -> list[str]:
    return [item.standing.value for item in memory.scoped(user="ann", at=at).wishes(query) if item.standing]


def test_recall_returns_wishes_relevant_to_the_question(memory: Memory) -> None:
    say(memory, "Always answer in metric units.", day="2024-01-01")
    say(memory, "Always write the month first when I ask about dates.", day="2024-01-02")
    say(memory, "I prefer few dependencies.", day="2024-01-03")
    say(memory, "I prefer strong coffee.", day="2024-01-04", user="tom")

    assert wished(memory, "Which dates suit?") == [
        "Always write the month first when I ask about dates",
        "Always answer in metric units",
    ]
    assert wished(memory, "Which dependencies?")[0] == "I prefer few dependencies"
    assert wished(memory, "coffee") == ["Always answer in metric units"]
    (wish, *_) = memory.scoped(user="ann").wishes("Which dependencies?")
    assert (wish.why, wish.standing and wish.standing.since) == ({"preference": 1}, "2024-01-03")


def test_newer_wish_supersedes_older_wish_of_its_subject(memory: Memory) -> None:
    say(memory, "Always give short replies.", day="2024-01-01")
    say(memory, "Never give short replies.", day="2024-02-01", session="2")

    assert wished(memory, "Hello") == ["Never give short replies"]
    assert wished(memory, "Hello", at="2024-01-15") == ["Always give short replies"]
    memory.forget(user="ann", session="2")
    assert wished(memory, "Hello") == ["Always give short replies"]


def test_newest_wishes_come_first_up_to_a_limit(memory: Memory) -> None:
    for month, subject in enumerate(SUBJECTS, 1):
        say(memory, f"Always mention {subject}.", day=f"2024-{month:02}-01")
    best = memory.scoped(user="ann").wishes("Hello")
    assert len(best) == MOST_WISHES
    times = [item.segment.time for item in best]
    assert times == sorted(times, reverse=True)


def test_recall_returns_wishes_after_the_evidence(memory: Memory) -> None:
    say(memory, "Always answer in metric units.", *[f"I saw {n} trees." for n in range(20)], day="2024-01-01")
    recalled = memory.session(user="ann", session="new").recall("How many trees?", k=2)
    assert [item.why for item in recalled][-1] == {"instruction": 1}
    assert len(recalled) == 3
    assert all(not item.why.keys() & {"instruction"} for item in memory.search("How many trees?", k=2))


def test_words_of_another_speaker_are_no_wish_of_the_user(memory: Memory) -> None:
    wish = "Always answer in metric units."
    memory.session(user="ann").add([{"role": "Tom", "content": wish}, {"role": "assistant", "content": wish}])
    say(memory, f"Here is the mail that I got:\n\nDear Ann,\n{wish}", f"> {wish}\n\nSpam?", day="2024-01-01")

    assert memory.scoped().wishes("Hello") == []
    say(memory, wish, day="2024-01-02")
    assert wished(memory, "Hello") == ["Always answer in metric units"]


def test_wishes_are_compared_by_the_embedder_of_the_store(tmp_path: Path) -> None:
    class Renamed(BySubject):
        name = "by subject, later"
        asked = 0

        def embed(self, texts: list[str]) -> Matrix:
            self.asked += 1
            return super().embed(texts)

        def count_tokens(self, texts: list[str]) -> list[int]:
            return [len(text.split()) for text in texts]

    with Memory(tmp_path / "notes.lbug", **options(layers=(), embedder=BySubject())) as memory:
        say(memory, "I prefer few dependencies.", day="2024-01-03")
        assert wished(memory, "Which dependencies?")
        later = Renamed()
        memory.maintenance.reembed(later)
        before = later.asked
        assert wished(memory, "Which dependencies?") == ["I prefer few dependencies"]
        assert later.asked > before
