"""What is left in files of what was forgotten."""

from __future__ import annotations

from pathlib import Path


def files_with(folder: Path, *words: str) -> list[str]:
    """The files below a folder that hold one of these words, in any of the encodings a database may choose."""
    needles = [word.encode(encoding) for word in words for encoding in ("utf-8", "utf-16-le", "utf-16-be")]
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]
