"""Reads and writes JSON files that only their owner can read.

It does not know their content. Invariant: a file has either its former or its new content, even after a crash
during the writing, and it is on the disk when ``write_private`` returns.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_private(path: Path, form: Mapping[str, Any]) -> None:
    """Write an object as JSON over any file at this path. Create a missing folder, readable by its owner only.

    Raises:
        OSError: the folder or the file cannot be written.
    """
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
        os.fsync(folder)  # so that the new name survives a power failure
    finally:
        os.close(folder)


def read_object(path: Path) -> Mapping[str, Any] | None:
    """Return the JSON object in a file; None if the file is missing, cannot be read, or holds no JSON object."""
    try:
        form: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return form if isinstance(form, Mapping) else None
