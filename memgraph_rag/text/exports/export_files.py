"""``ExportFiles``: the files of an export, which is one file, a folder, or a zip archive.

It knows no format. Invariants: nothing is unpacked on the disk; only listed files are read, so a name inside an export
never leads outside of it; links are not followed; the sizes that an archive declares are not trusted; a database is
opened for reading only.
"""

from __future__ import annotations

import os
import sqlite3
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from pydantic_core import from_json

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.text.paths import expand_home

_MOST_BYTES = 2 * 1024**3  # that are read of one export, unpacked
_MOST_FILES = 500_000
_MOST_ATTACHMENT = 1024**2  # bytes of a text that a message carries
_HEAD = 4096


class ExportFiles:
    """The files of one export by name; a name has slashes, on every system.

    Args:
        path: a file, a folder, or a zip archive.

    Raises:
        DocumentError: the path does not exist, cannot be read, or is a damaged archive.
    """

    def __init__(self, path: Path) -> None:
        self.path = expand_home(path)
        self._read_bytes = 0
        self._json: dict[str, Any] = {}
        try:
            self._archive = zipfile.ZipFile(self.path) if self.path.is_file() and _is_zip(self.path) else None
            self.names = self._list()
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise DocumentError(
                f"Expected an export that can be read, got {show(error)}: {show(self.path)}. Check the path, or "
                "download the export again.",
                path=path,
            ) from error

    def find_files(self, name: str) -> list[str]:
        """Return the full names of the files whose last part is this name, such as ``conversations.json``, sorted."""
        return [full for full in self.names if PurePosixPath(full).name == name]

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            DocumentError: the export has no such file, the file is damaged or encrypted, or the limit is reached.
        """
        most = _MOST_BYTES - self._read_bytes
        try:
            if name not in self._known:
                raise FileNotFoundError(name)
            with self._archive.open(name) if self._archive else (self._root / name).open("rb") as file:
                data = file.read(most + 1)
        except (OSError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
            # RuntimeError: an encrypted archive.
            raise DocumentError(
                f"Expected a file that can be read in {show(self.path)}, got {show(error)} for {show(name)}. Unpack "
                "the export, and give the folder.",
                path=self.path,
            ) from error
        self._read_bytes += len(data)
        if len(data) > most:
            raise DocumentError(
                f"Expected at most {_MOST_BYTES:,} bytes in an export, got more in {show(self.path)}. Give its parts "
                "one by one.",
                path=self.path,
                limit=_MOST_BYTES,
            )
        return data

    def json(self, name: str) -> Any:
        """Return the parsed content of a JSON file; a further call returns the same object.

        Raises:
            DocumentError: the file is no JSON, or cannot be read.
        """
        if name not in self._json:
            try:
                self._json[name] = from_json(self.read(name).removeprefix(b"\xef\xbb\xbf"), cache_strings="keys")
            except ValueError as error:
                raise DocumentError(
                    f"Expected JSON in {show(name)} of {show(self.path)}, got {show(error)}. Download it again.",
                    path=self.path,
                ) from error
        return self._json[name]

    def head(self, name: str) -> bytes:
        """Return the first 4,096 bytes of a file, which do not count as read; empty if the file cannot be read."""
        try:
            with self._archive.open(name) if self._archive else (self._root / name).open("rb") as file:
                return file.read(_HEAD)
        except (OSError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError):
            return b""

    def attachment(self, name: str) -> str:
        """Return the text of a file that a message names; empty if it is missing, above 1 MiB, or not UTF-8 text."""
        last = PurePosixPath(name.replace("\\", "/")).name
        full = name if name in self._known else next(iter(self._by_last_part.get(last, ())), None)
        if full is None or b"\x00" in self.head(full):
            return ""
        try:
            data = self.read(full)
            return data.decode("utf-8") if len(data) <= _MOST_ATTACHMENT else ""
        except (DocumentError, UnicodeDecodeError):
            return ""

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.names)

    @cached_property
    def _by_last_part(self) -> dict[str, list[str]]:
        by_last: dict[str, list[str]] = {}
        for name in self.names:
            by_last.setdefault(PurePosixPath(name).name, []).append(name)
        return by_last

    @property
    def _root(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    def _list(self) -> list[str]:
        """Return the names of all files, sorted."""
        if self._archive is not None:
            names = [item.filename for item in self._archive.infolist() if not item.is_dir()]
        elif self.path.is_dir():
            names = [
                (Path(folder) / name).relative_to(self.path).as_posix()
                for folder, _, files in os.walk(self.path)
                for name in files
                if not (path := Path(folder) / name).is_symlink() and path.is_file()  # a pipe would wait for its writer
            ]
        else:
            if self.path.exists() and not self.path.is_file():
                raise ValueError("a device, a pipe or a socket")
            with self.path.open("rb"):
                names = [self.path.name]
        if len(names) > _MOST_FILES:
            raise ValueError(f"{len(names):,} files, more than {_MOST_FILES:,}")
        return sorted(names)


def read_rows(path: Path, query: str, values: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of an SQL query on an SQLite file, each as values by column; ``values`` replace its "?" marks.

    Raises:
        DocumentError: the file is damaged, or has no such table.
    """
    try:
        file = path.resolve()
        mode = "mode=ro&immutable=1" if _is_idle(file) else "mode=ro"
        with closing(sqlite3.connect(f"file:{quote(str(file))}?{mode}", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values)]
    except (sqlite3.Error, OSError) as error:
        raise DocumentError(
            f"Expected a store that can be read, got {show(error)}: {show(path)}. Close the program that writes it, "
            "and check the file.",
            path=path,
        ) from error


def _is_idle(path: Path) -> bool:
    """Return whether an SQLite file has a log when it is open, and is not: a reader would then leave files next to it.

    SQLite's documentation, "Write-Ahead Logging": bytes 18 and 19 of the file are 2.
    """
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\x02\x02" and not path.with_name(f"{path.name}-wal").exists()


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
