"""Sessions and tools for the OpenAI Agents SDK over a memory.

It knows the SDK's session protocol and function tools. Invariants: a session returns its items unchanged and in order;
searches of the memory find its messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from memgraph_rag.integrations.items import Item, Items
from memgraph_rag.integrations.messages import now
from memgraph_rag.integrations.requirements import framework
from memgraph_rag.memory import Memory

with framework("openai-agents", extra="openai-agents"):
    from agents import FunctionTool
    from agents.memory import SessionABC, SessionSettings

if TYPE_CHECKING:
    from agents import TResponseInputItem

    from memgraph_rag.tools import ToolName

T = TypeVar("T")


class MemorySession(SessionABC):
    """A conversation of the Agents SDK whose items are documents of a memory.

    Args:
        session_id: id of the conversation. Other conversations in the same memory stay separate.
        memory: an open ``Memory``.
        session_settings: ``limit`` is the number of latest items that a run reads.

    Every read goes through all documents of the namespace. Two programs may add to one session at the same time; no
    item is lost, and items have the order in which they were stored.
    """

    def __init__(self, session_id: str, memory: Memory, *, session_settings: SessionSettings | None = None) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._items = Items(memory, "openai_agents")

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, or the latest ``limit`` items, oldest first; empty if ``limit`` is below 1.

        By default the limit is that of ``session_settings``, if it has one.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items = await self._run_in_thread(self._list_stored)
        values = [item.value["item"] for item in items]
        return values if limit is None else values[-limit:] if limit > 0 else []

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items to the session.

        Raises:
            DocumentError: an item is larger than 64 KiB, or JSON cannot hold it. The items before it are stored.
        """
        await self._run_in_thread(lambda: [self._add(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item and return it, or return None if there is no item."""
        return await self._run_in_thread(self._pop)

    async def clear_session(self) -> None:
        """Delete all items of this session."""
        await self._run_in_thread(lambda: [self._items.delete(item.id) for item in self._list_stored()])

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        def run_locked() -> T:
            with self._items.lock:
                return work()

        return await asyncio.to_thread(run_locked)

    def _list_stored(self) -> list[Item]:
        return self._items.all(session=self.session_id)

    def _add(self, item: Any) -> None:
        role, text = _parse_item(item)
        id_ = [self.session_id, str(self._items.next_order())]
        self._items.put(id_, text, {"item": item}, session=self.session_id, speaker=role, time=now() if role else "")

    def _pop(self) -> Any:
        items = self._list_stored()
        if not items:
            return None
        self._items.delete(items[-1].id)
        return items[-1].value["item"]


def memory_tools(memory: Memory, names: Sequence[ToolName] | None = None) -> list[FunctionTool]:
    """Return ``Memory.tools`` as function tools for an ``Agent``, in the order of ``names``; all without ``names``.

    Raises:
        SettingsError: there is no tool with one of the names.
    """
    tools = memory.tools() if names is None else memory.tools(names)
    return [_function_tool(tool) for tool in tools]


def _function_tool(tool: Any) -> FunctionTool:
    async def invoke(_: Any, arguments: str) -> str:
        return await tool.arun(arguments)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.parameters),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # it would make optional arguments required
    )


def _parse_item(item: Mapping[str, Any]) -> tuple[str, str]:
    """Return the role and the text of an item. An item that is not a message, such as a tool call, gives two ""."""
    content = item.get("content") if item.get("role") else None
    if isinstance(content, str):
        return str(item["role"]), content
    parts = content if isinstance(content, list) else []
    texts = [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    return (str(item["role"]), "\n\n".join(texts)) if texts else ("", "")
