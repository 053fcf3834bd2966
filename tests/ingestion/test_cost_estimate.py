"""What the language model will cost is told before it works: the layers say how much, a trial says how fast."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, LONG, RIVER, options

from memgraph_rag import Limits, Memory, Receipt
from memgraph_rag.contracts import SplitDocument
from memgraph_rag.errors import ModelError
from memgraph_rag.ingestion.cost_estimate import describe_cost
from memgraph_rag.layers.points import PointsLayer
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Generation, Usage


class Watched(FakeLanguageModel):
    """A model in this process: it has a device. It counts the calls of ``generate``."""

    device = "cpu"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls = 0

    def generate(self, *arguments: Any, **options: Any) -> list[Generation]:
        self.calls += 1
        return super().generate(*arguments, **options)


class OfServer(Watched):
    device = None


class Refusing(Watched):
    """A model that cannot continue a text, and so cannot be tried."""

    def generate(self, prompts: Any, **options: Any) -> list[Generation]:
        if prompts[0].task == "Continue.":
            raise ModelError("Expected memory, got none. Close a program.")
        return super().generate(prompts, **options)


@pytest.fixture
def estimates(caplog: pytest.LogCaptureFixture) -> Iterator[list[logging.LogRecord]]:
    """The records of the logger while somebody listens."""
    with caplog.at_level(logging.INFO, "memgraph_rag.cost"):
        records: list[logging.LogRecord] = []
        logger = logging.getLogger("memgraph_rag.cost")
        handler = logging.Handler()
        handler.emit = records.append  # type: ignore[method-assign]
        logger.addHandler(handler)
        yield records
        logger.removeHandler(handler)


def opened(model: FakeLanguageModel, layers: Any = "full") -> Memory:
    return Memory(":memory:", **options(model=model, layers=layers))


def expected(record: logging.LogRecord) -> dict[str, Any]:
    assert record.event == "estimate"  # type: ignore[attr-defined]
    return record.facts  # type: ignore[attr-defined]


def test_estimate_is_logged_before_the_model_builds(estimates: list[logging.LogRecord]) -> None:
    model = Watched()
    seen: list[int] = []
    with opened(model) as memory:
        logging.getLogger("memgraph_rag.cost").handlers[-1].emit = lambda record: (  # type: ignore[method-assign]
            seen.append(model.calls), estimates.append(record)
        )  # fmt: skip
        receipt = memory.add(LONG, key="long")
    (record,) = estimates
    facts = expected(record)
    assert seen[0] <= 3 < model.calls, "three trials, and no layer yet"
    assert facts["seconds"] > 0
    assert facts["segments"] == receipt.counts["Segment"]
    assert facts["model_calls"] == pytest.approx(receipt.usage.model_calls, rel=0.5)
    assert facts["prompt_tokens"] == pytest.approx(receipt.usage.prompt_tokens, rel=0.5)
    line = record.getMessage()
    assert line.startswith("about ")
    assert line.endswith(f"{facts['model_calls']} calls of fake-language-model")


def test_estimate_without_listener_tries_no_model() -> None:
    model = Watched()
    with opened(model, ["entities", "points"]) as memory:
        usage = memory.add(FOX, key="fox").usage
    assert model.calls <= usage.model_calls


def test_estimate_sends_no_trial_to_a_server(estimates: list[logging.LogRecord]) -> None:
    """A request may cost money."""
    model = OfServer()
    with opened(model, ["points"]) as memory:
        usage = memory.add(FOX, key="fox").usage
    facts = expected(estimates[0])
    assert (facts["seconds"], facts["prompt_tokens"] > 0) == (0, True)
    assert not estimates[0].getMessage().startswith("about")
    assert model.calls <= usage.model_calls


def test_estimate_covers_missing_layers_only(estimates: list[logging.LogRecord]) -> None:
    model = Watched()
    with opened(model, ["entities"]) as memory:
        outcomes = [*memory.add_many([FOX, RIVER])]
        assert not estimates, "entities need no language model"
        ids = [outcome.document_id for outcome in outcomes if isinstance(outcome, Receipt)]
        list(memory.deepen(ids[:1], layers=["points"]))
        list(memory.deepen(layers="full"))
        list(memory.deepen(layers="full"))
    points, rest = map(expected, estimates)
    assert points["prompt_tokens"] < rest["prompt_tokens"]
    assert points["segments"] < rest["segments"]


def test_estimate_names_a_layer_without_forecast(estimates: list[logging.LogRecord]) -> None:
    with opened(Watched(), ["points", "outline"]) as memory:
        memory.add(FOX, key="fox")
    assert expected(estimates[0])["not_estimated"] == ["outline"]
    assert estimates[0].getMessage().endswith("; outline not counted")


def test_model_that_fails_its_trial_still_builds(estimates: list[logging.LogRecord]) -> None:
    with opened(Refusing(), ["points"]) as memory:
        assert memory.add(FOX, key="fox").counts["InformationPoint"]
    assert not estimates


def test_trial_spends_no_limited_tokens(estimates: list[logging.LogRecord]) -> None:
    with opened(Watched(), ["points"]) as memory:
        assert list(memory.add_many([FOX], limits=Limits(tokens=100_000)))
    assert not estimates


def test_empty_document_has_no_forecast() -> None:
    model = FakeLanguageModel()
    assert PointsLayer().estimate_usage(SplitDocument("a", "", ()), model) == Usage()
    assert RelationsLayer().estimate_usage(SplitDocument("a", "", ()), model) == Usage()


def test_line_is_short() -> None:
    usage = Usage(12_041, 2_980, 1, 171.0)
    assert describe_cost(41, usage, [], "tiny") == (
        "about 3 min: 41 segments, 12,000 tokens to read, 3,000 to write, 1 call of tiny"
    )
    assert describe_cost(1, Usage(), ["outline"], "tiny") == "1 segment; outline not counted"
    for seconds, told in ((0.2, "1 s"), (95.4, "95 s"), (100, "2 min"), (7_300, "2 h")):
        assert describe_cost(2, Usage(10, 10, 1, seconds), [], "tiny").startswith(f"about {told}: ")


def test_interruption_at_the_estimate_changes_no_store(tmp_path: Path) -> None:
    class Stopped(Watched):
        def generate(self, prompts: Any, **options: Any) -> list[Generation]:
            if prompts[0].task != "Continue.":
                raise KeyboardInterrupt
            return super().generate(prompts, **options)

    with Memory(tmp_path / "notes.lbug", **options(model=Stopped(), layers="full")) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.add(FOX, key="fox")
        assert memory.documents() == []
