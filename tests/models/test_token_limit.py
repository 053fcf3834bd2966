"""A limit on the model's tokens: what is finished is stored, the rest is named, and the next call goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, LONG, RIVER, OpenMemory, graph_of

from memgraph_rag import Limits, Memory
from memgraph_rag.errors import SettingsError, TokenLimitReached
from memgraph_rag.models.engine.language_model import journal_key
from memgraph_rag.models.files.journal import Journal
from memgraph_rag.models.wrappers.token_limit import LimitedModel
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Document, Generation, Prompt, Receipt

STORIES = [Document(FOX, "fox"), Document(RIVER, "river"), Document(LONG, "long")]


class Counting(FakeLanguageModel):
    """Counts what it was asked for; a journal answers what it knows, as in the real models."""

    def __init__(self, journal: Journal | None = None) -> None:
        super().__init__()
        self.spent = 0
        self.prompts: list[Prompt] = []
        self._journal = journal

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int, **more: Any) -> list[Generation]:
        keys = [journal_key(self.name, prompt, max_tokens, None) for prompt in prompts]
        kept = self._journal.find_all(keys) if self._journal else {}
        new = [place for place in range(len(prompts)) if place not in kept]
        written = super().generate([prompts[place] for place in new], max_tokens=max_tokens, **more)
        self.prompts += [prompts[place] for place in new]
        for place, generation in zip(new, written, strict=True):
            self.spent += generation.usage.prompt_tokens + generation.usage.generated_tokens
            kept[place] = generation
            if self._journal:
                self._journal.keep(keys[place], generation)
        return [kept[place] for place in range(len(prompts))]


def cost_of(open_memory: OpenMemory, *stories: Document) -> int:
    model = Counting()
    memory = open_memory(model=model, namespace="alone")
    list(memory.add_many(stories))
    for story in stories:
        memory.forget(story.key or "")
    return model.spent


def names(memory: Memory) -> set[str]:
    return {record.key for record in memory.documents()}


@pytest.mark.data
def test_limit_stores_finished_documents_and_names_the_others(open_memory: OpenMemory) -> None:
    model = Counting()
    memory = open_memory(model=model)
    outcomes = list(memory.add_many(STORIES, limits=Limits(tokens=cost_of(open_memory, STORIES[0]) + 1)))
    stored = {outcome.key for outcome in outcomes if isinstance(outcome, Receipt)}
    failures = [outcome for outcome in outcomes if not isinstance(outcome, Receipt)]
    assert stored
    assert failures
    assert stored == names(memory)
    assert stored | {failure.source for failure in failures} == {"fox", "river", "long"}
    assert all(isinstance(failure.error, TokenLimitReached) for failure in failures)
    assert all("Call it again to go on" in str(failure.error) for failure in failures)


def test_limited_calls_build_the_graph_of_an_unlimited_call(open_memory: OpenMemory, tmp_path: Path) -> None:
    model = Counting(Journal(tmp_path / "journal"))
    memory = open_memory(model=model)
    calls = 0
    while any(
        not isinstance(outcome, Receipt) for outcome in list(memory.add_many(STORIES, limits=Limits(tokens=300)))
    ):
        calls += 1
        assert calls < 50
    limited = graph_of(memory)
    for story in STORIES:
        memory.forget(story.key or "")
    whole = Counting()
    unlimited = open_memory(model=whole)
    list(unlimited.add_many(STORIES))
    assert calls > 1
    assert graph_of(unlimited) == limited
    assert len(model.prompts) == len(set(model.prompts)) == len(whole.prompts)


def test_spent_limit_allows_layers_without_a_model(open_memory: OpenMemory) -> None:
    memory = open_memory(model=Counting())
    memory.add(STORIES[1])
    first, second = memory.add_many([STORIES[2], STORIES[1]], limits=Limits(tokens=1))
    assert not isinstance(first, Receipt)
    assert isinstance(second, Receipt)
    assert names(memory) == {"river"}


def test_spent_limit_ends_model_calls(open_memory: OpenMemory) -> None:
    model = Counting()
    memory = open_memory(model=model)
    more = [Document(f"{FOX} {number}", f"fox {number}") for number in range(300)]
    outcomes = list(memory.add_many(more, limits=Limits(tokens=1)))
    assert len(model.prompts) == 1
    assert len(outcomes) == 300
    assert len(names(memory)) == sum(isinstance(outcome, Receipt) for outcome in outcomes) <= 1


def test_deepen_keeps_the_limit(open_memory: OpenMemory) -> None:
    memory = open_memory(model=Counting(), layers=("entities",))
    list(memory.add_many(STORIES))
    assert any(not isinstance(outcome, Receipt) for outcome in memory.deepen(limits=Limits(tokens=1)))
    assert all(isinstance(outcome, Receipt) for outcome in memory.deepen())


def test_limit_is_exceeded_by_one_prompt_at_most() -> None:
    prompts = [Prompt("Sum up.", (FOX * count,)) for count in range(1, 30)]
    for most in (1, 500, 3000, 9000):
        model = Counting()
        with pytest.raises(TokenLimitReached) as caught:
            LimitedModel(model, most).generate(prompts, max_tokens=50)
        longest = max(model.count_tokens([FOX])) * 29
        assert most <= model.spent == caught.value.tokens < most + longest + 16 * 50


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "many", 10**13])
def test_invalid_limit_is_refused_first(open_memory: OpenMemory, most: object) -> None:
    memory = open_memory()
    with pytest.raises(SettingsError, match="Expected tokens"):
        memory.add_many(STORIES, limits=Limits(tokens=most))
    assert not names(memory)
