"""JSON output of commands for programs: the plain form of records (``as_dict()``) on standard output.

It knows no record. Invariant: text of a document cannot send control characters to a terminal.
"""

from __future__ import annotations

import json

import typer

from memgraph_rag.cli.sanitize import escape


def write_json(form: object) -> None:
    """Print one JSON value on standard output in UTF-8. Only control characters are escaped."""
    typer.echo(escape(json.dumps(form, ensure_ascii=False, indent=2)).encode())
