"""Costly layers follow what was remembered; what fails, is forgotten or is interrupted on the way."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from mcp_agents import in_loop
from memories import FOX, RIVER

from memgraph_rag.errors import ModelUnavailable
from memgraph_rag.testing import FakeLanguageModel

SOON = 20.0
IN_ONE_ERA = pytest.mark.parametrize("connect", ["2026-07-28"], indirect=True)


class HeldModel(FakeLanguageModel):
    """Writes nothing before it is let go; tells of each tenth of a second that it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.started, self.let_go = threading.Event(), threading.Event()

    def generate(self, prompts: Any, *, progress: Any = None, **more: Any) -> Any:
        self.started.set()
        while not self.let_go.wait(0.02):
            if progress is not None:
                progress("summarising", 0, len(prompts))
        return super().generate(prompts, progress=progress, **more)


class BrokenModel(FakeLanguageModel):
    """Its server is away where a text speaks of a river."""

    def generate(self, prompts: Any, **more: Any) -> Any:
        if any("river" in text for prompt in prompts for text in prompt.inputs):
            raise ModelUnavailable("Expected an answer of the model's server, got none. Start it.")
        return super().generate(prompts, **more)


@IN_ONE_ERA
@in_loop
async def test_remember_returns_before_its_points_are_built(connect, open_memories) -> None:
    model = HeldModel()
    served = open_memories(later=("points",), model=model)
    async with connect(served) as agent:
        stored = await agent("remember", text=FOX, key="fox")
        assert model.started.wait(SOON)
        found = await agent("recall", query="fox")
        working = await agent("status")
        model.let_go.set()
        assert served.wait(SOON)
        done = await agent("status")
    assert stored["layers_to_follow"] == ["points"]
    assert found["passages"]
    assert working["counts"]["InformationPoint"] == 0
    assert (working["background"]["layers"], working["background"]["waiting"]) == (["points"], 1)
    assert working["background"]["doing"].startswith("summarising")
    assert done["counts"]["InformationPoint"] > 0
    assert (done["background"]["waiting"], done["background"]["built"]) == (0, 1)


@IN_ONE_ERA
@in_loop
async def test_what_fails_is_told_and_stops_no_other(connect, open_memories) -> None:
    served = open_memories(later=("points",), model=BrokenModel())
    async with connect(served) as agent:
        river = await agent("remember", text=RIVER, key="river")
        await agent("remember", text=FOX, key="fox")
        assert served.wait(SOON)
        background = (await agent("status"))["background"]
    assert background["built"] == 1
    assert list(background["failures"]) == [river["document_id"]]
    assert background["failures"][river["document_id"]].startswith("ModelUnavailable: ")


@IN_ONE_ERA
@in_loop
async def test_forgotten_document_is_not_built(connect, open_memories) -> None:
    model = HeldModel()
    served = open_memories(later=("points",), model=model)
    async with connect(served) as agent:
        await agent("remember", text=FOX, key="fox")
        assert model.started.wait(SOON)
        await agent("remember", text=RIVER, key="river")
        await agent("forget", name="river")
        model.let_go.set()
        assert served.wait(SOON)
        status = await agent("status")
    assert (status["documents"], status["background"]["failures"]) == (1, {})


@IN_ONE_ERA
@in_loop
async def test_closing_waits_for_no_model_and_the_next_server_resumes(connect, open_memories) -> None:
    model = HeldModel()
    served = open_memories(later=("points",), model=model)
    async with connect(served) as agent:
        await agent("remember", text=FOX, key="fox")
        assert model.started.wait(SOON)
    began = time.monotonic()
    served.close()
    assert time.monotonic() - began < 4
    resumed = open_memories(later=("points",))
    memory = resumed.get("ann")
    assert resumed.wait(SOON)
    assert [record.layers for record in memory.documents()] == [("entities", "points")]


def test_namespaces_are_counted_apart(open_memories) -> None:
    served = open_memories(later=("points",))
    ann, tom = served.get("ann"), served.get("tom")
    served.follow(ann, ann.add(FOX).document_id)
    assert served.wait(SOON)
    assert (served.backlog("ann").built, served.backlog("tom").built) == (1, 0)
    assert tom.stats()["counts"]["InformationPoint"] == 0
