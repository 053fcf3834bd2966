"""Text that tells the model, the database or the reader what to do is text: it changes nothing but itself."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from all_strategies import STRATEGIES
from fault_world import KEYS, TEXTS, Place, World, open_journaled
from injections import INJECTIONS
from memories import options
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from memgraph_rag import Document, Limits, Memory
from memgraph_rag.errors import DocumentError
from memgraph_rag.layers.points import INSTRUCTION
from memgraph_rag.models.engine.tokens import Tokens
from memgraph_rag.models.files.catalogue import find_language_model
from memgraph_rag.settings import Settings
from memgraph_rag.testing import FakeLanguageModel, FakeSession
from memgraph_rag.text import pdf
from memgraph_rag.types import Prompt, as_line

embedded = pytest.mark.parametrize("engine", ["ladybug"], indirect=True)

QUESTIONS = ("Who built a wooden box?", "What did the miller sell?", "Where is the fox?")


# ── what stands in the graph, and what is answered ───────────────────────────────────────────────────────────


@embedded
def test_injection_changes_no_other_document(place: Place) -> None:
    assert len(INJECTIONS) >= 60
    memory, _ = open_journaled(place)
    other, _ = open_journaled(Place(place.address, "other-user", place.cache))
    with memory, other:
        other.add("Nobody else may read this.", key="private")
        for key in KEYS:
            memory.add(TEXTS[key, 1], key=key)
        world, elsewhere = World(place), World(Place(place.address, "other-user", place.cache))
        before, private = world.graph(memory), elsewhere.graph(other)
        answers, settings = list(_answers(memory)), memory.settings.model_dump()

        for receipt in memory.add_many(Document(text, f"evil: {name}") for name, text in INJECTIONS.items()):
            assert receipt.counts["Document"] == 1  # type: ignore[union-attr]

        assert _owned(world.graph(memory), memory) == _owned(before, memory)
        assert list(_answers(memory)) == answers
        assert memory.settings.model_dump() == settings
        assert elsewhere.graph(other) == private
        assert "private" not in {
            evidence.document_key for evidence in memory.search("Nobody else may read this", k=500)
        }
        for name in INJECTIONS:
            memory.forget(f"evil: {name}")
        assert world.graph(memory) == before


def _answers(memory: Memory) -> Iterator[Any]:
    """Ask by each strategy, and each question in turn."""
    for question, strategy in zip(itertools.cycle(QUESTIONS), sorted(STRATEGIES), strict=False):
        answer = memory.ask(question, strategy=strategy, documents=list(KEYS), limits=Limits(nodes=6))
        yield answer.text, answer.citations, [step.node for step in answer.trace], answer.stop_reason


def _owned(graph: tuple[list[str], list[str]], memory: Memory) -> list[str]:
    """The lines of the honest documents' own nodes; entities are shared."""
    ids = {record.id for record in memory.documents() if record.key in KEYS}
    rows = [json.loads(line) for line in graph[0]]
    return [json.dumps(row) for row in rows if ids & {row["of"].get("id"), row["of"].get("document_id")}]


class Listening(FakeLanguageModel):
    """Keeps all that it is given to read."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def generate(self, prompts: Sequence[Prompt], **given: Any) -> Any:
        self.lines += [line for prompt in prompts for line in prompt.inputs]
        return super().generate(prompts, **given)

    def open_session(self, question: str) -> FakeSession:
        session = super().open_session(question)
        append, lines = session.append, self.lines

        def listened(texts: Sequence[str]) -> Any:
            lines.extend(texts)
            return append(texts)

        session.append = listened  # type: ignore[method-assign]
        return session


def test_injection_is_read_as_one_line(tmp_path: Path) -> None:
    model = Listening()
    with Memory(tmp_path / "notes.lbug", **options(model=model)) as memory:
        list(memory.add_many(INJECTIONS.values()))
        for strategy in sorted(STRATEGIES):
            memory.ask(QUESTIONS[0], strategy=strategy, limits=Limits(nodes=80))
    assert len(model.lines) > len(INJECTIONS)
    assert [line for line in model.lines if len(line.splitlines()) != 1] == []


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    _, folder = find_language_model("qwen2.5-coder-0.5b-instruct", cache_dir=Settings.load().cache_dir)
    return Tokens(folder)


def test_document_is_read_without_control_tokens(tokens: Tokens) -> None:
    added = tokens._tokenizer.added_tokens_decoder
    controls = set(added)
    marks = " ".join(str(token.content) for token in added.values())
    assert controls
    assert not controls & set(tokens.encode(f"{marks} {marks.replace(' ', '')}").ids)
    turns = [*tokens.turns.opening, *tokens.turns.reply]
    for name, text in INJECTIONS.items():
        ids, _ = tokens.prompt(Prompt(INSTRUCTION, (as_line(text), as_line(text))))
        assert [token for token in ids if token in controls] == [token for token in turns if token in controls], name
        asked, _ = tokens.question(text)
        read, _ = tokens.nodes([as_line(text)])
        assert [token for token in asked if token in controls] == [
            token for token in tokens.turns.opening if token in controls
        ]
        assert not controls & set(read), name
        assert tokens.decode(read) == f"* {as_line(text)}\n"


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────────────


def font_of(writer: PdfWriter) -> DictionaryObject:
    """The resources of a page or a form that writes in one font."""
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = writer._add_object(DictionaryObject({NameObject(name): NameObject(is_) for name, is_ in names.items()}))
    return DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})


def write_pages(writer: PdfWriter, content: Any, resources: DictionaryObject, pages: int) -> bytes:
    """A PDF whose pages all draw the same."""
    drawn = writer._add_object(content)
    for _ in range(pages):
        page = writer.add_blank_page(200, 200)
        page[NameObject("/Contents")] = drawn
        page[NameObject("/Resources")] = resources
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def packed(content: bytes, pages: int) -> bytes:
    """A PDF whose pages all draw the same, compressed."""
    writer, stream = PdfWriter(), DecodedStreamObject()
    stream.set_data(content)
    return write_pages(writer, stream.flate_encode(), font_of(writer), pages)


def drawn(form: bytes, times: int, pages: int = 1) -> bytes:
    """A PDF whose pages draw a form that many times."""
    writer, stream, content = PdfWriter(), DecodedStreamObject(), DecodedStreamObject()
    stream.set_data(form)
    stream = stream.flate_encode()
    stream[NameObject("/Subtype")] = NameObject("/Form")
    stream[NameObject("/Resources")] = font_of(writer)
    forms = DictionaryObject({NameObject("/X"): writer._add_object(stream)})
    content.set_data(b"/X Do " * times)
    return write_pages(writer, content, DictionaryObject({NameObject("/XObject"): forms}), pages)


@pytest.mark.parametrize(("times", "pages"), [(100, 1), (1, 100), (10, 10)])
def test_size_of_drawn_forms_of_a_pdf_is_limited(times: int, pages: int) -> None:
    form = b"BT /F1 12 Tf (Hello) Tj ET " + b" " * 40_000
    assert pdf.read(drawn(form, 5), Path("small.pdf"))[0].count("Hello") == 5
    with pytest.raises(DocumentError, match="unpacks to at most"):
        pdf.read(drawn(form, times, pages), Path("bomb.pdf"))


def test_slow_pdf_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_ANY_SECONDS", -1.0)
    with pytest.raises(DocumentError, match="got more"):
        pdf.read(drawn(b"BT /F1 12 Tf (Hello) Tj ET", 5), Path("slow.pdf"))


def test_pdf_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_MOST_CONTENT", 2**20)
    small = packed(b"BT /F1 12 Tf (Hello) Tj ET " + b" " * 100_000, pages=5)
    bomb = packed(b"BT /F1 12 Tf (Hello) Tj ET " + b" " * 100_000, pages=50)
    assert len(bomb) < 20_000
    assert pdf.read(small, Path("small.pdf"))[0].count("Hello") == 5
    with pytest.raises(DocumentError, match="unpacks to at most"):
        pdf.read(bomb, Path("bomb.pdf"))
    with pytest.raises(DocumentError):
        pdf.read(packed(b" " * 80_000_000, pages=1), Path("zeros.pdf"))
