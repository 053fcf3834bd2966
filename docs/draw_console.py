"""Draw the console: a tour by mouse, then a picture of each page, by ``python docs/draw_console.py FOLDER [PAGES]``.

It starts ``memgraph-rag ui`` over an empty memory, and a browser. Everything is done on the page: a story, a chat of
three sessions and Markdown files are dropped, questions asked, a fact corrected, a user forgotten. Each page is drawn
1,400 and 400 pixels wide, light and dark. The pictures of docs/inspecting.md are some of them. It needs playwright,
chromium and a language model. PAGES is a folder of Markdown files; by default these docs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
STORY = ROOT / "examples" / "peter_rabbit.txt"
QUESTION = "What did Peter lose while he was running away?"
PATIENCE_MS = 1_800_000

CHAT = {
    ("ann", "winter"): {
        "2026-01-03": "I live in Paris, and I work as a baker.",
        "2026-02-11": "My favourite colour is blue.",
    },
    ("ann", "summer"): {
        "2026-05-12": "I moved from Paris to Berlin. Tom helped me to carry the piano.",
        "2026-06-01": "Always answer in metric units.",
    },
    ("tom", "spring"): {"2026-04-02": "I live in Rome. I like old bicycles."},
}
"""What users said on a day, by user and session."""

PAGES = {
    "ask": "",
    "search": "search?q=Who helped with the piano in Berlin?",
    "documents": "documents",
    "document": "",
    "talk": "",
    "holds": "holds",
    "map": "graph",
    "graph": "graph?name=Peter",
    "health": "health",
}
"""The address of each page; empty for a page that the tour opens."""


def write_chat(folder: Path) -> list[Path]:
    """Write each session as a file that the page stores as a conversation."""
    written = []
    for (user, session), said in CHAT.items():
        turns = [
            turn
            for day, words in said.items()
            for turn in (
                {"role": "user", "content": words, "time": f"{day}T09:30"},
                {"role": "assistant", "content": "Good to know, thank you.", "time": f"{day}T09:31"},
            )
        ]
        file = folder / f"{user}-{session}.json"
        file.write_text(json.dumps({"messages": turns, "user": user, "session": session}), "utf-8")
        written.append(file)
    return written


def drop(page: Page, files: list[Path]) -> None:
    """Drag files from the desktop onto the page of documents, and wait until each is stored."""
    box = page.locator(".adding").bounding_box()
    assert box is not None
    browser = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(file.resolve()) for file in files], "dragOperationsMask": 1}
    for event in ("dragEnter", "dragOver", "drop"):
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        browser.send("Input.dispatchDragEvent", {"type": event, "data": data, **place})
    page.wait_for_selector(f".adding-count[data-left='0'][data-all='{len(files)}']", timeout=PATIENCE_MS)


def tour(page: Page, files: list[Path], take: Callable[[str], None]) -> None:
    """Add, ask, read, correct, forget and look at the map, by mouse and keyboard."""
    page.click("nav a >> text=Documents")
    page.wait_for_selector(".adding")
    drop(page, files)
    take("film-1-dropped")
    page.click("nav a >> text=Ask")
    page.fill("textarea", QUESTION)
    page.check("input[type=checkbox]")
    page.click("button.primary")
    page.wait_for_selector(".citations a", timeout=PATIENCE_MS)
    take("ask")
    page.click(".citations a >> nth=0")
    page.wait_for_selector(".body mark")
    take("document")
    page.click("nav a >> text=What holds")
    page.click(".card:has(h3:has-text('home')) >> text=Correct")
    page.fill(".card form input", "I live in Lisbon now.")
    take("film-4-correcting")
    page.click(".card form .primary")
    page.wait_for_selector(".timeline li.holds:has-text('Lisbon')", timeout=PATIENCE_MS)
    take("film-5-corrected")
    page.click(".timeline a:has-text('Berlin')")
    page.wait_for_selector(".talk mark")
    take("talk")
    page.go_back()
    page.click("text=Forget everything of tom")
    page.wait_for_selector("dialog")
    take("film-6-asked-again")
    page.click("dialog button.danger")
    page.wait_for_selector(".receipt", timeout=PATIENCE_MS)
    take("film-7-forgotten")
    page.click("nav a >> text=Graph")
    page.wait_for_selector(".map canvas", timeout=PATIENCE_MS)
    page.fill("input[type=search]", "Peter")
    page.press("input[type=search]", "Enter")
    page.wait_for_selector(".chosen")
    page.wait_for_timeout(2_000)
    take("film-8-flown")


def draw(page: Page, address: str, folder: Path) -> None:
    """Take a picture of each page, in each width and each scheme of colours."""
    for name, place in PAGES.items():
        if place:
            page.goto(f"{address}/ui/#/{place}")
            page.wait_for_timeout(1_000)
            page.wait_for_selector(".busy:not(:empty)", state="detached", timeout=PATIENCE_MS)
            page.wait_for_timeout(1_000)  # what draws itself
            take_all(page, folder, name)


def take_all(page: Page, folder: Path, name: str) -> None:
    """Take the four pictures of what is on the page."""
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        for width in (400, 1_400):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(500)
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")


def main(folder: Path, pages: Path) -> None:
    """Serve an empty memory, and draw the tour and the pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as running:
        store = Path(place) / "tour.lbug"
        files = [STORY, *write_chat(Path(place)), *sorted(pages.glob("*.md"))]
        command = [sys.executable, "-m", "memgraph_rag", "ui", "--store", str(store), "--no-browser", "--ui-write"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own command line
            assert server.stderr is not None
            whole = next(line for line in server.stderr if "#token=" in line).split()[-1]
            address = whole.partition("/ui/")[0]
            browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            try:
                page = browser.new_page(viewport={"width": 1_400, "height": 900}, locale="en-US")
                page.goto(whole)
                page.wait_for_selector("nav")
                tour(page, files, lambda name: take_all(page, folder, name))
                draw(page, address, folder)
            finally:
                browser.close()
                server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs")
