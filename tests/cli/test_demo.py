from __future__ import annotations

import pytest

from memgraph_rag.cli.demo import QUESTIONS, read_story
from memgraph_rag.testing import FakeLanguageModel

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


def test_demo_with_another_model_asks_again(cli, store, monkeypatch) -> None:
    cli("demo", "--store", store)
    monkeypatch.setattr(FakeLanguageModel, "name", property(lambda _: "another", lambda *_: None), raising=False)
    shown = cli("demo", "--store", store).stdout
    assert "unchanged" in shown
    assert KEPT not in shown


def test_demo_with_a_new_story_asks_again(cli, store) -> None:
    cli("demo", "--store", store)
    cli("forget", "peter_rabbit.txt", "--store", store, "--namespace", "demo")
    assert KEPT not in cli("demo", "--store", store).stdout


def test_demo_uses_a_store_of_its_own(cli, opened, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda _: tmp_path)
    cli("demo")
    assert (opened[-1]["store"], opened[-1]["namespace"]) == (str(tmp_path / "demo.lbug"), "demo")


def test_the_story_is_about_a_thousand_tokens_of_plain_text() -> None:
    story = read_story()
    assert story.source == ""
    assert story.key == "peter_rabbit.txt"
    assert 3_000 < len(story.text) < 8_000
    assert "Mr. McGregor" in story.text
