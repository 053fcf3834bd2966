"""Find the spellings of a path that name the same file.

The module reads no file; it only asks whether one exists. Invariant: folders are resolved through links, so one file
has one spelling; a link in the last place keeps its own name, because it may point to another file later.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_MOST_CHARACTERS = 255  # of a str that may be a path; a longer one is text
_REMOTE = ("\\\\", "//")  # checking such a path may send a password to the named machine


def may_be_path(text: str) -> bool:
    """Return whether a str could be a local path: 1 to 255 printable characters, without two slashes at the start."""
    return 0 < len(text) <= _MOST_CHARACTERS and text.isprintable() and not text.startswith(_REMOTE)


def names_file(path: Path) -> bool:
    """Return whether the path is an existing regular file or folder, also by a link or with a leading "~".

    A name without letters and digits does not count. Return False if the path cannot be looked at.
    """
    with suppress(OSError, ValueError):
        mode = expand_home(path).stat().st_mode
        return any(map(str.isalnum, path.name)) and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def names_folder(path: Path) -> bool:
    """Return whether the path is an existing folder, also by a link or with "~"; False if it cannot be looked at."""
    with suppress(OSError, ValueError):
        return stat.S_ISDIR(expand_home(path).stat().st_mode)
    return False


def expand_home(path: Path) -> Path:
    """Return the path with the home folder in place of a leading "~"; unchanged if there is no home folder."""
    with suppress(RuntimeError):
        return path.expanduser()
    return path


def default_key(path: Path) -> str:
    """Return the path as given, with slashes, without detours such as "notes/../notes/a.md".

    A relative path stays relative, and a leading "~" stays.
    """
    return Path(os.path.normpath(path)).as_posix() if ".." in path.parts else path.as_posix()


def spellings(path: Path) -> tuple[str, ...]:
    """Return the absolute paths under which a file may be stored, each once; the first one is used for storing.

    The first path keeps a link in the last place. Further paths are there only if they differ: the one that follows
    this link, then the one that versions before 0.2 stored. A path that cannot be resolved (links in a circle) is the
    only one, as given.
    """
    path = expand_home(path)
    try:
        absolute = path.absolute()
        real = path.resolve()
        own = path.parent.resolve() / path.name if path.name not in ("", "..") else real
    except (OSError, RuntimeError, ValueError):  # links in a circle, a NUL, or a current folder that is gone
        return (str(path),)
    return tuple(dict.fromkeys(map(str, (own, real, absolute))))
