"""The pages of the documentation: links and anchors lead somewhere, own terms are explained, the picture is today's."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from pages import blocks
from tables import table
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
JOURNAL = sorted((ROOT / "benchmarks" / "results").rglob("*.md"))
"""The raw figures: their links are checked, their words are not."""

DECISIONS = ROOT / "docs" / "decisions"
DECISION_PAGES = sorted(page for page in DECISIONS.glob("*.md") if page.name != "README.md")
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


def load(path: str) -> ModuleType:
    """Import a script that lies beside the pages."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def name(page: Path) -> str:
    """Name a page by its path in the repository."""
    return page.relative_to(ROOT).as_posix()


def broken_links(page: Path) -> list[str]:
    """List the relative links of a page whose file or heading does not exist."""
    text = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text("utf-8"), flags=re.DOTALL)
    broken = []
    for target in re.findall(r"\]\((?!https?://|mailto:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            broken.append(f"{name(page)}: {target}")
    return broken


def test_relative_links_and_anchors_resolve() -> None:
    assert [link for page in [*PAGES, *JOURNAL, ROOT / "CHANGELOG.md"] for link in broken_links(page)] == []


def terms_without_link(page: Path) -> list[str]:
    """List the own terms that a page uses and does not link to the glossary."""
    text = page.read_text("utf-8")
    prose = re.sub(r"```.*?```|`[^`\n]+`|^#[^\n]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    used = [term for term, pattern in OWN_TERMS.items() if re.search(pattern, prose, re.IGNORECASE)]
    return [f"{name(page)}: {term}" for term in used if f"glossary.md#{term.replace(' ', '-')})" not in text]


def test_pages_link_own_terms_to_the_glossary() -> None:
    assert [term for page in GUIDES for term in terms_without_link(page)] == []


def decisions_of(page: Path) -> int:
    """Count the decisions of a page: its sections, but for what was taken out."""
    headings = re.findall(r"^## (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return len([heading for heading in headings if heading != "Taken out"])


def test_index_of_decisions_counts_each_page() -> None:
    index = (DECISIONS / "README.md").read_text("utf-8")
    counted = {path: int(count) for path, count in re.findall(r"\]\((.+\.md)\) \| (\d+) \|$", index, re.MULTILINE)}
    assert counted == {page.name: decisions_of(page) for page in DECISION_PAGES}


def test_decisions_are_dated_and_fit_on_one_page() -> None:
    texts = {page.name: page.read_text("utf-8") for page in DECISION_PAGES}
    assert [page for page, text in texts.items() if len(text.splitlines()) > 60] == []
    assert [page for page, text in texts.items() if not re.search(r"^Decided .+ 2026", text, re.MULTILINE)] == []


def test_glossary_is_sorted_and_says_one_sentence_each() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    entries = re.findall(r"^### (.+)\n\n(.+)$", text, re.MULTILINE)
    names = [name.casefold() for name, _ in entries]
    assert names == sorted(names)
    assert len(names) == text.count("\n### ")
    assert all(re.fullmatch(r"[^\n]+[.)]", sentence) for _, sentence in entries)


def test_picture_shows_the_imports_of_today() -> None:
    drawing = load("docs/draw_architecture.py")
    assert drawing.draw() == drawing.PICTURE.read_text("utf-8"), "run python docs/draw_architecture.py"
    assert {room for row in drawing.ROWS for room in row} == set(drawing.rooms())


def test_picture_shows_the_answers_of_the_table() -> None:
    drawing = load("benchmarks/results/draw_answers.py")
    assert len(list(drawing.points())) > 15
    assert drawing.draw() == drawing.PICTURE.read_text("utf-8"), "run python benchmarks/results/draw_answers.py"


def test_picture_shows_the_searches_of_the_table() -> None:
    drawing = load("benchmarks/results/draw_scale.py")
    assert len(list(drawing.rows())) > 4
    assert drawing.draw() == drawing.PICTURE.read_text("utf-8"), "run python benchmarks/results/draw_scale.py"


def test_picture_shows_the_seconds_of_the_table() -> None:
    drawing = load("benchmarks/results/draw_question.py")
    assert len(drawing.rows()) > 1
    assert drawing.draw() == drawing.PICTURE.read_text("utf-8"), "run python benchmarks/results/draw_question.py"


def test_architecture_page_has_a_row_for_each_room() -> None:
    text = (ROOT / "docs" / "how-it-works.md").read_text("utf-8")
    table = text.partition("### Rooms")[2].partition("\n### ")[0]
    rooms = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert rooms == MAY_IMPORT.keys() - {"__init__", "__main__"}


def site_pages() -> set[str]:
    """List the pages of the site, by their paths in it."""
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    return pages | set(load("docs/mkdocs_hooks.py").PAGES_OUTSIDE.values())


def test_site_has_each_page_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r"^ +- (?:.+: )?(\S+\.md)$", nav, re.MULTILINE)) == sorted(site_pages())


def test_llms_txt_lists_each_page_of_the_site_once() -> None:
    """Hold the index for language models to the form of llmstxt.org: a title, a summary, sections of links."""
    text = (ROOT / "docs" / "llms.txt").read_text("utf-8")
    assert re.match(r"# memgraph_rag\n\n> [^\n]+\n", text)
    items = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): .+$", text, re.MULTILINE)
    assert len(items) == text.count("\n- ")
    assert sorted(items) == sorted(site_pages())


def odd_lists(page: Path) -> list[str]:
    """List the lines that Python-Markdown shows differently from GitHub.

    Python-Markdown nests a list by four blanks, and begins a list only after an empty line.
    """
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    lines = re.findall(r"^ {1,3}(?:[-*] |\d+\. |```).*", text, re.MULTILINE)
    lines += re.findall(r"^[^\s\-*\d].*\n(?:[-*]|\d+\.) .*", text, re.MULTILINE)
    return [f"{name(page)}: {line}" for line in lines]


def test_lists_look_the_same_on_the_site() -> None:
    assert [line for page in PAGES for line in odd_lists(page)] == []


def long_lines(page: Path) -> list[str]:
    """List the lines of prose over 140 characters: no rows of tables, no code, no line of a single link."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^(?: *\|.*|\W*\[[^\]]*\]\(\S+\)\W*)$", "", text, flags=re.MULTILINE)
    return [f"{name(page)}: {line}" for line in prose.splitlines() if len(line) > 140]


def test_lines_of_prose_have_at_most_140_characters() -> None:
    assert [line for page in PAGES for line in long_lines(page)] == []


@table(
    ("page", "link", "on_site"),
    [
        ("index.md", "[a](docs/asking.md#b)", "[a](asking.md#b)"),
        ("index.md", "![a](docs/question_page.png)", "![a](question_page.png)"),
        ("index.md", "[a](CHANGELOG.md), [b](examples/book.py)", "[a](changelog.md), b (`examples/book.py`)"),
        ("results.md", "[a](../README.md#b), [`Makefile`](../Makefile)", "[a](index.md#b), `Makefile`"),
        ("asking.md", "[a](../memgraph_rag/systems/sprag/README.md#b)", "[a](systems/sprag.md#b)"),
        ("systems/sprag.md", "![a](../../../docs/question.svg)", "![a](../question.svg)"),
        ("results.md", "[a](../no_file.py), [b](/no_page.md)", "[a](../no_file.py), [b](/no_page.md)"),
        ("decisions/README.md", "[a](points.md), [b](../results.md)", "[a](points.md), [b](../results.md)"),
        (
            "results.md",
            "`[a](../Makefile)` [a](#b) [c](https://d.org)",
            "`[a](../Makefile)` [a](#b) [c](https://d.org)",
        ),
    ],
)
def test_links_are_rewritten_to_where_the_site_has_the_file(page: str, link: str, on_site: str) -> None:
    assert load("docs/mkdocs_hooks.py").rewrite_links(link, page) == on_site


def test_pages_install_from_the_clone() -> None:
    """No package index has the distribution yet."""
    texts = {name(page): page.read_text("utf-8") for page in [*PAGES, *(ROOT / "examples").glob("*.py")]}
    assert [path for path, text in texts.items() if 'pip install "memgraph_rag' in text] == []


def test_reference_has_each_public_name() -> None:
    public = set(memgraph_rag.__all__)
    assert public - {*types.__all__, *errors.__all__} == {
        "AsyncMemory", "Memory", "ScopedMemory", "Session", "Settings", "Stored",
    }  # fmt: skip


def names_not_told(folder: Path) -> list[str]:
    """List the names and classes that a system brings and that its page does not tell."""
    system = importlib.import_module(f"memgraph_rag.systems.{folder.name}").SYSTEM
    text = (folder / "README.md").read_text("utf-8")
    names = {*system.strategies, *system.modes, *system.layers, *system.memory_layers}
    classes = {maker.__name__ for maker in (*system.strategies.values(), *system.modes.values())}
    untold = [brought for brought in names if f"`{brought}`" not in text]
    untold += [brought for brought in classes if brought not in text]
    return [f"{folder.name}: {brought}" for brought in untold]


def test_pages_of_systems_name_all_that_they_bring() -> None:
    assert SYSTEMS
    assert [brought for folder in SYSTEMS for brought in names_not_told(folder)] == []


def test_extending_shows_the_distribution_of_the_example() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "extending.md").read_text("utf-8"), re.DOTALL)
    assert shown == (ROOT / "examples" / "own_system" / "pyproject.toml").read_text("utf-8")


def test_snippets_of_extending_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_RAG_CACHE_DIR", str(tmp_path / "cache"))
    text = (ROOT / "docs" / "extending.md").read_text("utf-8")
    names: dict[str, object] = {}
    for snippet in blocks(text, "python"):
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
