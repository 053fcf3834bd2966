"""README and guides tell the truth: their Python runs, with real models, and prints what they say that it prints."""

from __future__ import annotations

import re
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pages import blocks, run_program

from memgraph_rag import Limits
from memgraph_rag.calls import validation
from memgraph_rag.settings import Settings
from memgraph_rag.strategies import list_known_strategies

STRATEGIES = tuple(list_known_strategies())

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = ("adding", "asking", "configuration", "evaluation", "inspecting", "reliability")


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def page_of_system(name: str) -> str:
    return (ROOT / "memgraph_rag" / "systems" / name / "README.md").read_text(encoding="utf-8")


SNIPPETS = [(name, snippet) for name in GUIDES if name != "asking" for snippet in blocks(page(name), "python")]
"""Those of the guide of asking have tests of their own."""


@pytest.fixture
def beside_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder like a clone's, the model that the tests install, and less patience than the 1.5B model has."""
    enter(tmp_path, monkeypatch)


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEMGRAPH_RAG_MODEL", "qwen2.5-coder-0.5b-instruct")
    checked = validation.check_limits

    def limited(limits: Limits | None, **takes: Any) -> Limits:
        return checked(limits, **takes) if limits or takes else Limits(nodes=8)

    monkeypatch.setattr(validation, "check_limits", limited)


@pytest.fixture(scope="module")
def readme_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, Any], Path]:
    """What README's snippet printed, its names, and the store that it made; run once."""
    folder, out = tmp_path_factory.mktemp("readme"), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        enter(folder, patch)
        names = run_program(*blocks(README, "python"), "README.md")
    return out.getvalue().splitlines(), names, folder / "notes.lbug"


@pytest.mark.full("a real model reads a story for half a minute; tests/models asks it, tests/test_start.py runs a page")
@pytest.mark.timeout(900)
def test_readme_snippet_prints_what_readme_says(readme_run):
    printed, names, _ = readme_run
    (shown,) = blocks(README, "text")
    searched, answer, *cited = shown.splitlines()[:2], shown.splitlines()[2], *shown.splitlines()[3:]
    assert printed[:2] == searched, "a search needs no language model, so it is the same everywhere"
    spans = [re.match(r"\[(\d+)–(\d+)\] ", line) for line in printed]
    assert sum(map(bool, spans)) == len(names["answer"].citations) > 0
    text = (ROOT / "examples/peter_rabbit.txt").read_text("utf-8")
    for start, end, quote in (re.fullmatch(r"\[(\d+)–(\d+)\] (.*)", line).groups() for line in cited):  # type: ignore[union-attr]
        assert text[int(start) : int(end)] == quote
    assert answer in page("how-it-works"), "the answer is that of the documented run"
    assert not names["memory"]._parts.store._file.users  # closed


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "snippet"), SNIPPETS, ids=[name for name, _ in SNIPPETS])
def test_snippets_of_guides_run(name, snippet, beside_examples, capsys):
    assert SNIPPETS
    run_program(snippet, name)
    assert capsys.readouterr().out


@pytest.mark.full("asks a real model as README's program does")
@pytest.mark.timeout(900)
def test_asking_prints_citations_and_trace(readme_run, beside_examples, capsys):
    shutil.copy(readme_run[2], "notes.lbug")  # with the book in it, which then is not built again
    names = run_program(blocks(page("asking"), "python")[0], "asking")
    printed = capsys.readouterr().out
    assert printed.count("examples/peter_rabbit.txt") == len(names["answer"].citations) > 0
    assert "\nsegment " in printed
    assert not names["memory"]._parts.store._file.users  # closed


@pytest.mark.full("asks a real model as README's program does")
@pytest.mark.timeout(900)
def test_guide_of_conversations_prints_what_it_shows(beside_examples, capsys):
    """Compare the search alone: this smaller model has no calibration of turns, so its strategy answers."""
    searching, asking = blocks(page("conversations"), "python")
    shown, _ = blocks(page("conversations"), "text")  # the second is the example of a brief
    names = run_program(searching, "conversations")
    assert capsys.readouterr().out == shown
    answer = run_program(asking, "conversations", names)["answer"]
    assert capsys.readouterr().out == f"{answer.text} {[citation.quote for citation in answer.citations]}\n"


def test_guide_of_search_filters_by_metadata_and_time(beside_examples, capsys):
    names = run_program(blocks(page("asking"), "python")[1], "asking")
    assert {evidence.document_key for evidence in names["of_project"]} == {"monday", "friday"}
    assert [evidence.document_key for evidence in names["late"]] == ["friday"]


def test_guide_of_search_prints_runs(beside_examples, capsys):
    names = run_program(blocks(page_of_system("sprag"), "python")[0], "sprag")
    assert len(names["run"].run) > 1
    assert capsys.readouterr().out.startswith(f"{names['run'].start} ")


def test_snippet_of_hipporag_page_prints_names(beside_examples, capsys):
    run_program(blocks(page_of_system("hipporag"), "python")[0], "hipporag")
    assert capsys.readouterr().out.count("'names'") == 2


def test_guide_of_asking_awaits(beside_examples, capsys):
    run_program(blocks(page("asking"), "python")[2], "asking")
    assert capsys.readouterr().out == "monday Ann Lee found a red fox in the barn at Oak Hill.\n"


def test_guide_shows_a_hit_as_json_and_as_a_table(beside_examples, capsys):
    pytest.importorskip("pandas")
    names = run_program(blocks(page("asking"), "python")[-1], "asking")
    assert list(names["table"].columns) == list(names["hits"][0].as_dict())
    assert '"document_key": "monday"' in capsys.readouterr().out


def test_readme_is_for_the_first_ten_minutes():
    assert len(README.splitlines()) <= 110
    limits = README.partition("## Limits\n")[2].partition("\n## ")[0]
    assert len(limits.strip().splitlines()) <= 6


def test_readme_links_to_each_guide():
    assert [name for name in GUIDES if f"](docs/{name}.md)" not in README] == []


def test_guide_of_configuration_names_each_setting_and_extra():
    guide = page("configuration")
    assert [name for name in Settings.model_fields if f"`{name}`" not in guide] == []
    extras = re.findall(r"^([a-z-]+) = \[", (ROOT / "pyproject.toml").read_text("utf-8").split("[project.scripts]")[0]
                        .split("[project.optional-dependencies]")[1], re.MULTILINE)  # fmt: skip
    assert [extra for extra in extras if f"| `{extra}` |" not in guide] == []


def test_guide_of_asking_names_each_strategy():
    guide = page("asking")
    assert [name for name in STRATEGIES if f"`{name}`" not in guide] == []
