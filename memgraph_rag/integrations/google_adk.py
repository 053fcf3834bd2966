"""Google ADK's memory service over a memory: each event of a session is a document; and the brief as a tool.

It knows ADK's sessions and memory entries. Invariants: an event is found only for its own user and app; a deleted event
stays deleted when its session is added again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from memgraph_rag.integrations.items import Item, Items
from memgraph_rag.integrations.messages import now, store_message, write_brief
from memgraph_rag.integrations.requirements import framework
from memgraph_rag.memory import Memory

with framework("google-adk", extra="google-adk"):
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.tools.base_tool import BaseTool
    from google.genai.types import Content, Part

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.sessions.session import Session
    from google.adk.tools.tool_context import ToolContext

_NO_SESSION = "__unknown_session_id__"
_DELETED = "deleted"
_BRIEF = "temp:memgraph_rag_brief"


class MemoryService(BaseMemoryService):
    """ADK's memory service: the texts of events are documents of a memory.

    Args:
        memory: an open ``Memory``. Its other documents are never returned.
        k: how many memories a search returns at most.
    """

    def __init__(self, memory: Memory, *, k: int = 10) -> None:
        self.memory = memory
        self.k = k
        self._items = Items(memory, "google_adk")

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of a session that are not stored yet; delete stored events that the session has no more.

        Events without text, and events that ``delete_memory`` deleted, are not stored.
        """
        await asyncio.to_thread(self._add, session.app_name, session.user_id, session.id, list(session.events), True)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002 - none is known here
    ) -> None:
        """Store the events that are not stored yet, and delete no event.

        Events without text, and events that ``delete_memory`` deleted, are not stored. All events without a session id
        belong to one session of the user. ``custom_metadata`` is ignored.
        """
        await asyncio.to_thread(self._add, app_name, user_id, session_id or _NO_SESSION, list(events), False)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002 - none is known here
    ) -> None:
        """Store memories that belong to no session. A memory without an id gets an id, without a time the present.

        A memory without text, or whose id is stored, is left out. A deleted memory is stored again. ``custom_metadata``
        is ignored.
        """
        await asyncio.to_thread(self._add_entries, app_name, user_id, list(memories))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return at most ``k`` memories of this user and app that are most relevant, best first, each once.

        The result is empty for a blank query.
        """
        return SearchMemoryResponse(memories=await asyncio.to_thread(self._search, app_name, user_id, query))

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete the memory with this ``MemoryEntry.id``. It stays deleted when its session is added again.

        Do nothing without an id, or if no memory of this user and app has it.
        """
        if memory_id:
            await asyncio.to_thread(self._delete, app_name, user_id, memory_id)

    # ── in a thread ──────────────────────────────────────────────────────────────────────────────────────

    def _add(self, app: str, user: str, session: str, events: Sequence[Event], is_whole: bool) -> None:
        with self._items.lock:
            if is_whole:
                kept = {event.id for event in events}
                for item in self._items.all(app=app, user=user, session=session):
                    if item.id[-1] not in kept:
                        self._items.delete(item.id)
            deleted = self._list_deleted(app, user)
            for event in events:
                if event.id not in deleted:
                    moment = datetime.fromtimestamp(event.timestamp, timezone.utc).isoformat(timespec="seconds")
                    text = _text(event.content)
                    self._store([app, user, session, event.id], text, speaker=event.author or "", time=moment)

    def _add_entries(self, app: str, user: str, entries: Sequence[MemoryEntry]) -> None:
        for entry in entries:
            id_ = [app, user, _NO_SESSION, entry.id or f"memory-{self._items.next_order()}"]
            self._store(id_, _text(entry.content), speaker=entry.author or "", time=entry.timestamp or now())

    def _store(self, id_: Sequence[str], text: str, *, speaker: str, time: str) -> None:
        app, user, session, _ = id_
        store_message(self._items, id_, text=text, speaker=speaker, time=time, app=app, user=user, session=session)

    def _search(self, app: str, user: str, query: str) -> list[MemoryEntry]:
        hits = self._items.search(query, self._items.all(app=app, user=user), k=self.k)
        return [self._entry(item) for item, _ in hits]

    def _entry(self, item: Item) -> MemoryEntry:
        said = item.value
        role = "user" if said["speaker"] == "user" else "model"
        content = Content(role=role, parts=[Part(text=self._items.text(item))])
        return MemoryEntry(id=item.id[-1], content=content, author=said["speaker"] or None, timestamp=said["time"])

    def _delete(self, app: str, user: str, memory_id: str) -> None:
        with self._items.lock:
            gone = [item for item in self._items.all(app=app, user=user) if item.id[-1] == memory_id]
            for item in gone:
                self._items.delete(item.id)
            if gone:
                before = self._items.get([_DELETED, app, user])
                deleted = sorted({memory_id, *self._list_deleted(app, user)})
                self._items.put([_DELETED, app, user], "", deleted, before=before)

    def _list_deleted(self, app: str, user: str) -> list[str]:
        item = self._items.get([_DELETED, app, user])
        return [] if item is None else item.value


class BriefTool(BaseTool):
    """Adds the brief of the user and app to the instructions of the model, as ADK's ``preload_memory`` adds memories.

    Args:
        memory: the open ``Memory`` of a ``MemoryService``.
        max_tokens: most tokens of the brief. It is written once for each invocation.
    """

    def __init__(self, memory: Memory, *, max_tokens: int = 600) -> None:
        super().__init__(name="memory_brief", description="The brief of long-term memory. The model does not call it.")
        self.memory = memory
        self.max_tokens = max_tokens

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Append the brief to the instructions, unless the brief is empty."""
        if _BRIEF not in tool_context.state:
            session = tool_context.session
            where = {"collection": "google_adk", "app": session.app_name, "user": session.user_id}
            text = await asyncio.to_thread(write_brief, self.memory, max_tokens=self.max_tokens, where=where)
            tool_context.state[_BRIEF] = text
        if text := tool_context.state[_BRIEF]:
            llm_request.append_instructions([text])


def _text(content: Any) -> str:
    parts = (content.parts if content else None) or ()
    return "\n\n".join(part.text for part in parts if part.text and not part.thought)
