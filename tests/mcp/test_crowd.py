"""Eight clients at once on one server, for some seconds; at length: python tests/mcp_crowd.py --seconds 300."""

from __future__ import annotations

import asyncio

from mcp_crowd import crowd
from memories import embedder


def test_eight_clients_lose_nothing_and_cross_no_namespace(served) -> None:
    assert embedder().dimension == 8  # words fall together, so that others' passages would come if they could
    names = [f"user{number // 2}" for number in range(8)]
    tally = asyncio.run(crowd(served.url, [(name, served.tokens.make(name)) for name in names], seconds=2))
    assert tally.lost == []
    assert tally.crossed == []
    assert len(tally.recalls) >= 16
    assert tally.documents > 0
