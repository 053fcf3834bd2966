from __future__ import annotations

import json

import pytest

import memgraph_rag
from memgraph_rag.cli.demo import QUESTIONS, read_story

KEPT = "(from the last run; --fresh asks anew)"


@pytest.fixture
def store(tmp_path):
    return tmp_path / "demo.lbug"


def test_demo_adds_a_story_and_asks_four_questions(cli, store) -> None:
    shown = cli("demo", "--store", store).stdout
    assert "The Tale of Peter Rabbit" in shown
    assert "added      peter_rabbit.txt" in shown
    for question in QUESTIONS:
        assert question in shown
    assert shown.count("order  node") == shown.count("Stopped because") == len(QUESTIONS)
    assert KEPT not in shown
    assert f"--store {store} --namespace demo" in shown


def test_a_second_run_shows_the_answers_of_the_first(cli, store) -> None:
    first = cli("demo", "--store", store).stdout
    second = cli("demo", "--store", store).stdout
    assert "unchanged  peter_rabbit.txt" in second
    assert second.count(KEPT) == len(QUESTIONS)
    assert walks(first) == walks(second)


def walks(shown: str) -> list[str]:
    """Everything from the walks to the costs."""
    return [part.split("\n\n─")[0].rstrip() for part in shown.split("order  node")[1:]]


def test_demo_fresh_adds_and_asks_again(cli, store) -> None:
    cli("demo", "--store", store)
    shown = cli("demo", "--store", store, "--fresh").stdout
    assert "added      peter_rabbit.txt" in shown
    assert KEPT not in shown


def test_demo_of_another_version_asks_again(cli, store, monkeypatch) -> None:
    cli("demo", "--store", store)
    monkeypatch.setattr(memgraph_rag, "__version__", "99")
    shown = cli("demo", "--store", store).stdout
    assert "unchanged" in shown
    assert KEPT not in shown


def test_demo_with_a_new_story_asks_again(cli, store) -> None:
    cli("demo", "--store", store)
    cli("forget", "peter_rabbit.txt", "--store", store, "--namespace", "demo")
    assert KEPT not in cli("demo", "--store", store).stdout


@pytest.mark.parametrize("content", ["", "[1, 2]", "{", '{"a": '])
def test_unreadable_kept_answers_do_not_count(cli, store, content) -> None:
    cli("demo", "--store", store)
    store.with_name("demo-answers.json").write_text(content)
    assert KEPT not in cli("demo", "--store", store).stdout
    assert len(json.loads(store.with_name("demo-answers.json").read_text())) == len(QUESTIONS)


def test_demo_uses_a_store_of_its_own(cli, opened, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda _: tmp_path)
    cli("demo")
    assert (opened[-1]["store"], opened[-1]["namespace"]) == (str(tmp_path / "demo.lbug"), "demo")


def test_answers_find_a_folder_where_the_store_is_no_file(cli, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda _: tmp_path / "new" / "folder")
    cli("demo", "--store", ":memory:")
    assert len(json.loads((tmp_path / "new" / "folder" / "demo-answers.json").read_text())) == len(QUESTIONS)


def test_the_story_is_about_a_thousand_tokens_of_plain_text() -> None:
    story = read_story()
    assert story.source == ""
    assert story.key == "peter_rabbit.txt"
    assert 3_000 < len(story.text) < 8_000
    assert "Mr. McGregor" in story.text
