"""Finishes the queue of files that a former version of the server left; this version has no queue.

It knows the format of those files, and the tool ``remember``. Invariants: documents are stored in the order of their
acceptance. A file of the queue is removed when its document is stored, or can never be stored. Other files are not
touched.
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

_FOLDER = re.compile(r"[0-9a-f]{32}")  # the name of a namespace's folder: the beginning of its hash
_FILE = re.compile(r"[0-9a-f]{32}\.(queued|storing|ended|(queued|ended)\.part)")

_REMEMBER = Tool.from_function(remember)


def folder_of_jobs(store: str, database: str | None) -> Path:
    """Return the folder in which the former version kept the queue of a store. It may not exist."""
    digest = hashlib.sha256(f"{store}\n{database or ''}".encode("utf-8", "surrogatepass")).hexdigest()
    return Path(platformdirs.user_data_dir("memgraph_rag")) / "jobs" / digest[:16]


def finish_jobs(root: Path, memories: Memories) -> Iterator[str]:
    """Store the documents of the queue, remove its files, and yield lines that tell the user about it.

    A document that can never be stored is left out, and its file is removed too. Without the folder nothing is yielded.

    Raises:
        MemgraphRagError: a document cannot be stored now. This and the following documents wait for the next start.
    """
    for folder in sorted(path for path in root.glob("*") if _FOLDER.fullmatch(path.name) and path.is_dir()):
        if any(_files(folder)):
            lock = folder / "lock"
            with FileLock(lock):  # another server may be working on this queue
                yield from _finish_namespace(folder, memories)
            lock.unlink(missing_ok=True)
            with suppress(OSError):  # the folder has other files
                folder.rmdir()
    with suppress(OSError):
        root.rmdir()
        yield f"The queue of a former version is finished, and its folder is removed: {root}"


def _finish_namespace(folder: Path, memories: Memories) -> Iterator[str]:
    """Store the queue of one namespace, oldest first, because a file name begins with the time of acceptance."""
    files = sorted(_files(folder))
    done = {path.stem for path in files if path.suffix == ".ended"}
    waiting = [path for path in files if path.suffix in (".queued", ".storing")]
    stored = 0
    for path in waiting:
        if path.stem not in done:  # otherwise the server was killed before it removed the file
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
    """Store the document of a file, and return an empty text; or return the reason why it can never be stored."""
    form = read_object(path) or {}
    namespace, arguments = str(form.get("namespace")), form.get("arguments")
    digest = hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).hexdigest()
    if not digest.startswith(path.parent.name) or not isinstance(arguments, dict):
        return "the file is damaged"
    memories.get(namespace)  # an error here is not caused by the document
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
