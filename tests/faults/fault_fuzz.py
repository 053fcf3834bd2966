"""Fuzzers: whatever bytes, texts and JSON come, there is a value of ours or an error of ours, and nothing else.

Each reads what somebody else may have written: files, messages, a model's replies, an archive, an entry of the journal.
The invariant: the examples follow from the number of the round, so that a longer run begins with those of a shorter.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from all_strategies import STRATEGIES
from fault_world import KEYS, TEXTS
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from memories import FOX, options

from memgraph_rag import Limits, Memory
from memgraph_rag.contracts import SplitDocument
from memgraph_rag.errors import DocumentError, MemgraphRagError, SchemaMismatch
from memgraph_rag.ingestion import list_known_layers
from memgraph_rag.layers import extraction
from memgraph_rag.layers.points import PointsLayer, bullets, is_useless_from_here
from memgraph_rag.layers.question_pool import Pool, read_questions
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.lexical.names import LONGEST_NAME
from memgraph_rag.lexical.sentences import MAX_QUOTE, sentences
from memgraph_rag.lexical.tokenize import keywords
from memgraph_rag.models.files.journal import Journal
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeModels
from memgraph_rag.text.citations import Quotes
from memgraph_rag.text.loading import load
from memgraph_rag.text.splitting import split
from memgraph_rag.types import Generation, Prompt, Segment, Usage

EXAMPLES = 200
"""Of one round: some seconds at most."""

LEAST = 6
"""Examples that every run tries, however slow the machine is: the first one may spend the time on imports."""


@dataclass(frozen=True)
class Fuzzer:
    """What is drawn, and what must hold of it.

    Attributes:
        check: called with what ``opened`` gives and with what was drawn.
        opened: from an empty folder to what the check needs; the folder itself by default.
    """

    check: Callable[..., None]
    drawn: Mapping[str, st.SearchStrategy[Any]]
    opened: Callable[[Path], AbstractContextManager[Any]] = nullcontext

    def run(self, seconds: float) -> int:
        """Try examples for so many seconds of this process's own time, and ``LEAST`` of them; return their number.

        Raises:
            Exception: what an example raised; hypothesis says which.
        """
        tried, crashed = 0, False
        with TemporaryDirectory() as folder, self.opened(Path(folder)) as at:
            ends = time.process_time() + seconds

            def is_over() -> bool:
                return tried >= LEAST and time.process_time() >= ends

            def check(**drawn: Any) -> None:
                nonlocal tried, crashed
                if is_over() and not crashed:  # else hypothesis looks for a shorter example
                    return
                tried, crashed = tried + 1, True
                self.check(at, **drawn)
                crashed = False

            of_a_round = settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck))
            for number in count():
                seed(number)(of_a_round(given(**self.drawn)(check)))()
                if is_over():
                    return tried
        raise AssertionError


# ── files, messages, texts ───────────────────────────────────────────────────────────────────────────────────

SUFFIXES = (".txt", ".md", ".html", ".pdf", ".xhtml", "", ".docx")

HEADS = (
    b"",
    b"%PDF-1.4\n",
    b"<!doctype html>",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
    b"---\ntitle: ",
    b"PK\x03\x04",
)

SCRAPS = (
    *(b"<", b">", b"<!--", b"-->", b"<script>", b"</script>", b"<p", b"<td>", b"&#x", b"<![CDATA[", b"]]>", b"<title>"),
    *(b"obj\n", b"endobj", b"stream\n", b"endstream", b"xref", b"trailer", b"<<", b">>", b"/Page ", b"1 0 R", b"%%EOF"),
    *(b"# ", b"* ", b"\n\n", b"```", b"\x00", b"\x1b", b"\xc3\xa4", b"\xff", b"\xd8\x00"),
    *(b"charset=utf-7", b"\r\n", b"Ann."),
)

BYTES = st.one_of(
    st.binary(max_size=400),
    st.builds(lambda head, parts: head + b"".join(parts), st.sampled_from(HEADS), st.lists(st.sampled_from(SCRAPS))),
)

WORDS = (
    *("Ann", "ran.", "Mr.", "安妮。", "* ", "\n", "\n\n", "\u2028", "“Yes!”", "x" * 50),
    *("🦊👩\u200d👩\u200d👧", "1.", "- ", " ", "\t", "é\u0301", "?!"),
)

TEXTS_OF_ANY_KIND = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=300),
    st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=60).map("".join),
)


def a_file_is_a_document_or_refused(folder: Path, data: bytes, suffix: str) -> None:
    path = folder / f"fuzzed{suffix}"
    path.write_bytes(data)
    try:
        document = load(path)
    except DocumentError:
        return
    assert document.text.strip()
    (document.text + document.title).encode()
    assert "\0" not in document.text


VALUES = st.one_of(st.none(), st.integers(), st.booleans(), st.text(max_size=20), st.binary(max_size=5), st.floats())
MESSAGES = st.lists(st.dictionaries(st.sampled_from(["role", "content", "time", "name", "x"]), VALUES), max_size=5)


def messages_are_a_document_or_refused(_: Path, messages: list[dict[str, object]]) -> None:
    try:
        document = load(messages)
    except DocumentError:
        return
    assert document.turns
    assert document.turns[-1].end == len(document.text)


def spans_tile_the_text_within_the_limit(_: Path, text: str, limit: int, cuts: list[int]) -> None:
    def tokens(texts: list[str]) -> list[int]:
        return [len(piece.encode()) // 3 + bool(piece) for piece in texts]

    spans = split(text, count_tokens=tokens, max_tokens=limit, cuts=cuts)  # type: ignore[arg-type]
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert all(span.end == other.start for span, other in pairwise(spans))
    assert all(span.tokens <= limit or span.end - span.start == 1 for span in spans)
    assert not any(span.start < cut < span.end for span in spans for cut in cuts)
    assert [end for _, end in sentences(text)][-1:] == ([len(text)] if text else [])


def quotes_stand_where_they_say(_: Path, texts: list[str], question: str, answer: str) -> None:
    segments = [(Segment(f"{n}", f"d{n}", 0, text, 7, 7 + len(text), 1), n / 2) for n, text in enumerate(texts)]
    keys = {f"d{number}": f"key {number}" for number in range(1, len(texts) + 1)}
    for cited in Quotes(segments, keys=keys, embedder=FakeEmbedder(8)).cite(question, answer):
        text = texts[int(cited.segment_id)]
        assert text[cited.start - 7 : cited.end - 7] == cited.quote
        assert 0 < len(cited.quote) <= MAX_QUOTE
        assert cited.document_id in keys


def a_keyword_is_no_operator(_: Path, text: str) -> None:
    for word in keywords(text):
        assert not set(word) & set('"\\ \t\n+-&|!(){}[]^~*?:/')


# ── what a model wrote ───────────────────────────────────────────────────────────────────────────────────────

NAMES = st.one_of(
    st.sampled_from(
        ["Ann", "Tom", "the old barn", "red fox", "ANN ", "", " ", "It", "7", "Ann\nTom", "\x00", "n" * 999]
    ),
    st.text(max_size=12),
)
DESCRIPTIONS = st.one_of(
    st.sampled_from(
        [f"{sentence.strip()}." for sentence in FOX.split(".")]
        + ["Ann met Tom.", "was built by Tom", "It fed Tom.", "x" * 500]
    ),
    st.text(max_size=30),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), NAMES, DESCRIPTIONS)
ANY_JSON = st.recursive(SCALARS, lambda part: st.lists(part, max_size=4) | st.dictionaries(NAMES, part, max_size=3))
TRIPLES = st.one_of(st.tuples(NAMES, NAMES, DESCRIPTIONS).map(list), ANY_JSON)
REPLIED = st.one_of(
    st.fixed_dictionaries(
        {
            "names": st.lists(NAMES, max_size=20) | ANY_JSON,
            "relations": st.lists(TRIPLES, max_size=15) | ANY_JSON,
            "questions": st.lists(DESCRIPTIONS, max_size=6) | ANY_JSON,
        }
    ),
    ANY_JSON,
)
NOISE = ("\\ud800", "\\u0000", "\\", '"', "[" * 2_000, '{"names":' * 500, "]", "}", "1e999", "NaN", "```json\n", "\x00")


def _spoilt(text: str, at: float, until: float, noise: str) -> str:
    """A text of which a part is noise instead, or is missing."""
    start, end = sorted((round(at * len(text)), round(until * len(text))))
    return text[:start] + noise + text[end:]


SHARES = st.floats(0, 1)
WRITTEN_JSON = REPLIED.map(json.dumps)
REPLIES = st.one_of(
    WRITTEN_JSON,
    st.builds(lambda text, share: text[: round(share * len(text))], WRITTEN_JSON, SHARES),
    st.builds(_spoilt, WRITTEN_JSON, SHARES, SHARES, st.sampled_from(("", *NOISE))),
    TEXTS_OF_ANY_KIND,
    st.sampled_from(NOISE),
)


def a_reply_is_names_and_relations(_: Path, text: str) -> None:
    reply, notes = extraction.parse_extraction(text)
    assert all(number > 0 for number in notes.values())
    assert len(reply.names) == len(set(reply.names)) <= 16
    assert len(reply.relations) <= 12
    lines = [*reply.names, *(part for triple in reply.relations for part in triple)]
    assert all(0 < len(name) <= LONGEST_NAME for name in reply.names)
    assert all(line and len(line.splitlines()) == 1 and "\x00" not in line for line in lines)
    "".join(lines).encode()
    extraction.goes_in_circles(Prompt("", (text,)), text)


def a_reply_is_questions(_: Path, text: str, most: int) -> None:
    questions, notes = read_questions(text, most)
    assert len(questions) <= most
    assert all(question and len(question.splitlines()) == 1 for question in questions)
    assert all(number > 0 for number in notes.values())
    pool = Pool()
    assert pool.questions == [question for question in questions if pool.admit(question)]


def _pieces(text: str) -> SplitDocument:
    ends = [end for _, end in sentences(text)]
    spans = list(pairwise([0, *ends]))
    return SplitDocument(
        "d", "Ann", tuple(Segment(f"s{n}", "d", n, text[a:b], a, b, 20) for n, (a, b) in enumerate(spans))
    )


FOX_PIECES = _pieces(FOX)


def what_is_made_of_a_reply_stands_in_the_text(_: Path, text: str) -> None:
    models = FakeModels(language=FakeLanguageModel(replies=[text]))
    (rows,) = RelationsLayer().build([FOX_PIECES], namespace="n", models=models)
    texts = {segment.id: segment for segment in FOX_PIECES.segments}
    for mention in rows.mentions:
        assert texts[mention.segment_id].start <= mention.start < mention.end <= texts[mention.segment_id].end
        assert FOX[mention.start : mention.end] == mention.surface
    for relation in rows.relations:
        assert relation.segment_id in texts
        assert relation.source_id != relation.target_id
        relation.description.encode()
    assert len({relation.id for relation in rows.relations}) == len(rows.relations)


def a_list_is_points_with_weights(_: Path, text: str, complete: bool) -> None:
    spans, notes = bullets(text, complete=complete)
    said = [" ".join(text[start:end].split()).casefold() for start, end in spans]
    assert all(said)
    assert len(said) == len(set(said))
    assert all(span[1] <= other[0] for span, other in pairwise(spans))
    assert all(number > 0 for number in notes.values())
    is_useless_from_here(Prompt("", (text,)), text)
    models = FakeModels(language=FakeLanguageModel(replies=[text]))
    (rows,) = PointsLayer().build([FOX_PIECES], namespace="n", models=models)
    known = {node.id for node in (*FOX_PIECES.segments, *rows.points)}
    weights: dict[str, float] = {point.id: 0.0 for point in rows.points}
    for edge in rows.summarizes:
        assert edge.target_id in known
        weights[edge.source_id] += edge.weight
    assert all(math.isclose(sum_, 1.0, abs_tol=1e-6) for sum_ in weights.values())


class Scripted(FakeLanguageModel):
    """Says whatever it is told to say, again and again."""

    def script(self, replies: list[str], yes: list[float], answer: str) -> None:
        self._replies.clear()
        self._replies.extend(replies)
        self._said, self._yes, self._answer = tuple(replies), tuple(yes), answer


@contextmanager
def _told(folder: Path) -> Iterator[Memory]:
    """A memory of the small world, whose model can be scripted."""
    with Memory(
        folder / "notes.lbug", cache_dir=folder, **options(model=Scripted(), layers=("entities", "points", "relations"))
    ) as memory:
        for key in KEYS:
            memory.add(TEXTS[key, 1], key=key)
        yield memory


def whatever_the_model_says_an_answer_is_whole(
    memory: Memory, strategy: str, question: str, replies: list[str], yes: list[float], answer: str
) -> None:
    model = memory.language_model
    assert isinstance(model, Scripted)
    model.script(replies, yes, answer)
    try:
        result = memory.ask(question, strategy=strategy, limits=Limits(nodes=6))
    except MemgraphRagError as error:
        assert not question.strip() or "\0" in question, error  # noqa: PT017
        return
    form = result.as_dict()
    assert json.loads(json.dumps(form, allow_nan=False)) == form
    assert all(len(step.reason.splitlines()) <= 1 for step in result.trace)
    assert all(TEXTS[cited.document_key, 1][cited.start : cited.end] == cited.quote for cited in result.citations)
    assert len({step.node.id for step in result.trace}) == len(result.trace)


# ── what this library wrote, and somebody may have changed ───────────────────────────────────────────────────


@contextmanager
def _archived(folder: Path) -> Iterator[Memory]:
    """A memory to import into, beside an archive of the small world."""
    with Memory(folder / "notes.lbug", cache_dir=folder, **options(layers=list_known_layers())) as memory:
        for key in KEYS:
            memory.add(TEXTS[key, 1], key=key, metadata={"n": 1, "x": 0.5, "b": True})
        memory.maintenance.export_to(folder / "whole.jsonl")
        for key in KEYS:
            memory.forget(key)
        yield memory


def _changed(value: Any, path: list[float], new: Any) -> Any:
    """The same JSON with another value in one place; ``path`` chooses it."""
    if not path or not value or not isinstance(value, (list, dict)):
        return None if new is Ellipsis else new
    chosen = list(range(len(value)) if isinstance(value, list) else value)[int(path[0] * len(value)) % len(value)]
    changed = list(value) if isinstance(value, list) else dict(value)
    if new is Ellipsis and len(path) == 1:
        del changed[chosen]
    else:
        changed[chosen] = _changed(value[chosen], path[1:], new)
    return changed


NEW = st.one_of(
    st.just(...),
    st.sampled_from(
        [0, -1, 1, 2**31, 2**63, 2**200, "", "x", [], {}, None, True, 1e308, math.inf, math.nan, "\ud800", "\0"]
    ),
    st.sampled_from([[[0, 8], ""], [[1, 8], base64.b64encode(b"\0" * 32).decode()], [[-1], "AAAA"], [[2**40, 8], ""]]),
    ANY_JSON,
)


def an_archive_is_stored_or_refused(
    memory: Memory, place: int, path: list[float], new: object, rehashed: bool, noise: bytes, at: float
) -> None:
    folder = memory.settings.cache_dir
    for record in memory.documents():
        memory.forget(record.id)
    assert not any(memory.status()["counts"].values())
    lines = (folder / "whole.jsonl").read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    entries[place] = _changed(entries[place], path, new)
    documents = [
        json.dumps(entry["document"], separators=(",", ":"))
        if isinstance(entry, dict) and "document" in entry
        else None
        for entry in entries
    ]
    if rehashed and None not in documents[1:-1]:  # by somebody who knows how
        hashes = [hashlib.sha256(document.encode()).hexdigest() for document in documents[1:-1] if document is not None]
        head = json.dumps(entries[0])
        middle = [
            f'{{"sha256":"{own}","document":{document}}}' for own, document in zip(hashes, documents[1:-1], strict=True)
        ]
        foot = json.dumps({"documents": len(hashes), "sha256": hashlib.sha256("".join(hashes).encode()).hexdigest()})
        written = "\n".join([head, *middle, foot, ""]).encode()
    else:
        written = "\n".join([*map(json.dumps, entries), ""]).encode()
    if noise:
        written = written[: round(at * len(written))] + noise + written[round(at * len(written)) + 1 :]
    file = folder / "fuzzed.jsonl"
    file.write_bytes(written)
    try:
        receipts = memory.maintenance.import_from(file)
    except (DocumentError, SchemaMismatch):
        assert memory.documents() == []
        return
    try:
        for receipt in receipts:
            assert receipt.counts["Document"] == 1
    except MemgraphRagError:
        pass  # what the store refuses of a document that is one in form
    for record in memory.documents():
        memory.search("Who built a box?", documents=[record.id])


KEPT = "0" * 64


@contextmanager
def _kept(folder: Path) -> Iterator[tuple[Journal, Path, bytes]]:
    """A journal with one entry, where that is, and what stands in it."""
    journal = Journal(folder)
    attention = np.ones((2, 1), np.float32)
    journal.keep(KEPT, Generation("* Ann ran.", np.array([[0, 1], [2, 10]]), attention, "end", Usage(1, 2, 3)))
    (file,) = folder.iterdir()
    yield journal, file, file.read_bytes()


def an_entry_is_read_or_as_if_not_there(
    kept: tuple[Journal, Path, bytes], spots: list[tuple[float, int]], cut: float
) -> None:
    journal, file, whole = kept
    spoilt = bytearray(whole[: max(round(cut * len(whole)), 1)])
    for at, byte in spots:
        spoilt[int(at * len(spoilt)) % len(spoilt)] = byte
    file.write_bytes(spoilt)
    entry = journal.find(KEPT)
    if entry is not None:
        assert entry.attention.shape[0] == len(entry.offsets)
        entry.text.encode()


FUZZERS: dict[str, Fuzzer] = {
    "files": Fuzzer(a_file_is_a_document_or_refused, {"data": BYTES, "suffix": st.sampled_from(SUFFIXES)}),
    "messages": Fuzzer(messages_are_a_document_or_refused, {"messages": MESSAGES}),
    "splitter": Fuzzer(
        spans_tile_the_text_within_the_limit,
        {
            "text": TEXTS_OF_ANY_KIND,
            "limit": st.integers(1, 40),
            "cuts": st.lists(st.integers(-5, 400), max_size=5),
        },
    ),
    "citations": Fuzzer(
        quotes_stand_where_they_say,
        {
            "texts": st.lists(TEXTS_OF_ANY_KIND.filter(str.strip), min_size=1, max_size=4),
            "question": TEXTS_OF_ANY_KIND,
            "answer": TEXTS_OF_ANY_KIND,
        },
    ),
    "keywords": Fuzzer(a_keyword_is_no_operator, {"text": st.text(max_size=200)}),
    "lists": Fuzzer(a_list_is_points_with_weights, {"text": TEXTS_OF_ANY_KIND, "complete": st.booleans()}),
    "relations": Fuzzer(a_reply_is_names_and_relations, {"text": REPLIES}),
    "questions": Fuzzer(a_reply_is_questions, {"text": REPLIES, "most": st.integers(0, 4)}),
    "grounding": Fuzzer(what_is_made_of_a_reply_stands_in_the_text, {"text": REPLIES}),
    "answers": Fuzzer(
        whatever_the_model_says_an_answer_is_whole,
        {
            "strategy": st.sampled_from(sorted(STRATEGIES)),
            "question": st.sampled_from(["Who built a wooden box?", "Where is Tom?"]) | TEXTS_OF_ANY_KIND,
            "replies": st.lists(REPLIES, max_size=4),
            "yes": st.lists(st.floats(0, 1), max_size=4),
            "answer": TEXTS_OF_ANY_KIND,
        },
        _told,
    ),
    "archives": Fuzzer(
        an_archive_is_stored_or_refused,
        {
            "place": st.integers(0, len(KEYS) + 1),
            "path": st.lists(SHARES, max_size=5),
            "new": NEW,
            "rehashed": st.booleans(),
            "noise": st.just(b"") | st.binary(max_size=5),
            "at": SHARES,
        },
        _archived,
    ),
    "journal": Fuzzer(
        an_entry_is_read_or_as_if_not_there,
        {"spots": st.lists(st.tuples(SHARES, st.integers(0, 255)), max_size=4), "cut": st.just(1.0) | SHARES},
        _kept,
    ),
}
