"""Questions over communities: what each strategy of GraphRAG reads, asks and cites, and what it does without any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from meetings import open_meetings

from memgraph_rag import Answer, Limits, Memory, Receipt
from memgraph_rag.errors import SettingsError
from memgraph_rag.systems.graphrag.drift_search import GraphragDrift
from memgraph_rag.systems.graphrag.global_search import GraphragGlobal
from memgraph_rag.systems.graphrag.local_search import GraphragLocal
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Overview, Segment

STRATEGIES = ["graphrag_local", "graphrag_global", GraphragGlobal(dynamic=True), "graphrag_drift"]
QUESTION = "Who gave Fritz a wooden box in Bergen?"


@pytest.fixture
def open_memory(tmp_path: Path) -> Callable[..., Memory]:
    """Opens the memory with its communities, or without."""

    def opened(*, deep: bool = True, **options: Any) -> Memory:
        memory = open_meetings(tmp_path / "m.lbug", model=FakeLanguageModel(**options))
        if deep:
            *_, receipt = memory.deepen(layers=["communities"])
            assert isinstance(receipt, Receipt)
            assert receipt.key == "communities"
            assert receipt.counts["Overview"] == len(memory._parts.store.overviews("communities"))
        return memory

    return opened


def assert_exact(memory: Memory, answer: Answer) -> None:
    """There are citations, each of which stands in its document."""
    assert answer.citations
    for citation in answer.citations:
        text = "".join(segment.text for segment in memory._parts.store.list_segments(citation.document_id))
        assert text[citation.start : citation.end] == citation.quote


def reports(answer: Answer) -> list[Overview]:
    return [step.node for step in answer.trace if isinstance(step.node, Overview)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_answers_cite_exact_spans(open_memory: Callable[..., Memory], strategy: str) -> None:
    with open_memory(judged=[1.0] * 9) as memory:
        answer = memory.ask(QUESTION, strategy=strategy)
        assert answer.text.endswith("Emil gave Fritz a wooden box in Bergen.")
        assert_exact(memory, answer)
        assert reports(answer)
        assert not any(step.reason for step in answer.trace if strategy != "graphrag_drift")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies_without_communities_warn(open_memory: Callable[..., Memory], strategy: str) -> None:
    with open_memory(deep=False) as memory:
        answer = memory.ask(QUESTION, strategy=strategy)
        assert answer.text == "Emil gave Fritz a wooden box in Bergen."
        assert_exact(memory, answer)
        assert not reports(answer)
        assert "no community is known" in answer.trace[0].reason


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_stale_communities_are_named_in_the_trace(open_memory: Callable[..., Memory], strategy: str) -> None:
    with open_memory(yes=[1.0] * 9) as memory:
        memory.add("Zoe gave Yuri a wooden box.", key="new")
        answer = memory.ask(QUESTION, strategy=strategy)
        assert answer.trace[0].reason == "1 documents are in no community: deepen looks for them"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_scope_sees_no_report_on_other_documents(open_memory: Callable[..., Memory], strategy: str) -> None:
    with open_memory() as memory:
        keys = ["1-0", "1-1", "1-2", "1-3", "1-4"]
        answer = memory.ask(QUESTION, strategy=strategy, documents=keys)
        allowed = {record.id for record in memory.documents() if record.key in keys}
        for step in answer.trace:
            rests_on = step.node.documents if isinstance(step.node, Overview) else (step.node.document_id,)
            assert allowed.issuperset(rests_on)
        narrow = memory.ask(QUESTION, strategy=strategy, documents=["1-0"])
        assert not reports(narrow)


def test_global_reads_what_the_model_rates_best(open_memory: Callable[..., Memory]) -> None:
    with open_memory(said=["2: 10, 1: 90, 77: 100, 3: 0"]) as memory:
        answer = memory.ask(QUESTION, strategy=GraphragGlobal())
        (step,) = [step for step in answer.trace if isinstance(step.node, Overview)]
        assert (step.score, step.sources) == (0.9, {"report": 0.9})
        assert step.via == reports(answer)[0].title


def test_global_asks_once_a_batch_and_not_too_often(
    open_memory: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory() as memory:
        requests: list[str] = []
        session = type(memory._parts.models.language.open_session("?"))
        monkeypatch.setattr(session, "reply", lambda _, request, **__: requests.append(request) or "None")
        answer = memory.ask(QUESTION, strategy=GraphragGlobal(batch_tokens=100, most_batches=3))
        assert len(requests) == 3
        assert not reports(answer)
        assert answer.trace[0].reason == "no report bears on the question; read by search instead"
        asked = len(requests)
        memory.ask(QUESTION, strategy=GraphragGlobal(), limits=Limits(tokens=20))
        assert len(requests) - asked <= 1, "half of the budget is kept for what is read"


def test_global_rates_by_similarity_where_the_model_says_nothing(open_memory: Callable[..., Memory]) -> None:
    with open_memory(said=["I do not know."] * 9) as memory:
        answer = memory.ask(QUESTION, strategy=GraphragGlobal())
        assert "Fritz" in reports(answer)[0].text


def test_dynamic_selection_drops_reports_rated_unhelpful(open_memory: Callable[..., Memory]) -> None:
    ratings = ["0", "2. It may help.", "I cannot tell.", "7"]  # P(Yes) decides where a reply is no number up to 5
    with open_memory(judged=[0.0, 1.0], said=[*ratings, "1: 50, 2: 40, 3: 30"]) as memory:
        highest, *_ = memory._parts.store.overviews("communities")
        lowest = [edge.target_id for edge in memory._parts.store.successors([highest.id])]
        assert len(lowest) == 4
        answer = memory.ask(QUESTION, strategy=GraphragGlobal(dynamic=True))
        assert {report.id for report in reports(answer)} <= {lowest[1], lowest[3]}
        assert reports(answer)


def test_local_keeps_the_shares_of_its_tokens(open_memory: Callable[..., Memory]) -> None:
    with open_memory() as memory:
        answer = memory.ask(QUESTION, strategy=GraphragLocal(most_tokens=400, entities=2))
        nodes = [step.node for step in answer.trace]
        assert sum(node.tokens for node in nodes if isinstance(node, Overview)) <= 60
        assert sum(node.tokens for node in nodes) <= 400
        assert all("Fritz" in node.text or "Bergen" in node.text for node in nodes if isinstance(node, Segment))
        assert len({node.id for node in nodes}) == len(nodes)


def test_drift_follows_the_models_questions(open_memory: Callable[..., Memory]) -> None:
    follow_up = "Where did Jan meet Kim?"
    with open_memory(yes=[0.1, 0.9], said=["A box is related to Fritz.", f"1. {follow_up}"]) as memory:
        answer = memory.ask("Who is related to Fritz?", strategy=GraphragDrift())
        assert [step.p_yes for step in answer.trace if step.p_yes is not None] == pytest.approx([0.1, 0.9])
        (asked,) = [place for place, step in enumerate(answer.trace) if step.reason]
        assert follow_up in answer.trace[asked].reason
        later = answer.trace[asked + 1 :]
        assert later
        assert all(step.via == answer.trace[asked].reason for step in later)
        assert all("Jan" in step.node.text for step in later)


def test_drift_searches_reports_by_a_hypothetical_answer(open_memory: Callable[..., Memory]) -> None:
    with open_memory(yes=[0.9], said=["Jan, Kim, Lou: Jan met Kim in Narvik on day 3."]) as memory:
        answer = memory.ask("Who is related to Fritz?", strategy=GraphragDrift(reports=1))
        assert "Jan" in reports(answer)[0].text


def test_level_of_reports_can_be_chosen(open_memory: Callable[..., Memory]) -> None:
    with open_memory(said=["1: 90, 2: 80, 3: 70, 4: 60"]) as memory:
        _, *highest = memory._parts.store.overviews("communities")
        for level in (0, 3):
            answer = memory.ask(QUESTION, strategy=GraphragGlobal(level=level))
            assert {report.id for report in reports(answer)} <= {report.id for report in highest}


def test_written_points_are_read_in_the_order_of_their_scores(open_memory: Callable[..., Memory]) -> None:
    said = (
        "1: 20: Someone gave a wooden box.\n2: 90: A wooden box in a place.\n1: 60: They met on day 1.\n2: 0: Nothing."
    )
    said += "\n3: 95: Volcanoes erupted under glaciers.\n9: 50: A wooden box."
    with open_memory(said=[said]) as memory:
        answer = memory.ask(QUESTION, strategy=GraphragGlobal(points="written"))
        read = [step for step in answer.trace if isinstance(step.node, Overview)]
        assert [step.score for step in read] == [0.9, 0.6], "the two points of one report follow each other"
        assert len({step.node.id for step in read}) == 2


def test_points_are_picked_or_written() -> None:
    with pytest.raises(SettingsError, match="picked"):
        GraphragGlobal(points="sung")  # pyright: ignore[reportArgumentType]


def test_drift_ends_after_its_rounds(open_memory: Callable[..., Memory]) -> None:
    said = [f"Where was {name}?" for name in ("Jan", "Ida", "Lou", "Ann", "Ben")]
    with open_memory(yes=[0.1] * 9, said=said) as memory:
        answer = memory.ask("Who is related to Fritz?", strategy=GraphragDrift(rounds=2))
        assert len([step for step in answer.trace if step.p_yes is not None]) == 3


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_budgets_hold(open_memory: Callable[..., Memory], strategy: str) -> None:
    with open_memory(yes=[0.1] * 50) as memory:
        assert len(memory.ask(QUESTION, strategy=strategy, limits=Limits(nodes=2)).trace) <= 2
