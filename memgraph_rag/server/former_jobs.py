"""Finish, once, the queue that a former version of the server kept as files; this version has no queue.

It knows the form of those files and the tool ``remember``. Invariants: documents are stored in the order in which they
were accepted; a file of the queue goes when its document is stored or can never be; any other file stays as it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import platformdirs
from filelock import FileLock
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError

from memgraph_rag.errors import DocumentError, SettingsError
from memgraph_rag.server.explanations import explain_arguments
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.private_files import read_object
from memgraph_rag.server.services import Services
from memgraph_rag.server.tools import remember

__all__ = ["finish_jobs", "folder_of_jobs"]

_FOLDER = re.compile(r"[0-9a-f]{32}")  # of a namespace: the beginning of its hash
_FILE = re.compile(r"[0-9a-f]{32}\.(queued|storing|ended|(queued|ended)\.part)")

_REMEMBER = Tool.from_function(remember)


def folder_of_jobs(store: str, database: str | None) -> Path:
    """Return the folder where the former version kept what it had accepted for this store."""
    digest = hashlib.sha256(f"{store}\n{database or ''}".encode("utf-8", "surrogatepass")).hexdigest()
    return Path(platformdirs.user_data_dir("memgraph_rag")) / "jobs" / digest[:16]


def finish_jobs(root: Path, memories: Memories) -> Iterator[str]:
    """Store the documents that wait, and remove the files of the queue; yield what the user should know, in lines.

    Raises:
        MemgraphRagError: a document cannot be stored now. It waits for the next start, with those behind it.
    """
    for folder in sorted(path for path in root.glob("*") if _FOLDER.fullmatch(path.name) and path.is_dir()):
        if any(_files(folder)):
            lock = folder / "lock"
            with FileLock(lock):  # a server that stores holds it
                yield from _finish(folder, memories)
            lock.unlink(missing_ok=True)
            with suppress(OSError):  # others' files are in it
                folder.rmdir()
    with suppress(OSError):
        root.rmdir()
        yield f"The queue of a former version is finished, and its folder is removed: {root}"


def _finish(folder: Path, memories: Memories) -> Iterator[str]:
    """Store what waits in the folder of a namespace, the oldest first: a name begins with the time of acceptance."""
    files = sorted(_files(folder))
    done = {path.stem for path in files if path.suffix == ".ended"}
    waiting = [path for path in files if path.suffix in (".queued", ".storing")]
    stored = 0
    for path in waiting:
        if path.stem not in done:  # else the server was killed before it removed the file
            refusal = _store(path, memories)
            stored += not refusal
            if refusal:
                yield f"A document that a former version accepted is left out, {path.name}: {refusal}"
        path.unlink()
    for path in files:
        path.unlink(missing_ok=True)
    if stored:
        yield f"Stored {stored:,} document{'s' * (stored != 1)} that a former version had accepted."


def _store(path: Path, memories: Memories) -> str:
    """Store the document of a file; why it can never be stored, empty where it is."""
    form = read_object(path) or {}
    namespace, arguments = str(form.get("namespace")), form.get("arguments")
    digest = hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).hexdigest()
    if not digest.startswith(path.parent.name) or not isinstance(arguments, dict):
        return "the file is damaged"
    memories.get(namespace)  # what fails here is no fault of the document
    services = Services(memories, lambda: namespace)
    call = SimpleNamespace(request_context=SimpleNamespace(lifespan_context=services))
    try:
        _REMEMBER.fn(call=call, **_REMEMBER.fn_metadata.validate_arguments(arguments))
    except ValidationError as error:
        return explain_arguments(remember.__name__, error)
    except (DocumentError, SettingsError) as error:
        return str(error)
    return ""


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if _FILE.fullmatch(path.name) and path.is_file())
