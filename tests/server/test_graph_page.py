"""The page that hosts show beside the result of ``look``: where it is, and that it reaches nobody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mcp_agents import in_loop

from memgraph_rag.server.graph_page import ADDRESS

ROOT = Path(__file__).parents[2]
IN_ONE_ERA = pytest.mark.parametrize("connect", ["2026-07-28"], indirect=True)


@IN_ONE_ERA
@in_loop
async def test_look_names_a_page_that_can_be_read(connect) -> None:
    async with connect() as agent:
        tools = {tool.name: tool.meta for tool in (await agent.client.list_tools()).tools}
        resources = {str(resource.uri): resource for resource in (await agent.client.list_resources()).resources}
        (page,) = (await agent.client.read_resource(ADDRESS)).contents
    assert {name: meta for name, meta in tools.items() if meta} == {"look": {"ui": {"resourceUri": ADDRESS}}}
    assert resources[ADDRESS].mime_type == page.mime_type == "text/html;profile=mcp-app"
    assert "{{" not in re.sub(r"(?s)<script>.*?</script>", "", page.text)


@IN_ONE_ERA
@in_loop
async def test_the_page_loads_nothing_and_sets_no_markup(connect) -> None:
    async with connect() as agent:
        (page,) = (await agent.client.read_resource(ADDRESS)).contents
    own = page.text[page.text.rindex("<script>") :]
    assert not re.search(r"(?:src|href)\s*=", page.text[: page.text.index("<script>")])
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest|innerHTML|insertAdjacentHTML|eval\(", own)
    assert page.meta["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}


def test_documents_and_names_of_every_tie_can_be_walked_to() -> None:
    """The page knows by a tie's kind what stands at its ends; the schema says the same."""
    neighbourhood = (ROOT / "memgraph_rag" / "inspection" / "neighbourhood.py").read_text("utf-8")
    page = (ROOT / "memgraph_rag" / "server" / "assets" / "graph.js").read_text("utf-8")
    ends = {kind: (source, target) for kind, source, target in re.findall(r'([A-Z_]+): \["(\w+)", "(\w+)"\]', page)}
    schema = "\n".join(path.read_text("utf-8") for path in (ROOT / "cypher" / "schema" / "ladybug").glob("*.cypher"))
    walked = {"Document": "document", "Entity": "entity"}
    for kind in set(re.findall(r'Tie\("([A-Z_]+)"', neighbourhood)):
        (table,) = re.findall(rf"REL TABLE {kind} \(([^)]*)\)", schema)
        pairs = re.findall(r"FROM (\w+) TO (\w+)", table)
        expected = {tuple(walked.get(end, "text") for end in pair) for pair in pairs}
        assert expected == {ends.get(kind, ("text", "text"))}, kind
