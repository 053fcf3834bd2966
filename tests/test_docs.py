"""The pages of the documentation: links and anchors lead somewhere, own terms are explained, the picture is today's."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from test_architecture import MAY_IMPORT

import memgraph_rag
from memgraph_rag import errors, types

ROOT = Path(__file__).parents[1]
SYSTEMS = sorted(path for path in (ROOT / "memgraph_rag" / "systems").iterdir() if (path / "__init__.py").is_file())
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(path / "README.md" for path in SYSTEMS),
    ]
)
OWN_TERMS = {
    "annotation": r"\bannotations?\b",
    "deepen": r"\bdeepen(?:ed|ing|s)?\b",
    "echo": r"\becho(?:es)?\b",
    "information point": r"\binformation points?\b",
    "kept question": r"\bkept questions?\b",
    "layer": r"\blayers?\b",
}
"""Terms that only this library uses as it does, by their names in the glossary."""

GUIDES = [
    page for page in PAGES if page.name not in ("CONTRIBUTING.md", "glossary.md") and "decisions" not in page.parts
]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def load(name: str) -> ModuleType:
    """A script of the folder of documentation, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_and_anchors_resolve(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?://|mailto:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_links_own_terms_to_the_glossary(page: Path) -> None:
    text = page.read_text("utf-8")
    prose = re.sub(r"```.*?```|`[^`\n]+`|^#[^\n]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    used = [term for term, pattern in OWN_TERMS.items() if re.search(pattern, prose, re.IGNORECASE)]
    assert [term for term in used if f"glossary.md#{term.replace(' ', '-')})" not in text] == []


def test_glossary_is_sorted_and_says_one_sentence_each() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    entries = re.findall(r"^### (.+)\n\n(.+)$", text, re.MULTILINE)
    names = [name.casefold() for name, _ in entries]
    assert names == sorted(names)
    assert len(names) == text.count("\n### ")
    assert all(re.fullmatch(r"[^\n]+[.)]", sentence) for _, sentence in entries)


def test_picture_shows_the_imports_of_today() -> None:
    drawing = load("draw_architecture")
    assert drawing.draw() == drawing.PICTURE.read_text("utf-8"), "run python docs/draw_architecture.py"
    assert {room for row in drawing.ROWS for room in row} == set(drawing.rooms())


def test_picture_shows_the_answers_of_the_table() -> None:
    drawing = load("draw_answers")
    assert len(list(drawing.points())) > 15
    assert drawing.draw() == drawing.PICTURE.read_text("utf-8"), "run python docs/draw_answers.py"


def test_picture_shows_the_searches_of_the_table() -> None:
    drawing = load("draw_scale")
    assert len(list(drawing.rows())) > 4
    assert drawing.draw() == drawing.PICTURE.read_text("utf-8"), "run python docs/draw_scale.py"


def test_picture_shows_the_seconds_of_the_table() -> None:
    drawing = load("draw_question")
    assert len(drawing.rows()) > 1
    assert drawing.draw() == drawing.PICTURE.read_text("utf-8"), "run python docs/draw_question.py"


def test_architecture_page_has_a_row_for_each_room() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = text.partition("## Rooms")[2].partition("\n## ")[0]
    rooms = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert rooms == MAY_IMPORT.keys() - {"__init__", "__main__"}


def test_site_has_each_page_once() -> None:
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    pages |= set(load("mkdocs_hooks").PAGES_OUTSIDE.values())
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r"^ +- (?:.+: )?(\S+\.md)$", nav, re.MULTILINE)) == sorted(pages)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_lists_look_the_same_on_the_site(page: Path) -> None:
    """Python-Markdown nests behind four blanks, and begins a list only behind an empty line; GitHub is laxer."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^ {1,3}(?:[-*] |\d+\. |```).*", text, re.MULTILINE) == []
    assert re.findall(r"^[^\s\-*\d].*\n(?:[-*]|\d+\.) .*", text, re.MULTILINE) == []


@pytest.mark.parametrize(
    ("page", "link", "on_site"),
    [
        ("index.md", "[a](docs/asking.md#b)", "[a](asking.md#b)"),
        ("index.md", "![a](docs/question_page.png)", "![a](question_page.png)"),
        ("index.md", "[a](CHANGELOG.md), [b](examples/book.py)", "[a](changelog.md), b (`examples/book.py`)"),
        ("limits.md", "[a](../README.md#b), [`Makefile`](../Makefile)", "[a](index.md#b), `Makefile`"),
        ("asking.md", "[a](../memgraph_rag/systems/sprag/README.md#b)", "[a](systems/sprag.md#b)"),
        ("systems/sprag.md", "![a](../../../docs/question.svg)", "![a](../question.svg)"),
        ("limits.md", "[a](../no_file.py), [b](/no_page.md)", "[a](../no_file.py), [b](/no_page.md)"),
        ("decisions/README.md", "[a](points.md), [b](../results.md)", "[a](points.md), [b](../results.md)"),
        ("limits.md", "`[a](../Makefile)` [a](#b) [c](https://d.org)", "`[a](../Makefile)` [a](#b) [c](https://d.org)"),
    ],
)
def test_links_are_rewritten_to_where_the_site_has_the_file(page: str, link: str, on_site: str) -> None:
    assert load("mkdocs_hooks").rewrite_links(link, page) == on_site


def test_reference_has_each_public_name() -> None:
    public = set(memgraph_rag.__all__)
    assert public - {*types.__all__, *errors.__all__} == {
        "AsyncMemory", "Memory", "ScopedMemory", "Session", "Settings", "Stored",
    }  # fmt: skip


@pytest.mark.parametrize("folder", SYSTEMS, ids=lambda folder: folder.name)
def test_page_of_a_system_names_all_that_it_brings(folder: Path) -> None:
    system = importlib.import_module(f"memgraph_rag.systems.{folder.name}").SYSTEM
    text = (folder / "README.md").read_text("utf-8")
    names = {*system.strategies, *system.modes, *system.layers, *system.memory_layers}
    classes = {made.__name__ for made in (*system.strategies.values(), *system.modes.values())}
    assert [name for name in names if f"`{name}`" not in text] == []
    assert [name for name in classes if name not in text] == []


def test_extending_shows_the_distribution_of_the_example() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "extending.md").read_text("utf-8"), re.DOTALL)
    assert shown == (ROOT / "examples" / "own_system" / "pyproject.toml").read_text("utf-8")


def test_snippets_of_extending_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_RAG_CACHE_DIR", str(tmp_path / "cache"))
    text = (ROOT / "docs" / "extending.md").read_text("utf-8")
    names: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(snippet, "docs/extending.md", "exec"), names)
    assert capsys.readouterr().out.splitlines() == [
        "best_only ['Ann found a red fox in the barn.']",
        "fox",
        "#mill",
        "1 1",
        "[('1843', {'decade': 1840})]",
        "neighbours {'Overview': 2}",
        "Ada plants a tree. Ben plants a tree.",
    ]
