"""The console in a real browser, over a real server: pages, hostile documents, tokens, keyboard, other hosts."""

from __future__ import annotations

import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from memories import FOX, QUESTION, options

from memgraph_rag import Memory
from memgraph_rag.cli.doctor import Finding
from memgraph_rag.server import transports
from memgraph_rag.server.console.one_file import write_page
from memgraph_rag.server.console.readings import read_inside
from memgraph_rag.server.memories import Memories, OpenNamespace
from memgraph_rag.server.services import Owner
from memgraph_rag.server.tokens import TokenFolder

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

GUIDE = """# Bees

A *short* guide with `code`.

| month | work |
|---|---|
| May | swarm |

```python
print('bees')
```
"""

HOSTILE = {
    "markup": "<img src=x onerror='window.hit=1'><script>window.hit=1</script> <b>Ann</b> found a fox. "
    "<base href=//evil.example><meta http-equiv=refresh content='0;url=//evil.example'><form action=//evil.example>"
    "<details open ontoggle=window.hit=1><a href=data:text/html,x>x</a><style>*{display:none}</style><math><mi//"
    "xlink:href='javascript:window.hit=1'>&lt;script&gt;hit=1&lt;/script&gt; &#x202E; ${window.hit=1} {{hit=1}} ]]>-->",
    "<svg onload=window.hit=1>": "A key that is markup. Ann read it.",
    "links.md": "# Ann\n\n[a](javascript:window.hit=1) ![b](http://evil.example/b.png) <http://evil.example>\n\n"
    "> <iframe src='//evil.example'>",
    "turned": "Ann wrote \u202egnp.exe\u202c and zero\u200bwidth and \x1b[31mred.",
    "long line": "Ann " + "x" * 1_000_000 + " fox",
    "marks.md": "`" * 3_000 + "[" * 3_000 + "*" * 3_000 + "|" * 3_000 + " Ann",
}


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


Served = tuple[str, TokenFolder, Memory]
"""The address of a server, its tokens and the memory of the namespace "ann"."""


@contextmanager
def serve(folder: Path, open_namespace: OpenNamespace) -> Iterator[Served]:
    """Serve memories to their owner on a socket, with stories, talks and hostile documents in one of them."""
    memories, tokens = Memories(open_namespace), TokenFolder(folder / "tokens")
    owner = Owner(tokens, lambda: [Finding("Python", "ok", "3.12"), Finding("reader", "warn", "none", "install one")])
    fill(memories.get("ann"))
    listening = transports._listen(0)
    app = transports.http_app(transports.token_server(memories, tokens, owner=owner), may_write=True)
    server = uvicorn.Server(uvicorn.Config(app, ws="none", log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}", tokens, memories.get("ann")
    server.should_exit = True
    thread.join(10)
    listening.close()
    memories.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("console")

    def open_namespace(namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        more = options(layers=("entities", "facts"), segment_tokens=200)
        return Memory(folder / "notes.lbug", namespace=namespace, progress=progress, **more)

    with serve(folder, open_namespace) as running:
        yield running


def fill(memory: Memory) -> None:
    memory.add(FOX, key="fox", title="The fox", metadata={"project": "stories"})
    memory.add(GUIDE, key="guide.md")
    for day, words in (("2026-01-03", "I live in Paris."), ("2026-05-12", "I moved from Paris to Berlin.")):
        turns = [{"role": "user", "content": words, "time": day}, {"role": "<u>bot</u>", "content": "<u>Good</u>."}]
        memory.session(user="ann").add(turns)
    for key, text in HOSTILE.items():
        memory.add(text, key=key, title=f"<i>{key}</i>", metadata={"<u>tag</u>": "<b>x</b>"})
    memory.ask(QUESTION, keep_trace=True, documents=["fox"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@contextmanager
def signed_in(browser: Any, address: str, tokens: TokenFolder) -> Iterator[Console]:
    """Open a page with a token of the namespace, in a context of its own."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, locale="en-US")
    context.set_default_timeout(20_000)
    opened = Console(context.new_page(), address)
    opened.page.goto(f"{address}/ui/#token={tokens.make('ann')}")
    opened.page.wait_for_selector("nav")
    yield opened
    context.close()


@pytest.fixture
def console(browser: Any, served: Served) -> Iterator[Console]:
    with signed_in(browser, served[0], served[1]) as opened:
        yield opened


def faults(page: Any) -> list[str]:
    """Serious faults of accessibility, by axe-core."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in ("serious", "critical")
    ]


def test_each_page_opens_without_fault_and_asks_no_other_host(console: Console) -> None:
    found = {}
    for place in PAGES:
        page = console.open(place)
        found |= {place: faults(page)} if faults(page) else {}
        assert page.evaluate("document.documentElement.scrollWidth") <= 1400, place
    console.page.emulate_media(color_scheme="dark")
    console.page.set_viewport_size({"width": 400, "height": 800})
    for place in PAGES:
        page = console.open(place)
        found |= {f"dark {place}": faults(page)} if faults(page) else {}
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, place
    assert found == {}
    assert console.complaints == []
    assert console.hosts == {console.address.split("//")[1]}
    assert "token" not in console.page.url


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


def test_text_of_hostile_documents_is_never_part_of_the_page(console: Console) -> None:
    page = console.open("search?q=Ann")
    for key in HOSTILE:
        began = time.monotonic()
        record = page.evaluate("key => encodeURIComponent(key)", key)
        console.open(f"documents/{record}")
        page.wait_for_selector(".body")
        page.keyboard.press("r")
        page.wait_for_selector("pre.raw")
        page.keyboard.press("r")
        assert time.monotonic() - began < 10, key
        assert (
            page.locator("main :is(img, script, iframe, svg, math, style, base, meta, b, i:not(.bar i), u)").count()
            == 0
        ), key
    console.open("documents/turned")
    assert "[U+202E]gnp.exe[U+202C] and zero[U+200B]width and [U+001B][31mred" in console.text()
    for place in ("documents", "search?q=Ann", "graph?name=Ann"):
        console.open(place)
        assert page.locator("main :is(img, script, iframe, svg, math, style, base, meta, b, u)").count() == 0, place
    assert page.evaluate("window.hit") is None
    assert console.hosts == {console.address.split("//")[1]}
    assert console.complaints == []


def test_markdown_becomes_headings_tables_and_code(console: Console) -> None:
    start = GUIDE.index("swarm")
    page = console.open(f"documents/guide.md?from={start}&to={start + 5}")
    assert page.inner_text("td mark") == "swarm"
    assert page.inner_text(".rendered pre") == "print('bees')"
    assert page.inner_text("[role=heading][aria-level='3']") == "Bees"
    assert [page.inner_text(f".rendered {tag}") for tag in ("em", "p code")] == ["short", "code"]


def test_documents_are_added_corrected_and_forgotten(console: Console, served: Served) -> None:
    memory = served[2]
    page = console.open("documents")
    page.click("text=Add documents")
    page.set_input_files(
        "input[type=file]", {"name": "bees.md", "mimeType": "text/markdown", "buffer": b"# Bees\n\nTom keeps bees."}
    )
    page.wait_for_selector("text=bees.md: added")
    assert memory.get("bees.md").text == "# Bees\n\nTom keeps bees."
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

    memory.session(user="tom").add([{"role": "user", "content": "I live in Rome.", "time": "2026-01-01"}])
    console.open("holds")
    page.click("text=Forget everything of tom")
    page.click("dialog button.danger")
    page.wait_for_selector(".receipt")
    assert {each.user for each in memory.scoped().statements()} == {"ann"}


def test_list_filters_while_it_is_typed(console: Console) -> None:
    page = console.open("documents")
    page.fill("input[type=search]", "guide")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.inner_text("tbody td a") == "guide.md"


def test_graph_walks_on_by_clicks(console: Console) -> None:
    page = console.open("graph?name=Tom")
    page.wait_for_selector(".picture canvas")
    before = page.locator(".things li").count()
    page.click(".things li:has(.kind.document) button")
    page.click("text=Walk on from here")
    expect(page.locator(".things li")).not_to_have_count(before)
    assert page.locator(".things li").count() > before


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


def test_pages_of_a_pdf_are_numbered(console: Console, served: Served) -> None:
    served[2].add("Rain fell.\f\nWe *stayed*.\f\nThe end.", key="paper")
    page = console.open("documents/paper?from=12&to=14")
    assert page.locator(".body .page").all_inner_texts() == ["Page 1", "Page 2", "Page 3"]
    assert page.inner_text(".body mark") == "We"
    page.keyboard.press("r")
    page.wait_for_selector("pre.raw")
    assert page.locator("pre.raw").all_inner_texts() == ["Rain fell.", "We *stayed*.", "The end."]
    served[2].forget("paper")


@pytest.mark.parametrize("name", ["fox", "Ann", QUESTION, "markup", "long line"])
def test_page_with_its_data_inside_needs_no_server(browser: Any, served: Served, tmp_path: Path, name: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(write_page(read_inside(served[2], served[2].around(name))), "utf-8")
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
    assert page.locator("main :is(img, script, iframe, svg, math, style, base, meta, b, u)").count() == 0
    assert page.evaluate("window.hit") is None
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


def test_second_tab_gets_the_token_of_the_first(console: Console) -> None:
    second = console.page.context.new_page()
    second.goto(f"{console.address}/ui/")
    second.wait_for_selector("nav")


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


@pytest.mark.full("the pages on the other engine, whose results the suite for stores ties to Ladybug's")
def test_each_page_opens_on_neo4j(browser: Any, neo4j_servers: Any, tmp_path: Path) -> None:
    server, own = neo4j_servers["2026"], f"test-{uuid.uuid4().hex}"

    def open_namespace(namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        more = options(layers=("entities", "facts"), neo4j={"user": server.user, "password": server.password})
        return Memory(server.uri, namespace=f"{own}-{namespace}", progress=progress, **more)

    with serve(tmp_path, open_namespace) as (address, tokens, memory), signed_in(browser, address, tokens) as console:
        for place in PAGES:
            console.open(place)
            assert console.page.locator(".failure").count() == 0, place
        assert "Berlin" in console.open("holds").inner_text("main")
        for record in memory.documents():
            memory.forget(record.id)
    assert console.complaints == []
