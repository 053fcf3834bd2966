"""A store of which only the required members are of a database: each calls the member of another store."""

from __future__ import annotations

import inspect
from typing import Any

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores import BaseStore

__all__ = ["REQUIRED", "minimal_store"]

REQUIRED = sorted(BaseStore.__abstractmethods__)


def minimal_store(store: GraphStore) -> BaseStore:
    """A store whose required members are those of ``store``, and all others the defaults."""

    def forward(name: str) -> Any:
        if isinstance(inspect.getattr_static(BaseStore, name), property):
            return property(lambda _: getattr(store, name))
        return lambda _, *args, **kwargs: getattr(store, name)(*args, **kwargs)

    return type("MinimalStore", (BaseStore,), {name: forward(name) for name in REQUIRED})()
