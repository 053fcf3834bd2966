"""Draw the pages of the console, by ``python docs/draw_console.py FOLDER``.

It fills a small memory, starts ``memgraph-rag ui`` over it, and takes a picture of each page in Chromium, 1,400 and 400
pixels wide, light and dark. The pictures of docs/console.md are three of them. It needs playwright and chromium, and a
language model for the page Ask.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from memgraph_rag import Memory

ROOT = Path(__file__).parents[1]
QUESTION = "What did Peter lose while he was running away?"

TALKS = (
    ("2026-01-03", "I live in Paris, and I work as a baker."),
    ("2026-02-11", "My favourite colour is blue."),
    ("2026-05-12", "I moved from Paris to Berlin. Tom helped me to carry the piano."),
    ("2026-06-01", "Always answer in metric units."),
    ("2026-08-01", "I live in Lisbon now."),
)

PAGES = {
    "ask": "ask",
    "search": "search?q=Who helped with the piano in Berlin?",
    "documents": "documents",
    "document": "documents/docs%2Fasking.md?from=1300&to=1420",
    "talk": "documents/session%2Fann%2Fsummer%2F0",
    "holds": "holds",
    "graph": "graph?name=Peter",
    "health": "health",
}


def fill(store: Path) -> None:
    """Store a story, pages of these docs and a conversation of three sessions."""
    with Memory(store, layers=("entities", "facts")) as memory:
        memory.add(ROOT / "examples" / "peter_rabbit.txt", key="peter_rabbit.txt", title="The Tale of Peter Rabbit")
        for page in ("asking", "adding", "conversations", "glossary"):
            memory.add(ROOT / "docs" / f"{page}.md", key=f"docs/{page}.md")
        for day, words in TALKS:
            turns = [
                {"role": "user", "content": words, "time": f"{day}T09:30"},
                {"role": "assistant", "content": "Good to know, thank you.", "time": f"{day}T09:31"},
            ]
            memory.session(user="ann", session="winter" if day < "2026-04" else "summer").add(turns)
        memory.add(
            [{"role": "user", "content": "My favourite colour is red.", "time": "2026-02-11T09:30"}],
            key="mail of February", metadata={"user": "ann"},
        )  # fmt: skip


def draw(page: Page, address: str, folder: Path) -> None:
    """Take a picture of each page, in each width and each scheme of colours."""
    page.goto(address)
    page.wait_for_selector("nav")
    page.fill("textarea", QUESTION)
    page.click("button.primary")
    page.wait_for_selector(".citations a", timeout=600_000)
    for name, place in PAGES.items():
        if name != "ask":  # the answer is on the page already
            page.goto(f"{address.split('#')[0]}#/{place}")
            page.wait_for_timeout(2_500)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width in (1_400, 400):
                page.set_viewport_size({"width": width, "height": 900})
                page.wait_for_timeout(300)
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")


def main(folder: Path) -> None:
    """Fill a memory, serve it, and draw its pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as running:
        store = Path(place) / "tour.lbug"
        fill(store)
        command = [sys.executable, "-m", "memgraph_rag", "ui", "--store", str(store), "--no-browser", "--ui-write"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own command line
            assert server.stderr is not None
            address = next(line for line in server.stderr if "#token=" in line).split()[-1]
            browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            try:
                draw(browser.new_page(viewport={"width": 1_400, "height": 900}), address, folder)
            finally:
                browser.close()
                server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
