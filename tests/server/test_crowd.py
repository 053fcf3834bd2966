"""Clients at once on one server, for some seconds; at length: tests/mcp_crowd.py and tests/serve_load.py."""

from __future__ import annotations

import asyncio
import os

from mcp_crowd import Tally, compare_lists, crowd
from memories import embedder
from serve_load import load


def test_eight_clients_lose_nothing_and_cross_no_namespace(served) -> None:
    assert embedder().dimension == 8  # words fall together, so that others' passages would come if they could
    names = [f"user{number // 2}" for number in range(8)]
    tally = asyncio.run(crowd(served.url, [(name, served.tokens.make(name)) for name in names], seconds=2))
    assert list(tally.lines())[-1].endswith("0 errors, 0 lost, 0 of another namespace or not gone")
    assert len(tally.calls["recall"]) >= 16
    assert tally.documents > 0


def test_programs_over_http_lose_nothing_and_cross_no_namespace(served) -> None:
    tokens = {name: served.tokens.make(name) for name in ("user0", "user1")}
    pairs = [(name, tokens[name]) for name in ["user0"] * 18 + ["user1"] * 2]
    tally, stored, _ = asyncio.run(
        load({served.url.removesuffix("/mcp"): os.getpid()}, pairs, seconds=2, pause_s=0, most=2)
    )
    assert list(tally.lines())[-1].endswith("0 errors, 0 lost, 0 of another namespace or not gone")
    assert tally.sent_back > 0  # of one token, 18 at once are too many
    assert tally.forgotten > 0
    assert all(stored.values())


def test_tally_counts_lost_and_forgotten_documents() -> None:
    tally = Tally()

    async def listed(tool: str, **_: object) -> dict[str, object]:
        return {"documents": [{"key": "kept"}, {"key": "forgotten"}], "next_after": ""}

    asyncio.run(compare_lists([("user0", listed)], {"user0": {"kept": "", "lost": ""}}, tally))
    assert (tally.lost, tally.crossed, tally.is_clean) == (["lost"], ["forgotten"], False)
