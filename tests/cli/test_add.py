from __future__ import annotations

import json
from typing import Any

import pytest

from memgraph_rag.ingestion.build_pool import LocalPool
from memgraph_rag.ingestion.sources import GroupSize

FOX = "Ann found a red fox in the barn."
RAIN = "It rained for nine days."


def test_add_prints_what_was_stored(cli, write) -> None:
    path = write("fox.txt", FOX)
    line = cli("add", path).stdout
    assert line.startswith(f"added      {path}")
    assert "1 Document" in line
    assert "1 Segment" in line


def test_same_content_changes_nothing(cli, fox) -> None:
    assert cli("add", fox, "--key", "fox").stdout.startswith("unchanged  fox")


def test_other_content_replaces_its_key(cli, fox, write) -> None:
    write("fox.txt", RAIN)
    assert cli("add", fox, "--key", "fox").stdout.startswith("replaced   fox")
    assert [held["key"] for held in cli.json("documents")] == ["fox"]


def test_add_as_json_holds_receipts_and_failures(cli, write) -> None:
    output = cli.json("add", write("fox.txt", FOX), "--key", "fox", "--title", "The fox")
    assert set(output) == {"receipts", "failures", "left_out"}
    (receipt,) = output["receipts"]
    written = {"document_id", "key", "action", "counts", "notes", "usage", "echoes", "same_as"}
    assert set(receipt) == written | {"stale_questions", "forgotten_questions"}
    assert (receipt["key"], receipt["action"], receipt["counts"]["Document"]) == ("fox", "added", 1)
    assert cli.json("show", "fox")["centre"]["title"] == "The fox"


def test_bad_file_among_several_is_reported_and_others_are_kept(cli, write, tmp_path) -> None:
    fox, rain, missing = write("fox.txt", FOX), write("rain.txt", RAIN), tmp_path / "missing.txt"
    result = cli("add", fox, missing, rain, status=1)
    first, second, third = result.stdout.splitlines()
    assert first.startswith("added")
    assert second.startswith(f"failed     {missing}  DocumentError: ")
    assert third.startswith("added")
    assert len(cli.json("documents")) == 2


def test_single_failing_file_is_in_the_json_else_a_command_error(cli, tmp_path) -> None:
    output = cli.json("add", tmp_path / "missing.txt", status=1)
    assert output["receipts"] == []
    assert [failure["error"] for failure in output["failures"]] == ["DocumentError"]
    assert "does not exist" in cli("add", tmp_path / "missing.txt", status=1).stderr


def test_json_holds_failures_of_single_files(cli, write, tmp_path) -> None:
    output = cli.json("add", write("fox.txt", FOX), tmp_path / "missing.txt", status=1)
    assert len(output["receipts"]) == 1
    assert [failure["error"] for failure in output["failures"]] == ["DocumentError"]


def test_text_comes_from_standard_input(cli) -> None:
    cli("add", "-", "--key", "fox", text=FOX)
    assert cli.json("show", "fox")["centre"]["characters"] == len(FOX)


def test_standard_input_that_is_not_utf_8_is_refused(cli) -> None:
    error = cli("add", "-", text=b"caf\xe9", status=1).stderr
    assert error.startswith("DocumentError: Expected UTF-8 text on standard input")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "layers"), [("none", ()), ("points", ("points",)), (" points , points ", ("points", "points"))]
)
def test_layers_are_handed_on(cli, opened: list[dict[str, Any]], write, given, layers) -> None:
    cli("add", write("fox.txt", FOX), "--layers", given)
    assert opened[-1]["layers"] == layers


def test_cost_of_a_language_model_is_logged_once_before_it_works(cli, write) -> None:
    lines = cli("add", write("fox.txt", FOX), "--layers", "full").stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("1 segment, ")
    assert lines[0].endswith("1 call of fake-language-model; Ctrl-C leaves the store as it was")
    assert cli("add", write("rain.txt", RAIN)).stderr == ""
    assert "to read" in cli("deepen", "--layers", "full").stderr
    assert cli.json("documents")[0]["layers"] == ["entities", "points", "relations"]


def test_later_costs_say_what_stays(cli, write, monkeypatch) -> None:
    monkeypatch.setattr(LocalPool, "group_size", GroupSize(documents=1, characters=1000))
    paths = [write(f"{number}.txt", f"{FOX} {number}") for number in range(3)]
    left = [line.rpartition("; ")[2] for line in cli("add", *paths, "--layers", "full").stderr.splitlines()]
    assert left == ["Ctrl-C leaves the store as it was", *["Ctrl-C keeps the documents that are stored"] * 2]


def test_without_layers_the_library_decides(cli, opened: list[dict[str, Any]], write) -> None:
    cli("add", write("fox.txt", FOX))
    assert "layers" not in opened[-1]


@pytest.mark.parametrize(
    "arguments", [(), ("a.txt", "b.txt", "--key", "one"), ("a.txt", "-", "--title", "one"), ("-", "-")]
)
def test_wrong_usage_is_2(cli, arguments) -> None:
    assert "Usage:" in cli("add", *arguments, status=2).stderr


def test_forget_prints_what_was_removed(cli, fox) -> None:
    assert cli("forget", "fox").stdout.startswith("forgotten  fox")
    assert cli.json("documents") == []


def test_forget_takes_an_id_and_prints_json(cli, fox) -> None:
    (held,) = cli.json("documents")
    receipt = cli.json("forget", held["id"])
    assert (receipt["action"], receipt["document_id"]) == ("forgotten", held["id"])


# ── folders, paths and same texts ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def notes(write, tmp_path, monkeypatch) -> None:
    """The current folder holds a folder with three files that can be read and four things that cannot."""
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    for name, text in {"fox.md": FOX, "deep/rain.csv": RAIN, "story.py": "tale = 1", ".env": "x", "empty": ""}.items():
        write(f"notes/{name}", text)
    write("notes/picture.png", "\x00")
    write("notes/sound.wav", "\x00")
    monkeypatch.chdir(tmp_path)


def test_a_folder_is_added_with_a_summary_of_what_was_left_out(cli, notes) -> None:
    result = cli("add", "notes")
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["added", "notes/fox.md"],
        ["added", "notes/story.py"],
        ["added", "notes/deep/rain.csv"],
    ]
    assert result.stderr.splitlines() == [
        "left out of notes: 1 empty (empty)",
        "left out of notes: 1 hidden (.env)",
        "left out of notes: 2 no text (picture.png, sound.wav)",
    ]


def test_folders_and_files_together_as_json(cli, notes, write) -> None:
    output = cli.json("add", write("first.txt", "First."), "notes", "missing.txt", "-", text=" ", status=1)
    assert [receipt["key"].rpartition("/")[2] for receipt in output["receipts"]] == [
        "first.txt", "fox.md", "story.py", "rain.csv"
    ]  # fmt: skip
    assert [failure["source"] for failure in output["failures"]] == ["missing.txt", "-"]
    assert {"path": "notes/.env", "reason": "hidden"} in output["left_out"]
    assert len(output["left_out"]) == 4


def test_a_folder_alone_has_no_key(cli, notes) -> None:
    assert "one document at a time" in cli("add", "notes", "--key", "one", status=2).stderr


def test_names_in_a_summary_cannot_drive_the_terminal(cli, tmp_path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "\x1b[2J\nforged").touch()
    result = cli("add", tmp_path / "odd")
    assert "\x1b" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_verbose_lists_each_skipped_file(cli, tmp_path, caplog) -> None:
    (tmp_path / "many").mkdir()
    for number in range(5):
        (tmp_path / "many" / f"{number}.txt").touch()
    assert "(0.txt, 1.txt, 2.txt, …)" in cli("add", tmp_path / "many", "--verbose").stderr
    assert sum("left out: " in message for message in caplog.messages) == 5


def test_same_text_under_another_key_is_reported(cli, fox) -> None:
    assert "(the same text as fox)" in cli("add", fox, "--key", "copy").stdout
    assert cli.json("add", fox, "--key", "third")["receipts"][0]["same_as"] == ["copy", "fox"]


def test_text_equal_to_a_file_name_warns(cli, write, tmp_path, monkeypatch) -> None:
    write("fox.txt", FOX)
    monkeypatch.chdir(tmp_path)
    (line,) = cli("add", "-", text="fox.txt\n").stderr.splitlines()
    assert line.startswith("Warning: Expected text, got a str that names a file: 'fox.txt'.")


def test_forget_takes_a_path(cli, fox, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("forget", "./fox.txt").stdout.startswith("forgotten  fox ")


def test_a_layer_is_built_and_taken_away_again(cli, fox) -> None:
    assert cli.json("deepen", "--layers", "context")["receipts"][0]["action"] == "deepened"
    assert "context" in cli.json("documents")[0]["layers"]

    (receipt,) = cli.json("remove-layer", "context")["receipts"]

    assert (receipt["key"], receipt["action"]) == ("fox", "deepened")
    assert "context" not in cli.json("documents")[0]["layers"]
    assert "unchanged" in cli("remove-layer", "context", "fox").stdout
    assert cli("remove-layer", "entities", status=1).stderr.startswith("SettingsError: ")
    assert cli("remove-layer", "context", "nowhere", status=1).stderr.startswith("DocumentNotFound: ")


def test_triples_of_a_file_are_stored(cli, write, tmp_path) -> None:
    text, triples = "Ann met Bob in Leeds.", [["Ann", "met", "Bob"]]
    path = write("openie.json", json.dumps({"docs": [{"passage": text, "extracted_triples": triples}]}))
    cli("add", write("a.txt", text), "--openie", path)
    cli("add", write("b.txt", f"{text}\n"), "--layers", "entities")
    assert cli.json("deepen", "--openie", path)["receipts"][0]["counts"]["Annotation"] == len(triples)
    best = cli.json("search", "Whom did Ann meet?", "--mode", "hipporag")[0]
    assert "relations" in best["why"]
    error = cli("add", write("c.txt", FOX), "--openie", tmp_path / "none.json", status=1).stderr
    assert error.startswith("DocumentError: Expected an OpenIE file")


def test_documents_of_user_are_searched_exported_and_forgotten_alone(cli, tmp_path) -> None:
    for user, session, place in (("ann", "1", "Hamburg"), ("ann", "2", "Berlin"), ("tom", "1", "Oslo")):
        given = ("--key", place, "--metadata", f"user={user}", "--metadata", f"session={session}")
        cli("add", "-", *given, text=f"I live in {place}.")

    def found(*held: str) -> list[str]:
        return sorted(form["document_key"] for form in cli.json("search", "Where do I live?", *held))

    assert found("--user", "ann") == ["Berlin", "Hamburg"]
    assert found("--user", "ann", "--session", "1") == ["Hamburg"]
    quoted = {cited["document_key"] for cited in cli.json("ask", "Where do I live?", "--user", "tom")["citations"]}
    assert quoted <= {"Oslo"}
    archive = tmp_path / "ann.jsonl"
    assert cli.json("export", str(archive), "--user", "ann")["documents"] == 2
    assert cli("forget", "--user", "ann", "--session", "2").stdout.startswith("forgotten  Berlin")
    assert [form["key"] for form in cli.json("forget", "--user", "ann")["receipts"]] == ["Hamburg"]
    assert cli("forget", "--user", "ann").stdout == "nothing is stored of ann\n"
    assert found() == ["Oslo"]


@pytest.mark.parametrize(
    "given", [(), ("x", "--user", "ann"), ("--session", "1"), ("x", "--question", "--user", "ann"), ("--question",)]
)
def test_forget_takes_exactly_one_target(cli, fox, given) -> None:
    assert "Invalid value" in cli("forget", *given, status=2).stderr
    assert [form["key"] for form in cli.json("documents")] == ["fox"]


def test_left_out_kinds_are_listed_in_one_line(cli, notes, write) -> None:
    for name in ("a.svg", "b.svg", "c.css"):
        write(f"notes/{name}", "x")
    line = "left out of notes: 3 of kinds svg, css; --include takes them (a.svg, b.svg, c.css)"
    assert line in cli("add", "notes").stderr.splitlines()
    assert "added" in cli("add", "notes", "--include", "svg,css").stdout
