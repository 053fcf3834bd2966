"""Recognise an export of another program, and yield its conversations as documents.

It knows the names of the formats. Invariants: an export is read by one format: the one that was named, or the first
that recognises the files. Files of another form than the format's raise errors of this library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, SettingsError, convert_errors
from memgraph_rag.text.exports import (
    chatgpt,
    claude,
    discord,
    editor_agents,
    gemini,
    mail,
    slack,
    telegram,
    terminal_agents,
    vault,
    whatsapp,
)
from memgraph_rag.text.exports import other_memories as memories
from memgraph_rag.text.exports.agent_session import AgentSession
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.types import Document, Failure


@contextmanager
def _check_form(what: str, path: Path) -> Iterator[None]:
    """Convert foreign errors of the block, which reads files of another form, into a ``DocumentError``."""

    def make_error(exc: Exception) -> DocumentError:
        return DocumentError(
            f"Expected {what} in its usual form, got one without it ({type(exc).__name__}: {show(exc)}): {show(path)}. "
            "Name another file or another format.",
            path=path,
        )

    with convert_errors(make_error):
        yield


class Format(NamedTuple):
    """A format of exports: functions that tell whether files have the format, and that parse their documents."""

    matches: Callable[[ExportFiles], bool]
    parse: Callable[[ExportFiles], Iterator[Document | Failure]]

    def read(self, files: ExportFiles) -> Iterator[Document | Failure]:
        """Yield the documents of an export; raise ``DocumentError`` if it has another form."""
        with _check_form("an export of this format", files.path):
            yield from self.parse(files)


FORMATS = {
    "mem0": Format(memories.is_mem0, memories.read_mem0),
    "langgraph": Format(memories.is_langgraph, memories.read_langgraph),
    "graphiti": Format(memories.is_graphiti, memories.read_graphiti),
    "letta": Format(memories.is_letta, memories.read_letta),
    "lightrag": Format(memories.is_lightrag, memories.read_lightrag),
    "agent-memory": Format(memories.is_agent_memory, memories.read_agent_memory),
    "vault": Format(vault.matches, vault.read),
    "slack": Format(slack.matches, slack.read),
    "chatgpt": Format(chatgpt.matches, chatgpt.read),
    "claude": Format(claude.matches, claude.read),
    "discord": Format(discord.matches, discord.read),
    "telegram": Format(telegram.matches, telegram.read),
    "gemini": Format(gemini.matches, gemini.read),
    "whatsapp": Format(whatsapp.matches, whatsapp.read),
    "mail": Format(mail.matches, mail.read),
}
"""The formats by name, in the order in which they are tried."""


class SessionLogs(NamedTuple):
    """A coding agent's logs: functions that find the log files below a home folder, and parse a file's sessions."""

    find: Callable[[Path], Iterator[Path]]
    parse: Callable[[Path], Iterator[AgentSession]]

    def read(self, path: Path) -> Iterator[AgentSession]:
        """Yield the sessions of a log file; raise ``DocumentError`` if it cannot be read or has another form."""
        with _check_form("a log of sessions", path):
            yield from self.parse(path)


SESSION_LOGS = {
    "claude-code": SessionLogs(terminal_agents.find_claude_code, terminal_agents.read_claude_code),
    "codex": SessionLogs(terminal_agents.find_codex, terminal_agents.read_codex),
    "cursor": SessionLogs(editor_agents.find_cursor, editor_agents.read_cursor),
    "opencode": SessionLogs(terminal_agents.find_opencode, terminal_agents.read_opencode),
    "vscode": SessionLogs(editor_agents.find_vscode, editor_agents.read_vscode),
}
"""The coding agents whose sessions are read, by the name under which they are connected."""


def read_export(path: Path, name: str | None = None) -> tuple[str, Iterator[Document | Failure]]:
    """Return the name of an export's format, and the documents of its conversations; a ``Failure`` for a broken one.

    ``Memory.add_many`` stores the documents. Their keys come from the export's own ids, so a later export replaces a
    conversation that has grown, and leaves the others as they are.

    Args:
        path: a file, a folder, or a zip archive.
        name: the format; it is recognised by default.

    Raises:
        SettingsError: no format has this name.
        DocumentError: the files cannot be read, have no known format, or, during the iteration, have another form.
    """
    if name is not None and name not in FORMATS:
        raise SettingsError(
            f"Expected a format of {', '.join(FORMATS)}, got {show(name)}. Name one of these.", setting="format"
        )
    files = ExportFiles(path)
    with _check_form("an export", path):
        format_name = name or next((known for known, form in FORMATS.items() if form.matches(files)), None)
    if format_name is None:
        raise DocumentError(
            f"Expected an export of {', '.join(FORMATS)}, got another form: {show(path)}. Name its format, or add "
            "documents with 'add'.",
            path=path,
        )
    return format_name, FORMATS[format_name].read(files)
