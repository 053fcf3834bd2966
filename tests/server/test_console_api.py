"""What the REST API has for the console, without a browser: operations, files, policy, languages."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from mcp_agents import Served, in_loop
from memories import FOX, QUESTION
from starlette.testclient import TestClient
from tables import table

from memgraph_rag import Memory
from memgraph_rag.errors import StoreUnavailable
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.services import Owner
from memgraph_rag.server.tokens import OneToken, TokenFolder
from memgraph_rag.server.transports import http_app, token_server

ASSETS = Path(str(files("memgraph_rag.server") / "assets"))
OURS = [path for path in sorted((ASSETS / "console").rglob("*")) if path.suffix in (".js", ".css", ".html")]

Post = Callable[..., Any]


@pytest.fixture
def post(served: Served) -> Iterator[Post]:
    headers = {"Authorization": f"Bearer {served.tokens.make('ann')}"}
    with httpx2.Client(base_url=served.url.removesuffix("/mcp"), headers=headers, timeout=30) as client:
        yield lambda operation, /, **arguments: client.post(f"/v1/{operation}", json=arguments).json()


def test_search_tells_score_and_ranks_and_document_has_the_whole_text(post: Post) -> None:
    post("remember", text=FOX, key="fox", title="The fox")
    (best, *_) = post("search", query=QUESTION)["passages"]
    assert best["why"]
    assert best["score"] > 0
    whole = post("document", name=best["document_id"])
    assert (whole["text"], whole["record"]["key"]) == (FOX, "fox")
    assert "".join(FOX[part["start"] : part["end"]] for part in whole["segments"]) == FOX
    assert {FOX[name["start"] : name["end"]] for name in whole["names"]} >= {"Ann", "Tom"}
    assert "source" not in whole["record"]


def test_map_is_sent_as_arrays(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.tokens.make('ann')}"}
    base = served.url.removesuffix("/mcp")
    httpx2.post(f"{base}/v1/remember", json={"text": FOX, "key": "fox"}, headers=headers, timeout=30)
    response = httpx2.post(f"{base}/v1/whole_map", json={"most": 10}, headers=headers, timeout=30)
    assert response.headers["content-type"] == "application/octet-stream"
    length = int.from_bytes(response.content[:4], "little")
    head = json.loads(response.content[4 : 4 + length])
    count = len(head["names"])
    numbers = np.frombuffer(response.content, "<f4", count=3 * count, offset=4 + length)
    edges = np.frombuffer(response.content, "<u4", offset=4 + length + 12 * count).reshape(-1, 2)
    assert (head["documents"], head["names"][0], len(edges)) == (1, "fox", head["edges"])
    assert np.abs(numbers[: 2 * count]).max() <= 1.3
    assert numbers[2 * count] == len(edges)


@table(("operation", "number"), [("whole_map", "most"), ("around", "most"), ("statements", "limit")])
def test_number_that_is_no_number_is_refused(post: Post, operation: str, number: str) -> None:
    name = {"name": "Ann"} if operation == "around" else {}
    assert number in post(operation, **name, **{number: True})["detail"]


@pytest.mark.parametrize("connect", ["2026-07-28"], indirect=True)
@in_loop
async def test_page_of_a_thing_is_a_resource_with_its_data_inside(connect: Any) -> None:
    async with connect() as agent:
        await agent("remember", text=FOX, key="fox")
        page = await agent.client.read_resource("ui://memgraph_rag/fox")
    assert FOX[:40] in page.contents[0].text.partition('id="inside"')[2]
    assert page.contents[0].mime_type == "text/html;profile=mcp-app"


@in_loop
async def test_tool_look_names_the_page_that_hosts_show(connect: Any) -> None:
    async with connect() as agent:
        pages = {tool.name: tool.meta for tool in (await agent.client.list_tools()).tools if tool.meta}
        assert list(pages) == ["look"]
        page = await agent.client.read_resource(pages["look"]["ui"]["resourceUri"])
    assert '"isHosted": true' in page.contents[0].text.partition('id="inside"')[2]
    assert page.contents[0].mime_type == "text/html;profile=mcp-app"


def test_around_has_ids_to_walk_on_from(post: Post) -> None:
    post("remember", text=FOX, key="fox")
    graph = post("around", name="Ann")
    kinds = {node["id"]: node["type"] for node in graph["nodes"]}
    assert kinds[graph["centre"]] == "entity"
    assert all({edge["source_id"], edge["target_id"]} <= kinds.keys() for edge in graph["edges"])
    (document,) = (node_id for node_id, kind in kinds.items() if kind == "document")
    assert post("around", name=document)["centre"] == document


def test_kept_question_comes_back_with_its_walk(post: Post) -> None:
    post("remember", text=FOX, key="fox")
    post("ask", question=QUESTION, keep=True)
    (kept,) = post("questions")["questions"]
    whole = post("question", name=kept["id"])
    document = post("document", name="fox")["record"]["id"]
    assert whole["answer"]["text"] == kept["answer"]
    trace = whole["answer"]["trace"]
    assert {(step["document_id"], step["document_key"]) for step in trace} == {(document, "fox")}
    assert post("question", name="Why?")["title"] == "QuestionNotFound"


def test_ask_reads_in_the_scope_by_the_strategy(post: Post) -> None:
    post("remember", text=FOX, key="fox", metadata={"project": "fox"})
    answer = post("ask", question=QUESTION, where={"project": "river"})
    assert (answer["abstained"], answer["nodes_read"]) == (True, 0)
    assert post("ask", question=QUESTION, strategy="top_k")["strategy"] == "top_k"
    assert "Expected a strategy out of" in post("ask", question=QUESTION, strategy="guess")["detail"]


def test_list_filters_by_part_of_key_metadata_and_user(post: Post) -> None:
    for number in range(4):
        post("remember", text=f"Note {number}.", key=f"note {number}", user="ann" if number % 2 else "tom")
    post("remember", text=FOX, key="fox", title="A NOTE of a fox", metadata={"project": "fox"})

    def keys(**scope: Any) -> list[str]:
        return [record["key"] for record in post("list_documents", **scope)["documents"]]

    assert keys(contains="note") == ["fox", "note 0", "note 1", "note 2", "note 3"]
    first = post("list_documents", contains="note", limit=2)
    assert first["next_after"] == "note 0"
    assert keys(contains="note", limit=2, after="note 0") == ["note 1", "note 2"]
    assert keys(user="ann") == ["note 1", "note 3"]
    assert keys(where={"project": "fox"}) == ["fox"]
    assert keys(since="2999-01-01") == []


def test_add_file_reads_the_content_by_its_ending(post: Post) -> None:
    page = b"<html><head><title>Bees</title></head><body><p>Ann keeps bees.</p></body></html>"
    stored = post("add_file", name="../bees.html", content=b64encode(page).decode())
    assert (stored["key"], stored["action"]) == ("../bees.html", "added")
    whole = post("document", name="../bees.html")
    assert (whole["text"].strip(), whole["record"]["title"]) == ("Ann keeps bees.", "Bees")
    for name, title in (("Ann's notes.txt", "Ann_s notes"), ("..", "file"), ("é" * 300 + ".txt", "é" * 56)):
        post("add_file", name=name, content=b64encode(b"Ann keeps bees.").decode())
        assert post("document", name=name)["record"]["title"] == title
    assert post("add_file", name="x.txt", content="*")["title"] == "DocumentError"
    picture = post("add_file", name="bees.png", content=b64encode(b"\x89PNG\r\n\x1a\n\x00").decode())
    assert "got a PNG image: 'bees.png'." in picture["detail"]


def test_statements_tell_what_holds_and_what_contradicts(open_memories) -> None:
    memories = open_memories(layers=("facts",))
    ann = memories.get("ann")
    for day, words in (("2026-01-03", "I live in Paris."), ("2026-05-12", "I moved from Paris to Berlin.")):
        ann.session(user="ann").add([{"role": "user", "content": words, "time": day}])
    with console_client(memories, OneToken("ann")) as client:
        form = client.post("/v1/statements", json={"user": "ann"}).json()["statements"]
        text = client.post("/v1/document", json={"name": form[0]["document_key"]}).json()["text"]
        assert client.post("/v1/statements", json={"user": "tom"}).json() == {"statements": [], "left_out": 0}
    assert [(each["value"], each["standing"]["state"]) for each in form] == [
        ("Paris", "superseded"),
        ("Berlin", "holds"),
    ]
    assert [text[each["start"] : each["end"]] for each in form] == [each["quote"] for each in form]


def test_failures_of_the_server_are_kept_and_those_of_callers_are_not(post: Post, memories, monkeypatch) -> None:
    def break_down(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("Expected a server, got none. Start it.")

    post("document", name="nobody")
    monkeypatch.setattr(Memory, "search", break_down)
    post("search", query="fox")
    assert [(each["operation"], each["title"]) for each in post("failures")["failures"]] == [
        ("search", "StoreUnavailable")
    ]


def console_client(memories: Memories, token: OneToken, owner: Owner | None = None) -> TestClient:
    app = http_app(token_server(memories, token, owner=owner))
    headers = {"Authorization": f"Bearer {token.token}"}
    return TestClient(app, base_url="http://127.0.0.1", headers=headers)


def test_only_the_owner_makes_and_revokes_tokens(memories: Memories, tmp_path: Path) -> None:
    folder, token = TokenFolder(tmp_path / "owned"), OneToken("ann")
    with console_client(memories, token) as client:
        assert client.post("/v1/make_token", json={"namespace": "tom"}).status_code == 404
        assert client.get("/ui/settings.json").json()["owner"] is False
    with console_client(memories, token, Owner(folder, list)) as client:
        made = client.post("/v1/make_token", json={"namespace": "tom"}).json()
        grant = folder.find(made["made"])
        assert (grant and grant.namespace, [each["id"] for each in made["tokens"]]) == ("tom", [grant and grant.id])
        assert client.post("/v1/revoke_token", json={"id": made["tokens"][0]["id"]}).json()["tokens"] == []
        assert client.post("/v1/checks", json={}).json() == {"checks": []}
    assert folder.grants() == []


def test_one_token_is_the_only_valid_one(memories: Memories) -> None:
    token = OneToken("ann")
    assert token.find(token.token).namespace == "ann"
    assert token.find(OneToken("ann").token) is None
    assert token.find("") is None


def test_files_of_the_console_have_the_policy_and_need_no_token(served: Served) -> None:
    address = served.url.removesuffix("/mcp")
    assert httpx2.get(f"{address}/ui").headers["location"] == "/ui/"
    for path, kind in (("", "text/html"), ("main.js", "javascript"), ("vendor/cytoscape.min.js", "javascript")):
        response = httpx2.get(f"{address}/ui/{path}")
        assert response.status_code == 200
        assert kind in response.headers["content-type"]
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
        assert "unsafe" not in policy
    assert httpx2.get(f"{address}/ui/", headers={"Host": "evil.example"}).status_code == 421
    assert httpx2.get(f"{address}/ui/%2e%2e/%2e%2e/tools.py").status_code == 404


def test_vendored_files_are_those_of_the_table() -> None:
    table = (ASSETS / "vendor" / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([\w.-]+)` .*`([0-9a-f]{64})` \|$", table, re.MULTILINE))
    vendored = [path for path in (ASSETS / "vendor").iterdir() if path.name != "README.md"]
    assert rows == {path.name: sha256(path.read_bytes()).hexdigest() for path in vendored}
    assert sum(path.stat().st_size for path in (*vendored, *OURS)) < 2**20


def test_page_makes_no_html_of_text_and_names_no_other_host() -> None:
    text = "\n".join(path.read_text("utf-8") for path in OURS)
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function|https?://"
    assert re.findall(forbidden, text) == []


def test_languages_have_the_words_that_the_pages_use() -> None:
    words = {path.stem: language_keys(path) for path in sorted((ASSETS / "console" / "languages").iterdir())}
    assert words["de"] == words["en"]
    source = "\n".join(path.read_text("utf-8") for path in OURS if "languages" not in path.parts)
    used = set(re.findall(r'\bt\("([\w.]+)"', source))
    assert used <= words["en"]
    made = {f"{part}." for part in re.findall(r"\bt\(`([\w.]+)\.\$\{", source)}
    assert {key for key in words["en"] - used if not key.startswith(tuple(made))} == {"ownName"}


def language_keys(path: Path) -> set[str]:
    return set(re.findall(r'^  "?([\w.]+)"?: "', path.read_text("utf-8"), re.MULTILINE))


def test_description_has_an_example_for_each_operation(served: Served) -> None:
    paths = httpx2.get(served.url.replace("/mcp", "/openapi.json")).json()["paths"]
    bodies = [path["post"]["requestBody"]["content"]["application/json"] for path in paths.values()]
    assert all(set(body["example"]) <= set(body["schema"]["properties"]) for body in bodies)
    assert json.dumps(paths).count("operationId") == len(paths) == 17
