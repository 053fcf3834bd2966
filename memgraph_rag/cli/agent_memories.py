"""The memories of coding agents: the local server that opens them, and the import of old sessions.

It knows the command line's options and no client's settings. Invariant: secrets in turns are masked.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer
from filelock import FileLock, Timeout

from memgraph_rag.agents.clients import CLIENTS
from memgraph_rag.agents.hook import LOCK
from memgraph_rag.agents.hook_service import HookService, store_session
from memgraph_rag.agents.projects import PERSON, find_project
from memgraph_rag.cli import json_output
from memgraph_rag.cli.options import Place
from memgraph_rag.cli.sanitize import plain
from memgraph_rag.cli.serve import open_memories
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.server.hooks import OwnerTokens, hook_app, serve_hooks
from memgraph_rag.text.exports.formats import SESSION_LOGS

_IDLE_S = 1_800.0  # without a call, after which the local server ends
_LOCKING_S = 1.0  # a hook that looks whether a server runs holds the lock for a moment
_FINISHING_S = 5.0  # to store turns at the end; what is left is stored by the next server


def serve_until_idle(place: Place, path: Path) -> None:
    """Serve hooks and clients of this person until no call came for half an hour. A second server ends at once.

    Args:
        path: the folder of the server.
    """
    lock = FileLock(path / LOCK)
    try:
        lock.acquire(timeout=_LOCKING_S)
    except Timeout:
        return
    (path / "server.json").unlink(missing_ok=True)  # of a server that was killed
    with open_memories(place, redact="mask") as memories:
        service = HookService(memories, path)
        secret = secrets.token_urlsafe(32)

        def answer(client: str, event: str, given: object) -> str:
            spoken = path / "spoken"
            spoken.mkdir(exist_ok=True)
            if client in CLIENTS:
                (spoken / client).touch()
            return service.answer(client, event, given if isinstance(given, dict) else {})

        warm = memories.get(PERSON)  # the first hook must not wait for models
        warm.recognizer.recognize(["Ann lives in Berlin."])
        warm.embedder.embed(["Ann lives in Berlin."])
        app = hook_app(memories, OwnerTokens(secret, PERSON), answer, finish=partial(service.wait, _FINISHING_S))
        serve_hooks(app, secret, path / "server.json", idle_s=_IDLE_S)


def import_sessions(place: Place, client: str, paths: Sequence[Path], *, as_json: bool) -> bool:
    """Store the sessions that a client kept, each in its project, and return whether all could be read.

    A Ladybug file is open in one process: while the local server runs, this is refused.

    Args:
        place: its namespace, if it has one, is the only project whose sessions are stored.
        paths: the logs; those below the home folder by default.
    """
    stored: list[dict[str, Any]] = []
    failures: list[dict[str, str]] = []
    with open_memories(place, redact="mask") as memories:
        for path in paths or SESSION_LOGS[client].find(Path.home()):
            try:
                for session in SESSION_LOGS[client].read(path):
                    project = find_project(session.folder or Path.home())
                    if not session.turns or project.is_ignored or place.namespace not in (None, project.namespace):
                        continue
                    with memories.keep_open(project.namespace):
                        number = store_session(memories.get(project.namespace), session)
                    stored.append({"project": project.namespace, "session": session.id, "new_turns": number})
                    if not as_json:
                        typer.echo(f"{number:5} new turns    {plain(project.namespace)}    {plain(session.id)}")
            except (OSError, MemgraphRagError) as error:
                failures.append({"path": str(path), "error": str(error)})
                typer.echo(f"failed     {plain(str(path))}: {plain(str(error))}", err=True)
    if as_json:
        json_output.write_json({"sessions": stored, "failures": failures})
    return not failures
