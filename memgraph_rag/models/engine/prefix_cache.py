"""KV caches of recent beginnings of prompts: template and instruction, or all up to the end of the inputs.

It knows tokens and caches; no layer. Invariants: the caches never take more than their limit; a cache is found only by
exactly the tokens that it holds.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from memgraph_rag.models.engine.kv_cache import RowCache

__all__ = ["Prefixes"]

_MOST_BYTES = 512 * 2**20  # 18,000 tokens of the 1.5B model in bf16


class Prefixes:
    """Caches of one row, by the tokens that they hold; those not used for longest go first."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[int, ...], RowCache] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __contains__(self, ids: Sequence[int]) -> bool:
        """Whether these tokens were read lately, and nothing of them is forgotten."""
        return tuple(ids) in self._kept

    def find(self, ids: Sequence[int]) -> RowCache | None:
        """A new cache that holds just these tokens; None where they were not read lately."""
        with self._lock:
            if tuple(ids) not in self._kept:
                return None
            self._kept.move_to_end(tuple(ids))
            kept = self._kept[tuple(ids)]
        cache = RowCache(rows=0)
        cache.add_row(kept)
        cache.take_back(cache.lengths[0] - len(ids))
        return cache

    def keep(self, ids: Sequence[int], cache: RowCache) -> None:
        """Remember a cache that begins with these tokens, and is not changed any more."""
        with self._lock:
            if not ids or tuple(ids) in self._kept or cache.nbytes > self._most_bytes:
                return
            self._kept[tuple(ids)] = cache
            self._bytes += cache.nbytes
            while self._bytes > self._most_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= oldest.nbytes
