"""Output for people: the walk, the answer, its citations, and tables.

It prints plain forms of records (``as_dict()``) and opens no memory. Invariants: text of a document is never
interpreted as markup, and its control characters never reach the terminal.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import memgraph_rag
from memgraph_rag.cli.json_output import write_json
from memgraph_rag.cli.sanitize import label, plain
from memgraph_rag.cli.sanitize import line as _line

if TYPE_CHECKING:
    from pathlib import Path

    from memgraph_rag import Answer, Failure, Receipt
    from memgraph_rag.types import Change

_LEAST_SHARE = 0.01
_NAMED = 3  # names that one line shows at most

STOP_REASONS = {
    "answerable": "the model judged that what it had read answers the question",
    "exhausted": "there was nothing left to read",
    "window": "the next node did not fit the model's window",
    "max_nodes": "the limit of nodes was reached",
    "max_rounds": "the model was asked as often as it may be",
    "max_tokens": "the limit of tokens was reached",
    "max_seconds": "the limit of time was reached",
    "another_speaker": "it was said by another than the question names",
    "nothing_found": "the memory holds nothing about it",
}

_WIDTH_OF_A_PIPE = 160
_LEAST_OF_A_NAME = 12  # characters of the first column
_KINDS = {"segment": "text", "point": "point", "overview": "overview"}


def to_stdout() -> Console:
    """Return a console for results on standard output; 160 columns wide if that is no terminal."""
    return Console(width=None if sys.stdout.isatty() else _WIDTH_OF_A_PIPE, highlight=False, emoji=False)


def to_stderr() -> Console:
    """Return a console for everything else on standard error; 160 columns wide if that is no terminal."""
    return Console(stderr=True, width=None if sys.stderr.isatty() else _WIDTH_OF_A_PIPE, highlight=False, emoji=False)


def write_result(form: object, line: str, *, as_json: bool) -> None:
    """Print a result on standard output: its plain form as JSON for programs, or one line for people."""
    if as_json:
        write_json(form)
    else:
        typer.echo(label(line))


def pluralise(count: int, what: str) -> str:
    """Return a count with its noun: "1 node", "1,024 nodes"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


# ── a question ───────────────────────────────────────────────────────────────────────────────────────────


def walk_header(console: Console) -> None:
    """Print the column heads of the walk."""
    heads = Text("order  node     score  attention  P(Yes)  text", style="dim")
    console.print(heads, no_wrap=True, overflow="ellipsis")


def walk_line(console: Console, order: int, step: Mapping[str, Any]) -> None:
    """Print one step of the walk: the node, its score, the attention to it, P(Yes) after it, its text, and notes.

    Args:
        order: number of the step, from 1.
        step: the plain form of a ``Step``.
    """
    node = f"{_KINDS[step['kind']]} {step['level'] or ''}".rstrip()
    p_yes = "" if step["p_yes"] is None else f"{step['p_yes']:.2f}"
    row = Text(f"{order:>5}  {node:<7}{step['score']:>7.3f}  {step['attention']:>9.5f}  {p_yes:>6}  ")
    row.append(_line(step["text"]), style="dim" if step["kind"] == "point" else "")
    console.print(row, no_wrap=True, overflow="ellipsis")
    for note in _notes(step):
        console.print(Text(f"{'':>7}{note}", style="dim"), no_wrap=True, overflow="ellipsis")


def part_line(console: Console, number: int, part: Mapping[str, Any]) -> None:
    """Print a part of a question with its value, after the steps that were read for it.

    Args:
        number: place of the part in the plan, from 1.
        part: the plain form of a ``Part``.
    """
    console.print(Text(f"{'':>5}  {_format_part(number, part)}", style="cyan"), soft_wrap=True)


def _format_part(number: int, part: Mapping[str, Any]) -> str:
    return f"{number}. {_line(part['question'])} → {_line(part['value']) or 'nothing found'}"


def _notes(step: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on a step: the parts of its score, the name that led to it, dropped nodes, the model's reason."""
    parts = [f"{name} {part:.3f}" for name, part in step["sources"].items() if part]
    if len(parts) > 1 or step["via"]:
        yield " + ".join(parts) + (f", by “{_line(step['via'])}”" if step["via"] else "")
    if step["dropped"]:
        yield f"{pluralise(len(step['dropped']), 'node')} let go before it, to make room"
    if step["reason"]:
        yield f"looks for: {_line(step['reason'])}"


def show_piece(console: Console, piece: str, *, after: str = "") -> str:
    """Print the next piece of the answer, and return the whole text that is printed so far.

    A blank line comes before the first piece, whose leading white space is dropped.

    Args:
        after: the text that is already printed.
    """
    if not after:
        piece = piece.lstrip()
        if piece:
            console.print()
    console.print(Text(plain(piece), style="bold"), end="", soft_wrap=True)
    return after + piece


def show_grounds(console: Console, answer: Mapping[str, Any]) -> None:
    """Print the parts, citations and warnings of an answer, the reason why reading stopped, and the cost.

    Args:
        answer: the plain form of an ``Answer``.
    """
    console.print()
    if answer["parts"]:
        console.print("\nTaken apart", style="dim")
        places = [(cited["document_id"], cited["start"]) for cited in answer["citations"]]
        for number, part in enumerate(answer["parts"], 1):
            own = [(cited["document_id"], cited["start"]) for cited in part["citations"]]
            marks = "".join(f" [{place}]" for place, cited in enumerate(places, 1) if cited in own)
            console.print(Text(f"    {_format_part(number, part)}{marks}"), soft_wrap=True)
    if answer["citations"]:
        console.print("\nSources", style="dim")
        for number, citation in enumerate(answer["citations"], 1):
            _show_citation(console, number, citation)
    if answer["warnings"]:
        console.print("\nCareful", style="yellow")
        for warning in answer["warnings"]:
            console.print(Text(f"    {_line(warning['text'])}"), soft_wrap=True)
    reason = STOP_REASONS[answer["stop_reason"]]
    nodes = pluralise(len(answer["trace"]), "node")
    console.print(f"\nStopped because {reason}.\n{nodes}, {cost_line(answer['usage'])}", style="dim", soft_wrap=True)


def _show_citation(console: Console, number: int, citation: Mapping[str, Any]) -> None:
    place = Text(f"[{number}] ", style="cyan")
    place.append(f"{label(citation['document_key'])}  {citation['start']}–{citation['end']}")
    place.append(f"  {label(citation['place'])}" if citation.get("place") else "")
    console.print(place, soft_wrap=True)
    console.print(Text(f"    “{_line(citation['quote'])}”", style="italic"), soft_wrap=True)


def cost_line(usage: Mapping[str, Any]) -> str:
    """Return the tokens, model calls and seconds of a usage as text."""
    return (
        f"{usage['prompt_tokens']:,} tokens read, {usage['generated_tokens']:,} written, "
        f"{pluralise(usage['model_calls'], 'model call')}, {usage['seconds']:.1f} s"
    )


def usage_line(answer: Answer) -> str:
    """Return the reason why reading stopped, and the cost of the answer."""
    return f"stopped because {STOP_REASONS[answer.stop_reason.value]}; {cost_line(answer.usage.as_dict())}"


def change_line(change: Change) -> str:
    """Return how a document that a kept question used was changed, when, and how many of its read nodes are gone."""
    what = f"{_line(change.document_key)} was {change.action.value} {change.changed_at}"
    return f"{what}; {pluralise(change.reads, 'node')} read of it {'is' if change.reads == 1 else 'are'} gone"


# ── documents ────────────────────────────────────────────────────────────────────────────────────────────


def print_outcomes(outcomes: Iterable[Receipt | Failure]) -> list[Receipt | Failure]:
    """Print one line for each receipt and failure as it arrives, and return all of them."""
    out, printed = to_stdout(), list[Any]()
    for outcome in outcomes:
        printed.append(outcome)
        made = isinstance(outcome, memgraph_rag.Receipt)
        out.print((_receipt_line if made else _failure_line)(outcome.as_dict()), soft_wrap=True)
    return printed


def write_outcomes(outcomes: Iterable[Receipt | Failure], **more: object) -> None:
    """Print receipts and failures, and ``more``, as one JSON object."""
    receipts, failures = list[dict[str, Any]](), list[dict[str, Any]]()
    for outcome in outcomes:
        (receipts if isinstance(outcome, memgraph_rag.Receipt) else failures).append(outcome.as_dict())
    write_json({"receipts": receipts, "failures": failures, **more})


def _receipt_line(receipt: Mapping[str, Any]) -> Text:
    """Return a receipt as one line: the action, the key, the counts, notes and cost."""
    line = Text(f"{receipt['action']:<9}  ", style="green")
    line.append(label(receipt["key"]), style="bold")
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(receipt["counts"].items()) if count)
    line.append(f"  {counts}", style="default")
    if receipt["notes"]:
        notes = ", ".join(f"{count:,} × {plain(name)}" for name, count in receipt["notes"].items())
        line.append(f"  (notes: {notes})", style="yellow")
    if receipt["echoes"]:
        line.append(f"  (no evidence, answered before: {pluralise(receipt['echoes'], 'segment')})", style="yellow")
    if receipt["stale_questions"]:
        line.append(f"  (stale now: {pluralise(receipt['stale_questions'], 'kept question')})", style="yellow")
    if receipt["forgotten_questions"]:
        line.append(f"  (with it: {pluralise(receipt['forgotten_questions'], 'kept question')})", style="yellow")
    if receipt["same_as"]:
        others = ", ".join(label(key) for key in receipt["same_as"][:_NAMED])
        more = len(receipt["same_as"]) - _NAMED
        line.append(f"  (the same text as {others}{f' and {more} more' if more > 0 else ''})", style="yellow")
    if receipt["usage"]["model_calls"]:
        line.append(f"  {cost_line(receipt['usage'])}", style="dim")
    return line


def _failure_line(failure: Mapping[str, Any]) -> Text:
    """Return a failure as one line: the source and the error."""
    line = Text("failed     ", style="red")
    line.append(label(failure["source"]), style="bold")
    return line.append(f"  {failure['error']}: {_line(failure['message'])}", style="default")


def format_left_out(folder: Path, left_out: Mapping[Path, str], *, of_kind: str) -> Iterator[Text]:
    """Yield one line for each reason why files of a folder were skipped: their number and the first names.

    Args:
        left_out: the reason by the path of each skipped file.
        of_kind: the beginning of reasons that name a kind of file; all kinds share a line.
    """
    by_reason: dict[str, list[Path]] = {}
    kinds = Counter(reason.removeprefix(of_kind) for reason in left_out.values() if reason.startswith(of_kind))
    several = f"of kinds {', '.join(kind for kind, _ in kinds.most_common())}; --include takes them"
    for path, reason in left_out.items():
        by_reason.setdefault(several if reason.startswith(of_kind) else reason, []).append(path)
    for reason, paths in sorted(by_reason.items()):
        names = ", ".join(_line(path.relative_to(folder).as_posix()) for path in paths[:_NAMED])
        more = ", …" if len(paths) > _NAMED else ""
        yield Text(f"left out of {_line(str(folder))}: {len(paths):,} {reason} ({names}{more})", style="dim")


def evidence_lines(rank: int, evidence: Mapping[str, Any]) -> Text:
    """Return lines for one search result: its place, relevance, ranks in the searched lists, path, passage and remarks.

    Args:
        rank: place of the result, from 1.
        evidence: the plain form of an ``Evidence``.
    """
    why = ", ".join(f"{name} {place}" for name, place in evidence["why"].items())
    head = Text(f"{rank:>2}. ", style="cyan")
    head.append(f"{label(evidence['document_key'])}  {evidence['start']}–{evidence['end']}", style="bold")
    near = "" if evidence["relevance"] is None else f"relevance {evidence['relevance']:.2f}  "
    head.append(f"  {near}({why})  {evidence['segment_id']}", style="dim")
    if evidence["path"]:
        ways = "; ".join(_way(carrier) for carrier in evidence["path"] if carrier["share"] >= _LEAST_SHARE)
        head.append(f"\n    by {ways}" if ways else "", style="dim")
    head.append("".join(_passage_lines(evidence["text"])), style="default")
    for remark in evidence["remarks"]:
        head.append(f"\n    [{_line(remark)}]", style="yellow")
    return head.append("\n")


def _passage_lines(text: str) -> Iterator[str]:
    """Yield each line of a passage that is not blank, indented, so that none looks like the head of a result."""
    rows = (plain(row.expandtabs(4)).rstrip() for row in text.splitlines())
    yield from (f"\n    {row}" for row in rows if row)


def _way(carrier: Mapping[str, Any]) -> str:
    """Return an entity that led to a result, with its share, and whether it was in the question or in a document."""
    entity = label(carrier["entity"])
    origin = "in the question" if carrier["named"] else f"from {label(carrier['source_key'])}"
    return f"{entity} ({carrier['share']:.0%}, {origin})" if carrier["named"] or carrier["source_key"] else entity


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table with a head. On a narrow terminal the first column is folded and never left out."""
    drawn = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns[:1]:
        drawn.add_column(column, overflow="fold", min_width=_LEAST_OF_A_NAME)
    for column in columns[1:]:
        drawn.add_column(column)
    for row in rows:
        drawn.add_row(*(Text(label(str(cell))) for cell in row))
    return drawn


def facts(pairs: Mapping[str, object]) -> Table:
    """Return a table of names and values, one pair a line. Empty values are left out."""
    drawn = Table.grid(padding=(0, 2))
    for name, value in pairs.items():
        if value not in ("", None, [], {}):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            drawn.add_row(Text(name, style="dim"), Text(label(shown)))
    return drawn
