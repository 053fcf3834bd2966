"""LangGraph's long-term store over a memory: namespaces of items, searched by meaning and filters; and the brief.

It knows LangGraph's operations; ``items`` stores the items. Invariants, as in LangGraph's own stores: the reads of a
batch see the state before its writes; if a batch writes an item several times, the last write counts.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.integrations.items import Item, Items, as_json
from memgraph_rag.integrations.messages import write_brief
from memgraph_rag.integrations.requirements import framework
from memgraph_rag.memory import Memory

with framework("langgraph-checkpoint", extra="langgraph", python=(3, 11)):
    from langchain_core.messages import SystemMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
    from langgraph.store.base import Item as StoreItem

Namespace = tuple[str, ...]

_log = logging.getLogger(__name__)


class MemoryStore(BaseStore):
    """A LangGraph ``BaseStore`` whose items are documents of a memory.

    Args:
        memory: an open ``Memory``. This store hides its other documents, but searches of the memory find these items.
        fields: paths of a value whose texts are searched (``put(index=…)`` names others for an item); "$" is all of it.
        mode: how items are ranked for a query.
        ttl: as in LangGraph's stores: ``default_ttl`` in minutes, ``refresh_on_read``, ``omit_expired``,
            ``sweep_interval_minutes``.

    Values are what JSON can hold, up to 64 KiB of it. A filter that compares (``$gt``) what is missing or no number
    does not match. Without a query items come in the order in which they were first put. Every listing looks at all
    documents of the memory's namespace.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        fields: Sequence[str] = ("$",),
        mode: str = "graph",
        ttl: TTLConfig | None = None,
    ) -> None:
        self.memory = memory
        self.mode: str = mode
        self.ttl_config = ttl
        self._fields = tuple(fields)
        self._items = Items(memory, "langgraph")
        self._sweeper_end: threading.Event | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute the operations, and return one result for each; see the invariants of the module.

        Raises:
            InvalidNamespaceError: a label of a namespace is empty, no str, or has a period.
            DocumentError: a value is too large, or JSON cannot hold it.
        """
        with self._items.lock:
            results: list[Result] = []
            puts: dict[tuple[Namespace, str], PutOp] = {}
            for op in ops:
                validate_op_namespace(op)
                if isinstance(op, PutOp):
                    puts[(op.namespace, op.key)] = op
                    results.append(None)
                else:
                    results.append(self._read(op))
            for op in puts.values():
                self._put(op)
            return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute reads and writes of items in a thread, and return a result for each, in order, as ``batch`` does."""
        return await asyncio.to_thread(self.batch, list(ops))

    # ── items that expire ────────────────────────────────────────────────────────────────────────────────

    def sweep_ttl(self) -> int:
        """Delete the expired items, and return their number."""
        with self._items.lock:
            return sum(self._items.delete(item.id) for item in self._items.all() if _has_expired(item))

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Start a thread that deletes expired items every ``sweep_interval_minutes`` (default: ``ttl``'s, else 5).

        Do nothing if such a thread runs. The first sweep comes after the first interval.
        """
        if self._sweeper_end is not None:
            return
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or configured or 5
        self._sweeper_end = end = threading.Event()

        def sweep() -> None:
            while not end.wait(minutes * 60):
                try:
                    self.sweep_ttl()
                except MemgraphRagError:
                    _log.exception("expired items could not be deleted; the next sweep tries again")

        threading.Thread(target=sweep, name="memgraph_rag TTL sweeper", daemon=True).start()

    def stop_ttl_sweeper(self) -> None:
        """Stop the sweeping thread, if there is one. Call this before the memory is closed.

        A sweep in progress is not waited for.
        """
        if self._sweeper_end is not None:
            self._sweeper_end.set()
            self._sweeper_end = None

    # ── operations ───────────────────────────────────────────────────────────────────────────────────────

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            item = self._items.get([list(op.namespace), op.key])
            if item is None or self._is_omitted(item):
                return None
            return StoreItem(**_list_fields(self._refresh(item, op.refresh_ttl)))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _put(self, op: PutOp) -> None:
        id_ = [list(op.namespace), op.key]
        if op.value is None:
            self._items.delete(id_)
            return
        as_json(op.value, id_)  # before LangGraph looks for texts in it
        before = self._items.get(id_)
        paths = self._fields if op.index is None else op.index or ()
        texts = [text for path in paths for text in get_text_at_path(op.value, _tokens(path))]
        now = datetime.now(timezone.utc).isoformat()
        value = {
            "value": dict(op.value),
            "created": now if before is None else before.value["created"],
            "updated": now,
            "indexed": bool(texts),
            "ttl": op.ttl,
            "expires": None if op.ttl is None else time.time() + 60 * op.ttl,
        }
        self._items.put(id_, "\n\n".join(texts), value, before=before)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = list(op.namespace_prefix)
        items = [
            item
            for item in self._list_items()
            if item.id[0][: len(prefix)] == prefix and _matches(item.value["value"], op.filter)
        ]
        scored = self._rank_items(op, items) if op.query else [(item, None) for item in items[op.offset :][: op.limit]]
        return [SearchItem(**_list_fields(self._refresh(item, op.refresh_ttl)), score=score) for item, score in scored]

    def _rank_items(self, op: SearchOp, items: Sequence[Item]) -> list[tuple[Item, float | None]]:
        """Return a page of items: indexed items, best first, then the items that are not indexed."""
        indexed = [item for item in items if item.value["indexed"]]
        hits = self._items.search(op.query or "", indexed, k=op.offset + op.limit, mode=self.mode)
        found = {item.key for item, _ in hits}
        ranked: list[tuple[Item, float | None]] = [(item, evidence.score) for item, evidence in hits]
        ranked += [(item, None) for item in indexed if item.key not in found]
        page = ranked[op.offset :][: op.limit]
        rest = [item for item in items if not item.value["indexed"]]
        return page + [(item, None) for item in rest[: op.limit - len(page)]]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        namespaces = {tuple(item.id[0]) for item in self._list_items()}
        matching = [name for name in namespaces if all(_is_match(condition, name) for condition in conditions)]
        return sorted({name[: op.max_depth] for name in matching})[op.offset :][: op.limit]

    def _list_items(self) -> list[Item]:
        return [item for item in self._items.all() if not self._is_omitted(item)]

    def _is_omitted(self, item: Item) -> bool:
        return bool((self.ttl_config or {}).get("omit_expired")) and _has_expired(item)

    def _refresh(self, item: Item, refresh: bool) -> Item:
        """Return the item. With ``refresh``, restart its time to live."""
        minutes = item.value["ttl"]
        if minutes is None or not refresh:
            return item
        value = {**item.value, "expires": time.time() + 60 * minutes}
        return self._items.put(item.id, self._items.text(item), value, before=item)


def brief_hook(
    memory: Memory, *, max_tokens: int = 600
) -> Callable[[Mapping[str, Any], RunnableConfig], dict[str, Any]]:
    """Return a node that puts the brief before the messages that the model reads, and leaves the state as it is.

    It is the ``pre_model_hook`` of ``create_react_agent``, or a node of your own graph before the model. The brief is
    of the user in the configuration (``{"configurable": {"user_id": "ann"}}``), else of all that the memory holds.
    """

    def add_brief(state: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        user = config.get("configurable", {}).get("user_id")
        text = write_brief(memory, max_tokens=max_tokens, **({"user": user} if user else {}))
        return {"llm_input_messages": [*([SystemMessage(text)] if text else ()), *state["messages"]]}

    return add_brief


def _tokens(path: str) -> str | list[str]:
    return path if path == "$" else tokenize_path(path)


def _list_fields(item: Item) -> dict[str, Any]:
    created, updated = (datetime.fromisoformat(item.value[name]) for name in ("created", "updated"))
    namespace, key = item.id
    return {
        "namespace": tuple(namespace),
        "key": key,
        "value": item.value["value"],
        "created_at": created,
        "updated_at": updated,
    }


def _has_expired(item: Item) -> bool:
    expires = item.value["expires"]
    return expires is not None and expires <= time.time()


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────────

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "$gt": lambda value, bound: value > bound,
    "$gte": lambda value, bound: value >= bound,
    "$lt": lambda value, bound: value < bound,
    "$lte": lambda value, bound: value <= bound,
}


def _matches(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    return all(_agrees(value.get(name), wanted) for name, wanted in (conditions or {}).items())


def _agrees(value: Any, wanted: Any) -> bool:
    """Return whether a value matches a filter: by equality, also in nested values, or by the filter's operators."""
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(_compare(value, operator, operand) for operator, operand in wanted.items())
        return isinstance(value, dict) and _matches(value, wanted)
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(wanted)
            and all(_agrees(*pair) for pair in zip(value, wanted, strict=True))
        )
    return value == wanted


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return (value == operand) == (operator == "$eq")
    if operator not in _COMPARISONS:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        return _COMPARISONS[operator](float(value), float(operand))
    except (TypeError, ValueError):
        return False


def _is_match(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
