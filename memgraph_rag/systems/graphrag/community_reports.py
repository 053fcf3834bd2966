"""Reports on communities: the prompt for a model, the reader of its reply, and a report made without a model.

It knows no graph. Invariants: no reply raises an error; a finding has the spans of the sources that it cites, and these
spans together hold most of its words; a report without such findings is not used.

Source: GraphRAG (arXiv 2404.16130), section 3.1.5 and appendix E.2 (intent; the words are ours).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memgraph_rag.layers.extraction import as_list, clean, read_reply
from memgraph_rag.layers.grounding import share_borne_out
from memgraph_rag.layers.surfaces import words
from memgraph_rag.systems.graphrag.community_sources import Source, Sources, holds_name
from memgraph_rag.types import Finding, Prompt, Span

FORM_TOKENS = 240
"""Tokens of the instruction and the task with its names."""

_MOST_CITED = 4  # sources of one finding
_MOST_SENTENCES = 5  # of a report without a model
_MOST_NAMES = 12  # of members that a prompt lists
_MOST_SPANS = 8  # of one finding
_TITLE_CHARACTERS = 80
_SUMMARY_CHARACTERS = 300
_FINDING_CHARACTERS = 240
_FEWEST_WORDS = 4  # of a finding: fewer are a name
_BORNE_OUT = 0.5

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": _TITLE_CHARACTERS},
        "summary": {"type": "string", "minLength": 1, "maxLength": _SUMMARY_CHARACTERS},
        "rating": {"type": "integer", "minimum": 0, "maximum": 10},
        "findings": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [
                    {"type": "string", "minLength": 20, "maxLength": _FINDING_CHARACTERS},
                    {
                        "type": "array",
                        "items": {"type": "integer", "minimum": 1},
                        "minItems": 1,
                        "maxItems": _MOST_CITED,
                    },
                ],
                "items": False,
                "minItems": 2,
                "maxItems": 2,
            },
            "minItems": 1,
        },
    },
    "required": ["title", "summary", "rating", "findings"],
    "additionalProperties": False,
}
# Findings are lists, because objects would repeat their keys.

_HEAD = "Below are numbered statements, one on each line."
_TASK = (
    "These statements have to do with: {names}. Write a report about them, from the statements alone: a short title, a "
    "summary in one or two sentences, a rating from 0 to 10 of how important it is, and up to {most} findings. Each "
    "finding is one complete sentence with full names, followed by the numbers of the statements that say so. Answer "
    'as JSON: {{"title": title, "summary": summary, "rating": rating, "findings": [[sentence, [number, number]], '
    "[sentence, [number]]]}}"
)


@dataclass(frozen=True, slots=True)
class Report:
    """A report on a community. ``rating`` is its importance, from 0 to 10."""

    title: str
    text: str
    findings: tuple[Finding, ...]
    rating: float


def report_schema(most_findings: int) -> Mapping[str, Any]:
    """Return the JSON schema of a reply with at most this many findings. All lengths are bounded."""
    properties = _SCHEMA["properties"]
    findings = {**properties["findings"], "maxItems": most_findings}
    return {**_SCHEMA, "properties": {**properties, "findings": findings}}


def report_prompt(names: Sequence[str], sources: Sequence[Source], most_findings: int) -> Prompt:
    """Return the prompt for a report with at most ``most_findings`` findings.

    Args:
        names: names of members, the most important first; the prompt has the first twelve.
        sources: the statements, numbered from 1 in the prompt.
    """
    lines = tuple(f"{number}. {source.text}" for number, source in enumerate(sources, 1))
    return Prompt(_HEAD, lines, _TASK.format(names=", ".join(names[:_MOST_NAMES]), most=most_findings))


def read_report(
    reply: str, names: Sequence[str], shown: Sequence[Source], sources: Sources, most_findings: int
) -> tuple[Report | None, Counter[str]]:
    """Read a reply. Return the report, or None if no finding is supported, and counted notes on errors.

    A finding is supported if the statements that it cites and their sentences hold half of its words (without names and
    function words), and if their segments hold the members that it names. Other findings, and a summary that the
    sources do not support, are left out. Without a title the first three names are the title; without a valid rating it
    is 0.

    Args:
        reply: the text of the model, JSON of ``report_schema``.
        names: names of members.
        shown: the sources of the prompt, numbered from 1.
        sources: looks up the words of spans.
    """
    notes: Counter[str] = Counter()
    fields = read_reply(reply, "report", notes)
    findings = tuple(_findings(as_list(fields.get("findings"))[:most_findings], names, shown, sources, notes))
    title, summary, rating = (fields.get(name) for name in ("title", "summary", "rating"))
    if not findings:
        return None, +notes
    title = clean(title)[:_TITLE_CHARACTERS] if isinstance(title, str) else ""
    summary = _drop_cut_end(clean(summary), _SUMMARY_CHARACTERS) if isinstance(summary, str) else ""
    if summary and not _is_borne_out(summary, names, shown, sources):
        notes["summary that no source bears out"] += 1
        summary = ""
    sentences = [summary, *(finding.text for finding in findings if finding.text not in summary)]
    if not isinstance(rating, (int, float)) or isinstance(rating, bool) or not 0 <= rating <= 10:
        notes["report without a rating"] += 1
        rating = 0.0
    return Report(title or _title(names), " ".join(filter(None, sentences)), findings, float(rating)), +notes


def extract_report(names: Sequence[str], shown: Sequence[Source], documents: int) -> Report:
    """Make a report without a model: its findings are up to five heavy, dissimilar sources, word for word.

    The rating grows with the number of documents, up to 10. Without sources the report has no finding, and its text is
    its title.
    """
    findings = tuple(Finding(source.text, source.spans) for source in _unlike(shown))
    text = " ".join(finding.text for finding in findings) or _title(names)
    return Report(_title(names), text, findings, min(10.0, round(math.log2(1 + documents), 2)))


def _findings(
    items: Sequence[Any], names: Sequence[str], shown: Sequence[Source], sources: Sources, notes: Counter[str]
) -> Iterator[Finding]:
    seen: set[str] = set()
    for item in items:
        if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)):
            notes["finding that is incomplete"] += 1
            continue
        text, numbers = _drop_cut_end(clean(item[0]), _FINDING_CHARACTERS), as_list(item[1])
        cited = [
            shown[number - 1]
            for number in dict.fromkeys(number for number in numbers if type(number) is int)
            if 1 <= number <= len(shown)
        ]
        notes["citation of a source that is not there"] += len(set(map(str, numbers))) - len(cited)
        spans = _spans(cited)[:_MOST_SPANS]
        if len(words(text)) < _FEWEST_WORDS:
            notes["finding that says nothing"] += 1
        elif not spans or not _is_borne_out(text, names, cited, sources):
            notes["finding that no source bears out"] += 1
        elif text.casefold() in seen:
            notes["repeated finding"] += 1
        else:
            seen.add(text.casefold())
            yield Finding(text, spans)


def _drop_cut_end(text: str, most: int) -> str:
    """Return the text, or only its complete sentences if it was cut at its limit."""
    return text if len(text) < most else text[: text.rfind(". ") + 1]


def _is_borne_out(text: str, names: Sequence[str], cited: Sequence[Source], sources: Sources) -> bool:
    """Return whether statements and their sentences hold most words of a text, and the segments each named member."""
    named = [name for name in names if holds_name(text, name)]
    spans = _spans(cited)
    around = sources.words_of_segments(spans)
    is_known = all(words(name) & around for name in named)
    said = sources.collect_words(spans).union(*(words(source.text) for source in cited))
    return is_known and share_borne_out(text, named, said) >= _BORNE_OUT


def _spans(cited: Sequence[Source]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(span for source in cited for span in source.spans))


def _unlike(shown: Sequence[Source]) -> Iterator[Source]:
    """Yield up to five sources. Each next one has the largest product of weight and share of new words."""
    left = [(source, words(source.text)) for source in shown]
    said: set[str] = set()
    for _ in range(min(_MOST_SENTENCES, len(left))):
        best = max(left, key=lambda item: (1 + item[0].weight) * len(item[1] - said) / max(len(item[1]), 1))
        left.remove(best)
        said |= best[1]
        yield best[0]


def _title(names: Sequence[str]) -> str:
    return ", ".join(names[:3])
