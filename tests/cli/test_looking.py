from __future__ import annotations

from memories import FOX


def test_search_shows_where_and_why(cli, fox) -> None:
    (entry,) = cli.json("search", "broken leg", "-k", "3")
    assert list(entry) == ["node_id", "document_key", "start", "end", "score", "why", "path", "text"]
    assert entry["text"] == fox.read_text("utf-8")[entry["start"] : entry["end"]]
    shown = cli("search", "broken leg", "--mode", "keywords").stdout
    assert shown.startswith(" 1. fox  0–")
    assert "(keywords 1)" in shown
    assert "broken leg" in shown


def test_search_that_finds_nothing_says_so(cli) -> None:
    result = cli("search", "anything")
    assert (result.stdout, result.stderr) == ("", "Nothing was found.\n")
    assert cli.json("search", "anything") == []


def test_show_a_document_by_key_and_by_id(cli, fox) -> None:
    by_key = cli.json("show", "fox")
    assert by_key == cli.json("show", by_key["id"])
    assert (by_key["type"], by_key["key"], by_key["characters"]) == ("document", "fox", len(fox.read_text("utf-8")))
    assert f"characters  {len(fox.read_text('utf-8'))}" in cli("show", "fox").stdout


def test_show_a_node_with_its_text_and_place(cli, fox) -> None:
    (entry,) = cli.json("search", "fox")
    told = cli.json("show", entry["node_id"])
    assert (told["type"], told["kind"], told["document_key"], told["text"]) == (
        "node",
        "segment",
        "fox",
        fox.read_text("utf-8"),
    )
    shown = cli("show", entry["node_id"]).stdout
    assert fox.read_text("utf-8") in shown
    assert "document_key  fox" in shown


def test_show_something_unknown_tells_what_was_expected(cli) -> None:
    assert cli("show", "nobody", status=1).stderr.startswith("DocumentNotFound: Expected the key or id of a document")


def test_documents_are_a_table_or_json(cli, fox) -> None:
    (held,) = cli.json("documents")
    assert {"id", "key", "title", "sha256", "characters", "segments", "layers", "model", "metadata"} <= set(held)
    head, row = cli("documents").stdout.splitlines()
    assert head.split()[:2] == ["key", "title"]
    assert row.split()[0] == "fox"


def test_no_documents_says_how_to_add_one(cli) -> None:
    assert "memgraph-rag add" in cli("documents").stderr


def test_status_counts_by_label_and_relationship_type(cli, fox, tmp_path) -> None:
    told = cli.json("status")
    assert list(told) == ["counts", "schema_version", "models", "documents", "store", "namespace", "echoes"]
    assert (told["counts"]["Document"], told["counts"]["Segment"], told["counts"]["HAS_SEGMENT"]) == (1, 1, 1)
    assert told["schema_version"] >= 1
    assert (told["store"], told["namespace"]) == (str(tmp_path / "notes.lbug"), "default")
    assert told["models"]["embedder"] == "fake-embedder"
    assert told["models"]["dimension"] == 64
    assert told["models"]["recognizer"] == "fake-recognizer"
    assert told["documents"] == [{"key": "fox", "layers": ["entities", "points"]}]
    shown = cli("status").stdout
    assert "HAS_SEGMENT" in shown
    assert "segments, entities, points" in shown


def test_an_answer_that_is_added_again_is_told_apart(cli, fox, write) -> None:
    answer = cli.json("ask", "Where did Ann find a red fox?")["text"]
    note = write("note.txt", f"Answer: {answer}")
    assert "(no evidence, answered before: 1 segment)" in cli("add", note, "--key", "note").stdout
    assert cli.json("add", note, "--key", "note")["receipts"][0]["echoes"] == 1
    assert {held["key"]: held["echoes"] for held in cli.json("documents")} == {"fox": 0, "note": 1}
    assert cli.json("show", "note")["echoes"] == 1
    assert cli.json("status")["echoes"] == 1
    assert "segments that are no evidence: 1" in cli("status").stdout
    assert {one["document_key"] for one in cli.json("search", "red fox")} == {"fox"}


def test_search_keeps_to_metadata_and_times(cli, fox) -> None:
    assert cli.json("search", "fox", "--where", "year=1865") == []
    assert cli.json("search", "fox", "--since", "2999-01-01") == []
    assert cli.json("search", "fox", "--until", "2999-01-01")
    assert "NAME=VALUE" in cli("search", "fox", "--where", "year", status=2).stderr
    assert "ISO 8601" in cli("search", "fox", "--since", "yesterday", status=1).stderr


def test_deepen_builds_what_is_missing_and_says_so(cli, write) -> None:
    cli("add", write("river.txt", FOX), "--key", "river", "--layers", "entities")
    assert cli.json("documents")[0]["layers"] == ["entities"]
    (receipt,) = cli.json("deepen", "river")["receipts"]
    assert receipt["action"] == "deepened"
    assert cli.json("documents")[0]["layers"] == ["entities", "points"]
    assert cli.json("deepen")["receipts"][0]["action"] == "unchanged"
    assert "Expected the key or id" in cli("deepen", "unknown", status=1).stderr


def test_status_names_the_model_that_is_asked_for(cli) -> None:
    assert cli.json("status", "--model", "some/model")["models"]["language_model"] == "some/model"


def test_store_and_namespace_lead_elsewhere(cli, fox, tmp_path) -> None:
    assert len(cli.json("documents")) == 1
    assert cli.json("documents", "--namespace", "other") == []
    assert cli.json("documents", "--store", tmp_path / "other.lbug") == []
    assert cli.json("status", "--namespace", "other")["namespace"] == "other"
