"""KV caches of recent prompt beginnings: the template and the instruction, or the prompt up to the end of its inputs.

The module knows tokens and caches, but no layer. Invariants: the caches never take more memory than their limit; a
cache is found only by exactly the tokens that it holds.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from memgraph_rag.models.engine.kv_cache import RowCache

_MOST_BYTES = 512 * 2**20  # 18,000 tokens of the 1.5B model in bf16


class Prefixes:
    """One-row caches by their tokens. If memory runs out, the cache that was not used for the longest time goes first.

    Args:
        most_bytes: the largest total size of the caches.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._caches: OrderedDict[tuple[int, ...], RowCache] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __contains__(self, ids: Sequence[int]) -> bool:
        """Return whether a cache for exactly these tokens is stored."""
        return tuple(ids) in self._caches

    def find(self, ids: Sequence[int]) -> RowCache | None:
        """Return a new cache that holds exactly these tokens; None if they are not stored. Finding counts as use."""
        with self._lock:
            if tuple(ids) not in self._caches:
                return None
            self._caches.move_to_end(tuple(ids))
            stored = self._caches[tuple(ids)]
        cache = RowCache(rows=0)
        cache.add_row(stored)
        cache.take_back(cache.lengths[0] - len(ids))
        return cache

    def keep(self, ids: Sequence[int], cache: RowCache) -> None:
        """Store a cache that begins with these tokens. The caller must not change the cache afterwards.

        Nothing is stored without tokens, for tokens that are stored, or for a cache larger than the limit. The caches
        that were not used for the longest time make room.
        """
        with self._lock:
            if not ids or tuple(ids) in self._caches or cache.nbytes > self._most_bytes:
                return
            self._caches[tuple(ids)] = cache
            self._bytes += cache.nbytes
            while self._bytes > self._most_bytes:
                _, oldest = self._caches.popitem(last=False)
                self._bytes -= oldest.nbytes
