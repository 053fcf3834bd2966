"""Which spellings of a path name one file.

It reads no file and asks at most whether there is one. Invariant: folders are followed through links, so that one file
has one spelling; but a link in the last place is a name of its own, for it may point to another file tomorrow.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["default_key", "expanded", "may_be_path", "names_file", "names_folder", "spellings"]

_MOST_CHARACTERS = 255  # of a str that may be meant as a path: more is text
_REMOTE = ("\\\\", "//")  # a look at such a path may send a password to whoever it names


def may_be_path(text: str) -> bool:
    """Whether a str could be a path of this machine: short, on one line, and with nothing that no path can hold."""
    return 0 < len(text) <= _MOST_CHARACTERS and text.isprintable() and not text.startswith(_REMOTE)


def names_file(path: Path) -> bool:
    """Whether there is a file or a folder of that name; no dot, slash or "~" alone counts as one."""
    with suppress(OSError, ValueError):
        mode = expanded(path).stat().st_mode
        return any(map(str.isalnum, path.name)) and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def names_folder(path: Path) -> bool:
    """Whether there is a folder of that name."""
    with suppress(OSError, ValueError):
        return stat.S_ISDIR(expanded(path).stat().st_mode)
    return False


def expanded(path: Path) -> Path:
    """The path, with the home folder in place of a leading "~"; as it is where there is none."""
    with suppress(RuntimeError):
        return path.expanduser()
    return path


def default_key(path: Path) -> str:
    """The path as it was given, without detours ("notes/../notes/a.md")."""
    return Path(os.path.normpath(path)).as_posix() if ".." in path.parts else path.as_posix()


def spellings(path: Path) -> tuple[str, ...]:
    """The absolute paths under which a file may have been stored, the one to store it under first.

    The second follows a link in the last place; the third is what versions before 0.2 stored.
    """
    path = expanded(path)
    try:
        absolute = path.absolute()
        real = path.resolve()
        own = path.parent.resolve() / path.name if path.name not in ("", "..") else real
    except (OSError, RuntimeError, ValueError):  # links in a circle, a NUL, or a current folder that is gone
        return (str(path),)
    return tuple(dict.fromkeys(map(str, (own, real, absolute))))
