"""Records as HTML, for notebooks that display the value of a cell.

The module knows the attributes of the records and their plain form. Invariant: every text is escaped, and the HTML
holds no script and no link, so that a document's text is displayed and never executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from memgraph_rag.types.documents import shorten

if TYPE_CHECKING:
    from memgraph_rag.types.answers import Answer

_MOST_ROWS = 100
_MOST_CHARACTERS = 400
"""The limit of a text in a cell. ``to_pandas`` and ``as_dict`` return the whole text."""

_CELL = ' style="text-align: left; vertical-align: top; white-space: pre-wrap"'


def answer_html(answer: Answer) -> str:
    """Return the question and the answer with its citations, its warnings and its cost, as HTML.

    Long quotations are cut. The trace is left out.
    """
    cited = [{"document": cited.document_key, **cited.as_dict()} for cited in answer.citations]
    usage = answer.usage
    cost = f"{len(answer.trace):,} nodes read, {usage.model_calls:,} model calls, {usage.seconds:.1f} s"
    warnings = "".join(f"<p><b>Careful:</b> {escape(str(warning))}</p>" for warning in answer.warnings)
    return (
        f"<p><i>{escape(answer.question)}</i></p><p><b>{escape(answer.text)}</b></p>"
        f"{_table(('document', 'start', 'end', 'quote'), cited, numbered=True) if cited else ''}{warnings}"
        f"<p><small>stopped: {escape(answer.stop_reason.value)}; {cost}</small></p>"
    )


def table_html(records: Sequence[Any], columns: Sequence[str]) -> str:
    """Return records as an HTML table with these columns, which are keys of ``as_dict``.

    Columns without any value are left out, and long texts are cut. Of many records only the first are shown, with the
    number of the others below.
    """
    return _table(columns, (record.as_dict() for record in islice(records, _MOST_ROWS)), total=len(records))


def _table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, total: int = 0, numbered: bool = False) -> str:
    """Return rows below a header, numbered on request, without empty columns; ``total`` counts all rows."""
    cells = [{column: _text(row[column]) for column in columns} for row in rows]
    shown = [column for column in columns if any(row[column] for row in cells)]
    if numbered:
        shown = ["", *shown]
        cells = [{"": f"[{number}]", **row} for number, row in enumerate(cells, 1)]
    head = "".join(f"<th{_CELL}>{column}</th>" for column in shown)
    body = ("".join(f"<td{_CELL}>{row[column]}</td>" for column in shown) for row in cells)
    more = f"<p><small>… and {total - len(cells):,} more</small></p>" if total > len(cells) else ""
    lines = "".join(f"<tr>{line}</tr>" for line in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{more}"


def _text(value: object) -> str:
    """Return a value as escaped text: a number with three digits, a list with semicolons between its items."""
    if isinstance(value, float):
        value = f"{value:.3g}"
    elif isinstance(value, Mapping):
        value = ", ".join(f"{name}: {inner}" for name, inner in cast("Mapping[str, object]", value).items())
    elif isinstance(value, list):
        value = "; ".join(map(str, cast("Iterable[object]", value)))
    return escape(shorten("" if value is None else str(value), _MOST_CHARACTERS))
