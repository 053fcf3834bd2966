"""What programs read from the command line: the plain form of records (``as_dict()``) as JSON on standard output.

It knows no record. Invariant: no text of a document can drive a terminal.
"""

from __future__ import annotations

import json

import typer

from memgraph_rag.cli.sanitize import escape

__all__ = ["write_json"]


def write_json(form: object) -> None:
    """Print one JSON value on standard output: UTF-8, not escaped but for what could drive a terminal."""
    typer.echo(escape(json.dumps(form, ensure_ascii=False, indent=2)).encode())
