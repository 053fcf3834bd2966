"""The console in a real browser, over a real server: pages, hostile documents, tokens, keyboard, other hosts."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hostile_documents as hostile
import pytest
from mcp_agents import namespaces_in, run_app
from memories import FOX, QUESTION, options
from neo4j import GraphDatabase
from written_files import pdf_bytes, written

from memgraph_rag import Memory
from memgraph_rag.server.console.one_file import write_page
from memgraph_rag.server.console.readings import read_inside
from memgraph_rag.server.memories import Memories, OpenNamespace
from memgraph_rag.server.services import Owner
from memgraph_rag.server.tokens import TokenFolder
from memgraph_rag.server.transports import http_app, token_server
from memgraph_rag.types import Check

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
expect = playwright.expect

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="needs a browser: apt-get install chromium")

AXE = (Path(__file__).parent / "assets" / "axe.min.js").read_text("utf-8")

PAGES = (
    "ask", "search?q=fox", "documents", "documents/fox?from=0&to=8", "holds", "graph", "graph?name=Ann", "health",
)  # fmt: skip

MODELS = options(layers=("entities", "facts"), segment_tokens=200)

GUIDE = """# Bees

A *short* guide with `code`.

| month | work |
|---|---|
| May | swarm |

```python
print('bees')
```
"""


class Console:
    """A page of the console, with what its browser asked for and complained of."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        self.hosts: set[str] = set()
        self.complaints: list[str] = []
        self.loads = 0
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2] if "//" in request.url else ""))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda line: self.complaints.append(line.text) if line.type == "error" else None)

    def open(self, place: str) -> Any:
        """Load a page anew, and wait until it waits for nothing."""
        self.loads += 1
        self.page.goto(f"{self.address}/ui/?{self.loads}#/{place}")
        self.page.wait_for_selector("main h1")
        expect(self.page.locator(".busy:not(:empty)")).to_have_count(0)
        return self.page

    def text(self) -> str:
        return self.page.inner_text("main")


Served = tuple[str, TokenFolder, Memories]
"""The address of a server, its tokens and its memories; the namespace "ann" is filled."""


@contextmanager
def serve(folder: Path, open_namespace: OpenNamespace) -> Iterator[Served]:
    """Serve memories to their owner on a socket, with stories and talks in one of them."""
    memories, tokens = Memories(open_namespace), TokenFolder(folder / "tokens")
    owner = Owner(tokens, lambda: [Check("Python", "ok", "3.12"), Check("reader", "warn", "none", "install one")])
    fill(memories.get("ann"))
    with run_app(http_app(token_server(memories, tokens, owner=owner), may_write=True)) as address:
        yield address, tokens, memories
    memories.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("console")
    with serve(folder, namespaces_in(folder / "notes.lbug", **MODELS)) as running:
        yield running


@pytest.fixture(scope="module")
def neo4j_served(neo4j_servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server, own = neo4j_servers["2026"], f"test-{uuid.uuid4().hex}"

    def open_namespace(namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        access = {"user": server.user, "password": server.password}
        return Memory(server.uri, namespace=f"{own}-{namespace}", progress=progress, neo4j=access, **MODELS)

    with serve(tmp_path_factory.mktemp("console"), open_namespace) as running:
        yield running
    with GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        driver.execute_query("MATCH (n) WHERE n.namespace STARTS WITH $own DETACH DELETE n", own=own)


ON_NEO4J = pytest.mark.full("the pages on the other engine, whose results the suite for stores ties to Ladybug's")

IN_A_PAGE = pytest.mark.full("what one page of the console does, beside opening all of them")


@pytest.fixture(scope="module", params=["served", pytest.param("neo4j_served", id="neo4j-2026", marks=ON_NEO4J)])
def on_engine(request: pytest.FixtureRequest) -> Served:
    """A server over each engine."""
    return request.getfixturevalue(request.param)


def fill(memory: Memory) -> None:
    memory.add(FOX, key="fox", title="The fox", metadata={"project": "stories"})
    memory.add(GUIDE, key="guide.md")
    for day, words in (("2026-01-03", "I live in Paris."), ("2026-05-12", "I moved from Paris to Berlin.")):
        turns = [{"role": "user", "content": words, "time": day}, {"role": "assistant", "content": "Good."}]
        memory.session(user="ann").add(turns)
    memory.ask(QUESTION, keep_trace=True, documents=["fox"])


def fill_hostile(memory: Memory) -> None:
    for key, text in hostile.HOSTILE.items():
        memory.add(text, key=key, title=hostile.TITLE, metadata=hostile.METADATA)
    eve = memory.session(user=hostile.USER, session=hostile.TITLE)
    eve.add([{"role": role, "content": words} for words in hostile.SAID for role in ("user", hostile.SPEAKER)])
    memory.ask(hostile.QUESTION, keep_trace=True, documents=["ends"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@contextmanager
def signed_in(browser: Any, served: Served, namespace: str = "ann") -> Iterator[Console]:
    """Open a page with a token of the namespace, in a context of its own."""
    address, tokens, _ = served
    context = browser.new_context(viewport={"width": 1400, "height": 900}, locale="en-US")
    context.set_default_timeout(20_000)
    opened = Console(context.new_page(), address)
    opened.page.goto(f"{address}/ui/#token={tokens.make(namespace)}")
    opened.page.wait_for_selector("nav")
    yield opened
    context.close()


@pytest.fixture
def console(browser: Any, served: Served) -> Iterator[Console]:
    with signed_in(browser, served) as opened:
        yield opened


def faults(page: Any) -> list[str]:
    """Serious faults of accessibility, by axe-core."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in ("serious", "critical")
    ]


DESKTOP = {1_400: "light"}
BOTH_WIDTHS = {**DESKTOP, 400: "dark"}


def check_pages(
    console: Console, places: Iterable[str], faults_of: Callable[[Any], list[str]], widths: Mapping[int, str]
) -> dict[str, list[str]]:
    """Return the faults of pages at each width, those of the raw text of documents, and failures."""
    page, found = console.page, {}
    for place in places:
        console.open(place)
        for width, scheme in widths.items():
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            found[f"{width} {place}"] = [*faults_of(page), *page.locator(".failure").all_inner_texts()]
        if page.locator(".body").count():
            page.keyboard.press("r")
            page.wait_for_selector("pre.raw")
            found[f"raw {place}"] = faults_of(page)
    return {name: each for name, each in found.items() if each}


def overflows(page: Any) -> list[str]:
    """Return the elements that reach over the edge of the window, and by how much the page is wider."""
    wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [*page.evaluate(OVERFLOWING), *([f"the page is {wider} pixels wider"] * (wider > 0))]


OVERFLOWING = """() => [...document.querySelectorAll("body *")].filter((element) => {
  const { left, right, width } = element.getBoundingClientRect();
  const isCut = element.parentElement.closest(".scroll, pre, .picture, .unseen") || element.matches(".unseen, .skip");
  return width > 0 && !isCut && (right > innerWidth + 1 || left < -1);
}).map((element) => `${element.tagName} ${element.className} over the edge: ${element.textContent.slice(0, 60)}`)"""
"""The elements that reach over the edge of the window, but those in boxes that scroll or cut them off."""


def test_each_page_opens_without_fault_and_asks_no_other_host(browser: Any, on_engine: Served) -> None:
    with signed_in(browser, on_engine) as console:
        assert check_pages(console, PAGES, lambda _: [], DESKTOP) == {}
        assert "Berlin" in console.open("holds").inner_text("main")
        assert console.complaints == []
        assert console.hosts == {console.address.split("//")[1]}
        assert "token" not in console.page.url


@IN_A_PAGE
def test_pages_are_accessible_and_fit_both_widths(console: Console) -> None:
    assert check_pages(console, PAGES, lambda page: [*faults(page), *overflows(page)], BOTH_WIDTHS) == {}


def test_answer_comes_with_its_walk_and_opens_the_cited_characters(console: Console) -> None:
    page = console.open("ask")
    page.fill("textarea", QUESTION)
    page.press("textarea", "Enter")
    page.wait_for_selector(".citations a")
    assert page.locator(".walk > li").count() >= 1
    quote = page.inner_text(".citations a").strip("“”")
    page.click(".citations a")
    page.wait_for_selector(".body mark")
    assert page.inner_text(".body mark") == quote
    page.keyboard.press("r")
    assert page.inner_text("pre.raw mark") == quote
    page.go_back()
    page.click("aside li a")  # the kept question
    page.wait_for_selector(".walk > li")
    assert page.inner_text("h1") == QUESTION


FOREIGN = "main :is(img, script, iframe, svg, math, style, base, meta, form[action], b, i:not(.bar i), u)"
"""Elements of hostile documents, none of which the console uses."""


def foreign(page: Any) -> list[str]:
    return page.locator(FOREIGN).evaluate_all("found => found.map((each) => each.outerHTML)")


def list_hostile_pages(memory: Memory) -> tuple[str, ...]:
    (kept,) = memory.questions()
    others = (f"ask/{kept.id}", "search?q=Ann", "documents", "holds", "graph", "graph?name=Ann", "health")
    return (*others, *(f"documents/{record.id}" for record in memory.documents()))


def test_text_of_hostile_documents_is_never_part_of_the_page(browser: Any, on_engine: Served) -> None:
    memory = on_engine[2].get("eve")
    fill_hostile(memory)
    with signed_in(browser, on_engine, "eve") as console:
        page = console.page
        assert check_pages(console, list_hostile_pages(memory), foreign, DESKTOP) == {}
        console.open("documents/turned")
        assert "[U+202E]gnp.exe[U+202C] and zero[U+200B]width and [U+001B][31mred" in console.text()
        console.open("documents/stacked")
        assert "Z[U+0301 × 600]algo" in console.text()
        assert page.evaluate("window.hit") is None
        assert console.hosts == {console.address.split("//")[1]}
        assert console.complaints == []


@IN_A_PAGE
def test_hostile_documents_fit_both_widths(browser: Any, served: Served) -> None:
    memory = served[2].get("zoe")
    fill_hostile(memory)
    with signed_in(browser, served, "zoe") as console:
        assert check_pages(console, list_hostile_pages(memory), overflows, BOTH_WIDTHS) == {}


@IN_A_PAGE
def test_markdown_becomes_headings_tables_and_code(console: Console) -> None:
    start = GUIDE.index("swarm")
    page = console.open(f"documents/guide.md?from={start}&to={start + 5}")
    assert page.inner_text("td mark") == "swarm"
    assert page.inner_text(".rendered pre") == "print('bees')"
    assert page.inner_text("[role=heading][aria-level='3']") == "Bees"
    assert [page.inner_text(f".rendered {tag}") for tag in ("em", "p code")] == ["short", "code"]


def test_documents_are_added_corrected_and_forgotten(console: Console, served: Served) -> None:
    memory = served[2].get("ann")
    page = console.open("documents")
    page.click("text=Add documents")
    page.set_input_files(
        "input[type=file]", {"name": "bees.md", "mimeType": "text/markdown", "buffer": b"# Bees\n\nTom keeps bees."}
    )
    page.wait_for_selector("text=bees.md: added")
    assert memory.get("bees.md").text == "# Bees\n\nTom keeps bees."
    talk = {"messages": [{"role": "user", "content": "I live in Rome."}], "user": "tom", "session": "spring"}
    files = {"name": "talk.json", "mimeType": "application/json", "buffer": json.dumps(talk).encode()}
    page.set_input_files("input[type=file]", files)
    page.wait_for_selector("text=talk.json: added")
    console.open("documents/bees.md")
    page.click("main button.danger")
    page.click("dialog button.danger")
    page.wait_for_selector("text=Forgotten documents: 1")
    assert "bees.md" not in {record.key for record in memory.documents()}

    console.open("holds")
    page.click("text=Correct")
    page.fill(".card form input", "I live in Lisbon now.")
    page.click(".card form .primary")
    page.wait_for_selector(".timeline li.holds:has-text('Lisbon')")
    (record,) = memory.documents(where={"source": "console"})
    assert (record.metadata["user"], memory.scoped(user="ann").statements()[-1].value) == ("ann", "Lisbon")

    console.open("holds")
    page.click("text=Forget everything of tom")
    page.click("dialog button.danger")
    page.wait_for_selector(".receipt")
    assert {each.user for each in memory.scoped().statements()} == {"ann"}


@IN_A_PAGE
def test_list_filters_while_it_is_typed(console: Console) -> None:
    page = console.open("documents")
    page.fill("input[type=search]", "guide")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.inner_text("tbody td a") == "guide.md"


@IN_A_PAGE
def test_graph_walks_on_by_clicks(console: Console) -> None:
    page = console.open("graph?name=Tom")
    page.wait_for_selector(".picture canvas")
    before = page.locator(".things li").count()
    page.click(".things li:has(.kind.document) button")
    page.click("text=Walk on from here")
    expect(page.locator(".things li")).not_to_have_count(before)
    assert page.locator(".things li").count() > before


@IN_A_PAGE
def test_map_flies_to_a_name_and_opens_it(console: Console) -> None:
    page = console.open("graph")
    page.wait_for_selector(".map canvas")
    assert "documents and" in console.text()
    page.fill("input[type=search]", "tom")
    page.press("input[type=search]", "Enter")
    page.wait_for_selector(".chosen h2:has-text('Tom')")
    page.wait_for_timeout(700)  # the flight
    page.click(".chosen li button:has-text('fox')")
    page.wait_for_selector(".chosen h2:has-text('fox')")
    page.wait_for_timeout(700)
    box = page.locator(".map").bounding_box()
    page.click(".map", position={"x": box["width"] / 2, "y": box["height"] / 2})  # what it flew to is in the middle
    page.wait_for_selector(".chosen h2:has-text('fox')")
    page.click(".chosen a.primary")
    page.wait_for_selector(".body")
    assert "Ann found a red fox" in page.inner_text(".body")


@IN_A_PAGE
def test_pages_of_a_pdf_are_numbered(console: Console, served: Served, tmp_path: Path) -> None:
    memory = served[2].get("ann")
    memory.add("Rain fell.\f\nWe *stayed*.\f\nThe end.", key="paper")
    memory.add(written(tmp_path, "boat.pdf", pdf_bytes("Tom built a red boat.", "The end.")), key="boat")
    page = console.open("documents/paper?from=12&to=14")
    assert page.locator(".body .page").all_inner_texts() == ["Page 1", "Page 2", "Page 3"]
    assert page.inner_text(".body mark") == "We"
    page.keyboard.press("r")
    page.wait_for_selector("pre.raw")
    assert page.locator("pre.raw").all_inner_texts() == ["Rain fell.", "We *stayed*.", "The end."]
    memory.ask("Who built a red boat?", keep_trace=True, documents=["boat"])
    console.open("ask/Who%20built%20a%20red%20boat%3F")
    assert page.inner_text(".citations small") == "boat · Page 1"
    memory.forget("boat")
    memory.forget("paper")


@IN_A_PAGE
@pytest.mark.parametrize("name", ["fox", "Ann", QUESTION, "markup", "long line"])
def test_page_with_its_data_inside_needs_no_server(browser: Any, served: Served, tmp_path: Path, name: str) -> None:
    memory = served[2].get("ann")
    if name in hostile.HOSTILE:
        memory = served[2].get("inside")
        memory.add(hostile.HOSTILE[name], key=name, title=hostile.TITLE, metadata=hostile.METADATA)
    path = tmp_path / "page.html"
    path.write_text(write_page(read_inside(memory, memory.around(name))), "utf-8")
    context = browser.new_context(viewport={"width": 1400, "height": 900}, locale="en-US")
    opened = Console(context.new_page(), "")
    page = opened.page
    page.goto(path.as_uri())
    page.wait_for_selector("main h1")
    for link in page.locator("nav a").all():
        link.click()
        page.wait_for_selector("main :is(.picture canvas, .body, .walk)")
        assert page.locator(".failure").count() == 0
        assert faults(page) == []
    assert foreign(page) == []
    assert page.evaluate("window.hit") is None
    assert opened.complaints == []
    assert opened.hosts <= {""}
    context.close()


HOST = """html => new Promise((resolve) => {
  const frame = document.body.appendChild(document.createElement("iframe"));
  const log = [];
  const send = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
  addEventListener("message", async ({ data: { id, method, params } }) => {
    log.push(method);
    if (method === "ui/initialize") send({ id, result: { protocolVersion: params.protocolVersion } });
    if (method === "ui/notifications/initialized")
      send({ method: "ui/notifications/tool-input", params: { arguments: { name: "fox" } } });
    if (method === "resources/read") send({ id, result: { contents: [{ text: await readResource(params.uri) }] } });
    if (method === "ui/notifications/size-changed") { frame.height = params.height; resolve(log); }
  });
  frame.width = 900;
  frame.sandbox = "allow-scripts";
  frame.srcdoc = html;
})"""
"""A host of MCP Apps: it shows a page in a frame, and passes on what the page reads."""


@IN_A_PAGE
def test_host_shows_the_page_of_look(browser: Any, served: Served) -> None:
    memory = served[2].get("ann")
    context = browser.new_context(viewport={"width": 1000, "height": 900}, locale="en-US")
    opened = Console(context.new_page(), "")
    page = opened.page
    addresses = []

    def read(address: str) -> str:
        addresses.append(address)
        return write_page(read_inside(memory, memory.around("fox")))

    page.expose_function("readResource", read)
    log = page.evaluate(HOST, write_page({"isHosted": True}))
    assert log[:3] == ["ui/initialize", "ui/notifications/initialized", "resources/read"]
    assert addresses == ["ui://memgraph_rag/fox"]
    frame = page.frame_locator("iframe")
    assert "Ann found a red fox" in frame.locator(".body").inner_text()
    frame.locator("nav a >> text=Graph").click()
    frame.locator(".picture canvas").first.wait_for()
    assert opened.complaints == []
    assert opened.hosts <= {""}
    context.close()


def test_revoked_token_leads_to_the_sign_in(console: Console, served: Served) -> None:
    page, tokens = console.open("documents"), served[1]
    for grant in tokens.grants():
        tokens.revoke(grant.id)
    page.click("nav a >> text=Health")
    page.wait_for_selector("input[type=password]")
    page.fill("input[type=password]", tokens.make("ann"))
    page.press("input[type=password]", "Enter")
    page.wait_for_selector("h1 >> text=Health")
    expect(page.locator("header .brand")).to_contain_text("ann")


def test_lost_server_keeps_what_was_typed(console: Console) -> None:
    page = console.open("ask")
    page.fill("textarea", QUESTION)
    page.context.set_offline(True)
    page.click("button.primary")
    page.wait_for_selector(".failure")
    assert "does not answer" in page.inner_text(".failure")
    assert page.input_value("textarea") == QUESTION
    page.context.set_offline(False)
    page.click("button.primary")
    page.wait_for_selector(".citations")


@IN_A_PAGE
def test_second_tab_gets_the_token_of_the_first(console: Console) -> None:
    second = console.page.context.new_page()
    second.goto(f"{console.address}/ui/")
    second.wait_for_selector("nav")


@IN_A_PAGE
def test_keyboard_skips_to_the_content_and_german_is_chosen(console: Console) -> None:
    page = console.open("ask")
    page.focus("a.skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.select_option("header select", "de")
    page.wait_for_selector("h1 >> text=Fragen")
    assert page.evaluate("document.documentElement.lang") == "de"


def test_owner_runs_checks_and_makes_a_token(console: Console, served: Served) -> None:
    page, tokens = console.open("health"), served[1]
    page.click("text=Run the checks")
    page.wait_for_selector(".checks .badge.warn")
    page.fill("section form input >> nth=0", "tom")
    page.click("text=Make a token")
    page.wait_for_selector(".receipt code")
    made = tokens.find(page.inner_text(".receipt code"))
    assert made is not None
    assert made.namespace == "tom"
