"""Growth: whatever is repeated twice as often may take little more than twice the time.

Each work reads what somebody else wrote: files, text, a model's replies. An input is a few scraps, each repeated; it is
doubled until the work takes long enough to be measured, or the input is as long as it may be. Times are of this
process, the least of some runs. The invariant: the inputs follow from the seed.
"""

from __future__ import annotations

import gc
import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from memgraph_rag.answering.answer_style import extract_phrase, mark_sentences
from memgraph_rag.errors import DocumentError
from memgraph_rag.layers.extraction import parse_extraction
from memgraph_rag.layers.extracts import first_sentence
from memgraph_rag.layers.points import bullets
from memgraph_rag.layers.prose import as_paragraph, check_prose, goes_in_circles
from memgraph_rag.lexical.replies import parse_numbers, parse_questions
from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.models.endpoints.json_check import extract_json
from memgraph_rag.models.endpoints.yes_no import read_verdict
from memgraph_rag.strategies import reflection
from memgraph_rag.systems.graphrag.community_reports import read_report
from memgraph_rag.systems.graphrag.community_sources import Sources
from memgraph_rag.systems.longrefiner import outline_reply
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.text import echoes
from memgraph_rag.text.citations import Quotes
from memgraph_rag.text.loading import load
from memgraph_rag.text.markup import markdown_title, read_html
from memgraph_rag.text.splitting import split
from memgraph_rag.types import Prompt, Segment, as_line

MOST_GROWTH = 2.6
_FEWEST_CHARACTERS, _MOST_CHARACTERS = 16_000, 512_000
_MEASURABLE_S, _RUNS = 0.08, 5
_LONGEST_ANSWER = 100_000  # characters, of some thousand; longer lists of numbers take sentencex quadratic time
_NOISE_S = 0.05  # of a loaded machine, in each time

HTML_SCRAPS = (
    *("<a>", "<b>", "<p>", "<div>", "<pre>", "<td>", "<ul><li>", "<script>", "<title>", "<textarea>", "<svg>", "<nav>"),
    *(
        "</b>",
        "</p>",
        "</script>",
        "</title>",
        "</x y='>'",
        "<br/>",
        "<x y='>'",
        "<x y='>'>",
        '<x y=">"',
        "<a b=c d=",
        "=",
    ),
    *(
        "<!--",
        "<!--a-->",
        "-->",
        "--!>",
        "<!",
        "<?",
        "<![CDATA[",
        "]]>",
        "<",
        ">",
        "&",
        "&amp;",
        "&#9",
        "&#x",
        "&#0",
        "'",
    ),
    *("<header>", "<h1>", "</header>", "<p hidden>", "<i role=menu>", '"', "a ", "\n", " \t", "\x1f", "x"),
    *("<meta charset", "<?xml ", "<html>"),
)

TEXT_SCRAPS = (
    *("Use `foo bar` now.\n", "'it is' ", "don't. ", "(a). ", '"a." ', "“Yes.” ", "Mr. ", "A. ", "a@b.cc. ", "[1] "),
    *(
        "安。",
        "é. ",
        "x",
        "X ",
        " ",
        "\n",
        "\n\n",
        "\t",
        ".",
        "?! ",
        "…",
        "(",
        ")",
        "'",
        '"',
        "`",
        "[x](y) ",
        "# A\n",
        "> ",
    ),
    *(
        "- a\n",
        "* ",
        "1. ",
        "|a|b|\n",
        "http://a.b/?c=d&",
        "a\u0301",
        "👨\u200d👩",
        "\u2028",
        "_",
        "=",
        "Ann: ",
        "0",
        "---\n",
    ),
)


REPLY_SCRAPS = (
    *TEXT_SCRAPS,
    *('{"parts": [["Section", "', '", ["', '"]], ', '{"names": ["', '"a", ', "{", "[", '"', "\\", "}]", "…", "..."),
    *(
        "1) ",
        "2.\n",
        "? ",
        "？",
        "Who? ",
        "; ",
        "None ",
        "1: 50, ",
        "Action -1 ",
        "**",
        "• ",
        "Here it is:\n",
        "\r",
        "—",
    ),
)


@dataclass(frozen=True)
class Growth:
    """Work that took more than it should for twice the input."""

    work: str
    scraps: Sequence[str]
    characters: int
    seconds: float
    seconds_doubled: float


@dataclass(frozen=True)
class Work:
    """What is done with a text, and of what the text is made."""

    run: Callable[[str], object]
    scraps: Sequence[str] = field(default=TEXT_SCRAPS)


def _counted(texts: Sequence[str]) -> list[int]:
    return [len(text) // 4 + 1 for text in texts]


def _segments(text: str) -> list[Segment]:
    spans = split(text, count_tokens=_counted)
    return [
        Segment(f"{span.start}", "d", number, text[span.start : span.end], span.start, span.end, span.tokens)
        for number, span in enumerate(spans)
    ]


def _marked(text: str) -> object:
    known = echoes.find_origins("n", "Ann found a red fox in the barn.", [])
    return echoes.mark_segments("n", _segments(text), known)


def _cited(text: str) -> object:
    weighted = [(segment, 1.0) for segment in _segments(text)[:64]]
    return Quotes(weighted, keys={"d": "d"}, embedder=FakeEmbedder(8)).cite("Who found a fox?", "Ann found a fox.")


def _read_as_prose(reply: str) -> None:
    check_prose(reply, complete=False)
    as_paragraph(f"a{reply}b")
    goes_in_circles(Prompt("", ()), reply)
    first_sentence(reply)


def _read_as_list(reply: str) -> None:
    bullets(reply, complete=False)
    bullets(as_line(reply), complete=True)


def _read_as_json(reply: str) -> None:
    parse_extraction(reply)
    parse_extraction('{"names": ["' + reply)
    read_report(reply, [], [], Sources({}, [], []), most_findings=5)
    parts = [outline_reply.Part("Section", reply[:200], (each,)) for each in (reply[-50:], reply)]
    outline_reply.parts(reply)
    outline_reply.find_headings(parts, reply, 0, len(reply))


def _read_in_walks(reply: str) -> None:
    parse_questions(reply)
    parse_numbers(reply, 9)
    reflection._is_verdict(reply)
    reflection._says_something(reply)
    read_verdict(reply, [])
    extract_json(reply)


def _read_as_answer(reply: str) -> None:
    extract_phrase(reply)
    reply = reply[:_LONGEST_ANSWER]
    list(mark_sentences([reply, "."], Quotes([], keys={}, embedder=FakeEmbedder(8)), [], was_cut=lambda: True))


def works(folder: Path) -> Mapping[str, Work]:
    """The works by name; files are written into the folder."""

    def loaded(suffix: str) -> Callable[[str], object]:
        def run(text: str) -> object:
            path = folder / f"grown{suffix}"
            path.write_text(f"text {text}", "utf-8")
            return load(path)

        return run

    return {
        "page": Work(lambda page: read_html(f"text {page}", Path("page.html")), HTML_SCRAPS),
        "html file": Work(loaded(".html"), HTML_SCRAPS),
        "file of unknown kind": Work(loaded(""), HTML_SCRAPS + TEXT_SCRAPS),
        "markdown file": Work(loaded(".md")),
        "markdown title": Work(markdown_title),
        "sentences": Work(sentences),
        "splitter": Work(lambda text: split(text, count_tokens=_counted)),
        "messages": Work(lambda text: load([{"role": "Ann", "content": text, "time": text[:40]}] * 2)),
        "answer": Work(lambda text: echoes.find_origins("n", text, _segments(text)[:8])),
        "echoes": Work(_marked),
        "citations": Work(_cited),
        "reply as prose": Work(_read_as_prose, REPLY_SCRAPS),
        "reply as list": Work(_read_as_list, REPLY_SCRAPS),
        "reply as JSON": Work(_read_as_json, REPLY_SCRAPS),
        "reply in a walk": Work(_read_in_walks, REPLY_SCRAPS),
        "reply as answer": Work(_read_as_answer, REPLY_SCRAPS),
    }


def grows(name: str, work: Work, scraps: Sequence[str]) -> Growth | None:
    """Return the growth of the time where twice the input takes too long, and four times the input does, too."""
    length = _FEWEST_CHARACTERS
    taken = _seconds(work, scraps, length)
    while length < _MOST_CHARACTERS:
        doubled = _seconds(work, scraps, 2 * length)
        if taken >= _MEASURABLE_S:
            return _confirm(Growth(name, scraps, 2 * length, taken, doubled), work)
        length, taken = 2 * length, doubled
    return None


def _confirm(growth: Growth, work: Work) -> Growth | None:
    """Measure both lengths in turn until the least times are in bounds, which on a busy machine takes some runs.

    Four times the shorter input decides: what another process takes from caches is no matter of length.
    """
    taken, doubled, shorter = growth.seconds, growth.seconds_doubled, growth.characters // 2
    for _ in range(_RUNS):
        if doubled <= MOST_GROWTH * taken + _NOISE_S:
            return None
        taken = min(taken, _seconds(work, growth.scraps, shorter))
        doubled = min(doubled, _seconds(work, growth.scraps, 2 * shorter))
    for _ in range(_RUNS):
        if _seconds(work, growth.scraps, 4 * shorter) <= MOST_GROWTH**2 * taken + _NOISE_S:
            return None
    return Growth(growth.work, growth.scraps, growth.characters, taken, doubled)


def _seconds(work: Work, scraps: Sequence[str], length: int) -> float:
    text = "".join(scrap * (length // len(scraps) // len(scrap)) for scrap in scraps)
    gc.disable()  # what else lives in this process, such as models of other tests, takes it a tenth of a second
    began = time.process_time()
    try:
        with suppress(DocumentError):
            work.run(text)
        return time.process_time() - began
    finally:
        gc.enable()


def examples(work: Work, seed: int) -> Iterator[tuple[str, ...]]:
    """Each scrap alone, then pairs and triples, each block after the other and all in turn; without end."""
    yield from ((scrap,) for scrap in work.scraps)
    draw = random.Random(seed)
    while True:
        drawn = tuple(draw.choices(work.scraps, k=draw.choice((2, 2, 3))))
        yield drawn
        yield ("".join(drawn),)


def growths(name: str, work: Work, *, seconds: float, seed: int = 1) -> tuple[int, list[Growth]]:
    """How many examples were tried in that time of this process, and those that grew too fast."""
    ends = time.process_time() + seconds
    tried, grown = 0, list[Growth]()
    for scraps in itertools.takewhile(lambda _: time.process_time() < ends, examples(work, seed)):
        tried += 1
        grown += filter(None, [grows(name, work, scraps)])
    return tried, grown
