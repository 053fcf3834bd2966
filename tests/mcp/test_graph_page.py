"""The page that hosts show beside the result of ``look``: where it is, and that it reaches nobody."""

from __future__ import annotations

import re

import pytest
from mcp_agents import in_loop

from memgraph_rag.mcp.graph_page import ADDRESS

pytestmark = pytest.mark.parametrize("connect", ["2026-07-28"], indirect=True)


@in_loop
async def test_look_names_a_page_that_can_be_read(connect) -> None:
    async with connect() as agent:
        tools = {tool.name: tool.meta for tool in (await agent.client.list_tools()).tools}
        resources = {str(resource.uri): resource for resource in (await agent.client.list_resources()).resources}
        (page,) = (await agent.client.read_resource(ADDRESS)).contents
    assert {name: meta for name, meta in tools.items() if meta} == {"look": {"ui": {"resourceUri": ADDRESS}}}
    assert resources[ADDRESS].mime_type == page.mime_type == "text/html;profile=mcp-app"
    assert "{{" not in re.sub(r"(?s)<script>.*?</script>", "", page.text)


@in_loop
async def test_the_page_loads_nothing_and_sets_no_markup(connect) -> None:
    async with connect() as agent:
        (page,) = (await agent.client.read_resource(ADDRESS)).contents
    own = page.text[page.text.rindex("<script>") :]
    assert not re.search(r"(?:src|href)\s*=", page.text[: page.text.index("<script>")])
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest|innerHTML|insertAdjacentHTML|eval\(", own)
    assert page.meta["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}
