"""The command ``memgraph-rag config``: every setting, its value, and the source of the value.

It opens no memory and loads no model. Invariant: a secret is never shown, only whether it is set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from memgraph_rag.cli import json_output, render, sanitize
from memgraph_rag.cli.options import Json, Place
from memgraph_rag.settings import NAMES, SECRETS, Origin, Settings, project_file, user_file

_HIDDEN = "***"


def config(place: Place, as_json: Json = False) -> None:
    """Show each setting, its value, and its source: an option, a variable, a file, or the default.

    A secret that is set is shown as three stars.
    """
    settings, origins = place.settings_and_origins()
    values = {name: _show_value(settings, name) for name in NAMES}
    if as_json:
        json_output.write_json([_form(name, value, origins.get(name)) for name, value in values.items()])
        return
    rows = [
        (name, "" if value is None else value, str(origins[name]) if name in origins else "default")
        for name, value in values.items()
    ]
    render.to_stdout().print(render.table(("setting", "value", "from"), rows))
    typer.echo(f"\nProject's file: {sanitize.label(str(project_file() or 'none'))}")
    typer.echo(f"Your file: {sanitize.label(str(user_file()))}{'' if user_file().exists() else ' (not there)'}")


def _show_value(settings: Settings, name: str) -> Any:
    """Return the value of a setting as a JSON value. A secret that is set becomes three stars."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    if name in SECRETS:
        return _HIDDEN if value else None
    return str(value) if isinstance(value, Path) else value


def _form(name: str, value: Any, origin: Origin | None) -> dict[str, Any]:
    return {
        "setting": name,
        "value": value,
        "from": "default" if origin is None else origin.kind,
        "variable": (origin and origin.variable) or None,
        "file": str(origin.path) if origin and origin.path else None,
    }
