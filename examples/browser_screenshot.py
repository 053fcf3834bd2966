"""Take a picture of a graph in Neo4j Browser, without a screen.

Not a part of the library, and needs two things that the library does not: Debian's ``chromium`` and the package
``playwright`` (``pip install playwright``; no ``playwright install``). It knows Neo4j Browser 5, and Neo4j only
through it: the script logs in and runs the query as a person would, and waits until the graph stands still.

    export NEO4J_PASSWORD=…
    python examples/browser_screenshot.py "MATCH p = (:Document)--() RETURN p LIMIT 50" graph.png
    python examples/browser_screenshot.py docs/browser/06_relations.cypher names.png --param "namespace => 'demo'"
"""

from __future__ import annotations

import argparse
import os
import re
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

from playwright.sync_api import Page, sync_playwright

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

STYLE = Path(__file__).parents[1] / "docs" / "browser" / "graph.grass"

POSITIONS = "[...document.querySelectorAll('svg g.node')].map(node => node.getAttribute('transform'))"


def main() -> None:
    """Read the command line and save the picture."""
    options = read_options()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=options.chromium, args=CHROMIUM_FLAGS)
        page = chromium.new_page(
            viewport={"width": options.width, "height": options.height}, device_scale_factor=options.scale
        )
        server = f"bolt://{options.user}@{urlsplit(options.bolt).netloc}"
        page.goto(f"{options.browser}?dbms={quote(server)}")
        log_in(page, os.environ["NEO4J_PASSWORD"])
        for param in options.param:
            run(page, f":param {param}")
        run(page, text_of(options.query))
        style(page, options.style.read_text("utf-8"))
        fill_the_window(page)
        page.screenshot(path=options.picture)
        chromium.close()


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("query", help="Cypher that returns nodes, relationships or paths, or a file of it")
    parser.add_argument("picture", type=Path, help="PNG file to write")
    parser.add_argument("--bolt", default="bolt://localhost:7687")
    parser.add_argument("--browser", default="http://localhost:7474/browser/")
    parser.add_argument("--user", default="neo4j")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--width", type=int, default=1600)
    parser.add_argument("--height", type=int, default=1000)
    parser.add_argument("--scale", type=float, default=1.0, help="pixels of the picture per pixel of the window")
    parser.add_argument("--param", action="append", default=[], help="for Browser's :param; repeatable")
    parser.add_argument("--style", type=Path, default=STYLE, help="a style sheet in Browser's own language")
    return parser.parse_args()


def log_in(page: Page, password: str) -> None:
    """Type the password into the form that Browser shows, and wait for the connection."""
    page.locator("input[type=password]").fill(password)
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_text("You are connected as user").wait_for()


def text_of(query: str) -> str:
    """The query, of a file without its comments."""
    return re.sub(r"(?m)^//.*\n", "", Path(query).read_text("utf-8")) if query.endswith(".cypher") else query


def run(page: Page, text: str) -> None:
    """Type a command or a query into the editor and run it."""
    page.get_by_test_id("activeEditor").click()
    page.keyboard.insert_text(text)
    page.get_by_test_id("editor-Run").click()
    page.wait_for_timeout(500)


def style(page: Page, sheet: str) -> None:
    """Give Browser a style sheet, once there is a graph, and lay that out anew."""
    graph = page.get_by_test_id("frame").filter(has=page.locator("svg g.node"))
    graph.wait_for()
    run(page, f":style {' '.join(sheet.split())}")
    graph.get_by_test_id("rerunFrameButton").click()
    page.wait_for_timeout(1000)
    graph.wait_for()


def fill_the_window(page: Page) -> None:
    """Show the graph alone, as large as it fits, once it stands still."""
    frame = page.get_by_test_id("frame").filter(has=page.locator("svg g.node"))
    frame.get_by_title("Fullscreen").click()
    wait_until_still(page)
    for button in ("zoom-to-fit", "zoom-out"):  # fitted, it reaches under the overview on the right
        page.get_by_label(button).click()
        page.wait_for_timeout(1000)


def wait_until_still(page: Page, *, timeout_s: float = 30.0) -> None:
    """Return when no node moved for half a second, or when the time is over: the picture is good either way."""
    deadline, before = time.monotonic() + timeout_s, None
    while time.monotonic() < deadline:
        now = page.evaluate(POSITIONS)
        if now == before:
            return
        before = now
        page.wait_for_timeout(500)


if __name__ == "__main__":
    main()
