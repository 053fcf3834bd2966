"""Test that deeds without a common rule are joined by their objects' words and the verb's meaning if one is denied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from memories import options

from memgraph_rag import Memory
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.types import Evidence, Matrix, RelevanceCurve


class VerbEmbedder(FakeEmbedder):
    """Takes "flew" for "been", and is calibrated."""

    relevance_curve = RelevanceCurve(half=0.5, slope=10.0)

    def embed(self, texts: Sequence[str]) -> Matrix:
        return super().embed([text.replace("flew", "been") for text in texts])


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", **options(layers=(), embedder=VerbEmbedder())) as memory:
        yield memory


def say(memory: Memory, *texts: str, user: str = "ann", session: str = "1", role: str = "user") -> None:
    turns = [
        {"role": role, "content": text, "time": f"2024-05-{day:02}T10:00"} for day, text in enumerate(texts, start=1)
    ]
    memory.session(user=user, session=session).add(turns)


def contradicted(evidence: Sequence[Evidence]) -> dict[str, list[str]]:
    """Return the contradicted results, each with the quotes that contradict it."""
    return {
        item.text.partition(": ")[2].strip(): [rival.quote for rival in item.standing.rivals]
        for item in evidence
        if item.standing is not None and item.standing.state == "contradicted"
    }


NEVER, DID = "I have never been to Peru.", "My brother and I flew to Peru."


def test_another_verb_of_the_same_deed_contradicts(memory: Memory) -> None:
    say(memory, NEVER, DID)

    best = memory.search("Have I been to Peru?", user="ann")

    assert contradicted(best[:2]) == {NEVER: [DID], DID: [NEVER]}


@pytest.mark.parametrize(
    "other",
    [
        "My brother and I flew to Chile.",
        "My brother flew to Peru.",
        "I might have been to Peru if I had money.",
        "I mended the shelf with the picture that shows all of Peru from above.",
    ],
)
def test_other_objects_people_and_verbs_contradict_nothing(memory: Memory, other: str) -> None:
    say(memory, NEVER, other)
    assert contradicted(memory.search("Have I been to Peru?", user="ann")) == {}


def test_deeds_of_two_users_or_of_a_machine_contradict_nothing(memory: Memory) -> None:
    say(memory, NEVER, user="ann")
    say(memory, DID, user="tom")
    say(memory, DID, role="assistant", session="2")
    assert contradicted(memory.search("Have I been to Peru?")) == {}


def test_without_a_denial_nothing_is_embedded_again(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    say(memory, "I flew to Peru.", "I live in Rome.")
    batches: list[int] = []
    embed = VerbEmbedder.embed

    def counted(self: VerbEmbedder, texts: Sequence[str]) -> Matrix:
        batches.append(len(texts))
        return embed(self, texts)

    monkeypatch.setattr(VerbEmbedder, "embed", counted)
    assert memory.search("Have I been to Peru?", user="ann")
    assert batches == [1]
