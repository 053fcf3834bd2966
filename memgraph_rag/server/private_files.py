"""JSON files that their user alone can read, written whole or not at all.

It knows nothing of what is in them. Invariant: under its name a file is either the former one or the new one, whatever
happens meanwhile, and it is on the disk when ``write_private`` returns.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["read_object", "write_private"]


def write_private(path: Path, form: Mapping[str, Any]) -> None:
    """Write an object as JSON, in a folder that is made for its user alone where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f"{path.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(form, file)
        file.flush()
        os.fsync(descriptor)
    part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name, too, outlives a loss of power
    finally:
        os.close(folder)


def read_object(path: Path) -> Mapping[str, Any] | None:
    """The object in a file; None where there is none, or where it cannot be read as such."""
    try:
        form: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return form if isinstance(form, Mapping) else None
