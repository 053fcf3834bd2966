"""What is told of each call, to logs and to OpenTelemetry; and that no text is in it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from memories import options
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memgraph_rag import Memory
from memgraph_rag.calls import telemetry
from memgraph_rag.errors import DocumentNotFound

TEXT = "Zanzibar has elephants. Quixote counted them in Zanzibar. He found seventeen."
WORDS = ("Zanzibar", "zanzibar", "Quixote", "quixote", "elephants", "secret-key", "Wellington", "seventeen")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", namespace="secret-key", **options()) as memory:
        yield memory


def use(memory: Memory) -> None:
    """Every call that is told of, with a secret in every argument."""
    memory.add(TEXT, key="secret-key", title="Wellington", metadata={"who": "Quixote"})
    list(memory.add_many([f"{TEXT} Again.", ""]))
    list(memory.deepen())
    memory.search("Who counted elephants in Zanzibar?", mode="hybrid", k=2)
    memory.ask("Who counted elephants in Zanzibar?")
    memory.stream("Who counted elephants in Zanzibar?")
    stream = memory.stream("Who counted elephants?")
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    with pytest.raises(DocumentNotFound):
        memory.forget("Quixote")
    memory.forget("secret-key")
    memory.maintenance.purge()
    archive = Path(str(memory.settings.store)).with_name("Wellington.jsonl")
    memory.maintenance.export_to(archive)
    list(memory.maintenance.import_from(archive))


EVENTS = ["add", "add", "add", "deepen", "deepen", "search", "ask", "ask", "forget", "forget", "purge"]
EVENTS += ["export", "import"]


def test_each_call_is_one_record_without_a_text(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "memgraph_rag"):
        use(memory)

    records = [record for record in caplog.records if hasattr(record, "event")]
    assert [record.event for record in records] == EVENTS  # type: ignore[attr-defined]
    facts = [record.facts for record in records]  # type: ignore[attr-defined]
    assert facts[0]["action"] == "added"
    assert facts[0]["count.Segment"] >= 1
    assert facts[2] == {"error": "DocumentError"}
    assert facts[5]["found"] == 2
    assert facts[6]["citations"] >= 1
    assert (facts[7]["error"], facts[8]["error"]) == ("GeneratorExit", "DocumentNotFound")
    shown = "\n".join(repr(vars(record)) for record in records)
    assert [word for word in WORDS if word in shown] == []


def test_telemetry_prints_nothing_by_default(memory: Memory, capfd: pytest.CaptureFixture[str]) -> None:
    use(memory)
    assert capfd.readouterr() == ("", "")


def test_calls_are_spans_of_opentelemetry(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(telemetry, "_tracer", lambda: provider.get_tracer("test"))

    use(memory)

    spans = kept.get_finished_spans()
    calls = ["add", "search", "ask", "ask", "forget", "forget", "purge", "export"]
    assert [span.name for span in spans] == [f"memgraph_rag.{name}" for name in calls]
    assert spans[0].attributes is not None
    assert spans[0].attributes["memgraph_rag.action"] == "added"
    operations = [(span.attributes or {}).get("gen_ai.operation.name") for span in spans[:5]]
    assert operations == ["upsert_memory", "retrieval", "chat", "chat", "delete_memory"]
    shown = "\n".join(span.to_json() for span in spans)
    assert [word for word in WORDS if word in shown] == []


def test_spans_hold_what_viewers_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenTelemetry's names for retrieval and inference; texts only where they are asked for."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(telemetry, "_tracer", lambda: provider.get_tracer("test"))
    question = "Who counted elephants in Zanzibar?"

    with Memory(tmp_path / "notes.lbug", **options(), capture_content=True) as memory:
        memory.add(TEXT)
        evidence = memory.search(question, k=2)
        answer = memory.ask(question)
        with pytest.raises(DocumentNotFound):
            memory.forget("none")

    search, ask, failed = (dict(span.attributes or {}) for span in kept.get_finished_spans()[1:])
    documents = [{"id": each.segment.id, "score": each.score} for each in evidence]
    assert json.loads(str(search["gen_ai.retrieval.documents"])) == documents
    assert (search["gen_ai.retrieval.top_k"], search["gen_ai.retrieval.query.text"]) == (2, question)
    assert ask["gen_ai.request.model"] == answer.model
    assert ask["gen_ai.usage.input_tokens"] == answer.usage.prompt_tokens > 0
    assert ask["gen_ai.usage.output_tokens"] == answer.usage.generated_tokens > 0
    cited = [each["id"] for each in json.loads(str(ask["gen_ai.retrieval.documents"]))]
    assert cited == [each.segment_id for each in answer.citations]
    (said,) = json.loads(str(ask["gen_ai.output.messages"]))
    assert said["parts"] == [{"type": "text", "content": answer.text}]
    assert question in str(ask["gen_ai.input.messages"])
    assert failed["error.type"] == "DocumentNotFound"
