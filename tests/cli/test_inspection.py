from __future__ import annotations

import base64
import hashlib
import json
import re
import stat
from collections import Counter
from html.parser import HTMLParser
from typing import Any

from memories import FOX, options
from tables import table

from memgraph_rag import Memory
from memgraph_rag.cli import render
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.types import Annotation, TurnVerdicts


def test_search_shows_where_and_why(cli, fox) -> None:
    (entry,) = cli.json("search", "broken leg", "-k", "3")
    assert list(entry) == [
        *("text", "document_key", "document_id", "segment_id", "start", "end", "speaker", "time"),
        *("score", "why", "path", "relevance", "standing", "days", "remarks"),
    ]
    assert (entry["standing"], entry["days"], entry["remarks"]) == (None, [], [])
    assert entry["text"] == fox.read_text("utf-8")[entry["start"] : entry["end"]]
    shown = cli("search", "broken leg", "--mode", "keywords").stdout
    assert shown.startswith(" 1. fox  0–")
    assert "(keywords 1)" in shown
    assert "broken leg" in shown


def test_search_tells_what_was_superseded(cli, tmp_path) -> None:
    with Memory(str(tmp_path / "notes.lbug"), embedder=FakeEmbedder(), model=FakeLanguageModel()) as memory:
        turns = (("I live in Paris.", "2024-03-01"), ("I moved to Berlin yesterday.", "2024-05-12"))
        memory.session(user="ann").add([{"role": "user", "content": text, "time": day} for text, day in turns])
    first, second = cli.json("search", "Where do I live?")
    assert (first["standing"]["state"], first["standing"]["rivals"][0]["value"]) == ("holds", "Paris")
    assert (second["standing"]["state"], second["standing"]["until"]) == ("superseded", "2024-05-12")
    assert first["days"] == [{"words": "yesterday", "first": "2024-05-11", "last": "2024-05-11"}]
    (then,) = cli.json("search", "Where do I live?", "--at", "2024-05-11")
    assert (then["standing"]["state"], then["standing"]["value"]) == ("holds", "Paris")
    shown = cli("search", "Where do I live?").stdout
    assert "[home: since 12 May 2024: Berlin; before: Paris]" in shown
    assert "[yesterday: 11 May 2024]" in shown


def test_search_judges_turns_only_by_its_option(cli, tmp_path, monkeypatch) -> None:
    with Memory(str(tmp_path / "notes.lbug"), embedder=FakeEmbedder(), model=FakeLanguageModel()) as memory:
        turns = (("how do I get to work, the bike", "2026-05-02"), ("soaked at the tram stop", "2026-05-12"))
        memory.session(user="ann").add([{"role": "user", "content": text, "time": day} for text, day in turns])
    verdicts = TurnVerdicts((0.1, 0.9), True)
    monkeypatch.setattr(FakeLanguageModel, "judge_turns", lambda *_: verdicts)
    plain, judged = (cli.json("search", "How do I get to work?", *option)[0]["text"] for option in ((), ("--judge",)))
    assert "bike" in plain
    assert "tram" in judged


def test_search_without_results_says_so(cli, fox) -> None:
    result = cli("search", "anything", "--mode", "keywords")
    assert (result.stdout, result.stderr) == ("", "Nothing was found.\n")
    assert cli.json("search", "anything", "--mode", "keywords") == []


@table(
    "command",
    [
        *(("documents",), ("status",), ("questions",), ("search", "x"), ("show", "x"), ("ask", "x"), ("forget", "x")),
        *(("deepen",), ("export", "x.jsonl"), ("purge",), ("reembed", "--embedder", "x")),
    ],
)
def test_mistyped_file_is_not_created(cli, tmp_path, command) -> None:
    message = cli(*command, "--store", tmp_path / "ntoes.lbug", status=1).stderr
    assert "no such file" in message
    assert "memgraph-rag add FILE" in message
    assert list(tmp_path.glob("ntoes*")) == []


def test_show_a_document_by_key_and_by_id(cli, fox) -> None:
    by_key = cli.json("show", "fox")
    assert by_key == cli.json("show", by_key["centre"]["id"])
    assert (by_key["type"], by_key["name"], by_key["centre"]["key"]) == ("document", "fox", "fox")
    assert by_key["centre"]["characters"] == len(fox.read_text("utf-8"))
    assert f"{len(fox.read_text('utf-8'))} characters" in cli("show", "fox").stdout


def test_show_a_node_with_its_text_and_place(cli, fox) -> None:
    (entry,) = cli.json("search", "fox")
    node = cli.json("show", entry["segment_id"])
    assert (node["type"], node["kind"], node["document_key"], node["text"]) == (
        "node",
        "segment",
        "fox",
        fox.read_text("utf-8"),
    )
    shown = cli("show", entry["segment_id"]).stdout
    assert fox.read_text("utf-8") in shown
    assert "document_key  fox" in shown


def test_text_of_a_node_is_printed_word_for_word(cli) -> None:
    text = "Ann wrote :fire: and [bold]fox[/bold] at 10:30:45."
    cli("add", "-", text=text)
    (entry,) = cli.json("search", "fox")
    assert cli("show", entry["segment_id"]).stdout.endswith(f"\n{text}\n")


def test_show_of_an_unknown_name_lists_accepted_names(cli) -> None:
    assert cli("show", "nobody", status=1).stderr.startswith("DocumentNotFound: Expected the key or id of a document")


def test_documents_are_a_table_or_json(cli, fox) -> None:
    (held,) = cli.json("documents")
    assert {"id", "key", "title", "sha256", "characters", "segments", "layers", "model", "metadata"} <= set(held)
    head, row = cli("documents").stdout.splitlines()
    assert head.split()[:2] == ["key", "title"]
    assert row.split()[0] == "fox"


def test_empty_list_says_how_to_add_a_document(cli) -> None:
    assert "memgraph-rag add" in cli("documents").stderr


def test_status_counts_by_label_and_relationship_type(cli, fox, tmp_path) -> None:
    status = cli.json("status")
    keys = ["counts", "documents_without", "schema_version", "models", "documents", "store", "namespace", "echoes"]
    assert list(status) == keys
    assert (status["counts"]["Document"], status["counts"]["Segment"], status["counts"]["HAS_SEGMENT"]) == (1, 1, 1)
    assert status["schema_version"] >= 1
    assert (status["store"], status["namespace"]) == (str(tmp_path / "notes.lbug"), "default")
    assert status["models"]["embedder"] == "fake-embedder"
    assert status["models"]["dimension"] == 64
    assert status["models"]["recognizer"] == "fake-recognizer"
    assert status["documents"] == [{"key": "fox", "layers": ["entities"]}]
    shown = cli("status").stdout
    assert "HAS_SEGMENT" in shown
    assert "segments, entities" in shown


def test_added_answer_is_marked_in_the_list(cli, fox, write) -> None:
    answer = cli.json("ask", "Where did Ann find a red fox?", "--keep-trace")["text"]
    note = write("note.txt", f"Answer: {answer}")
    assert "(no evidence, answered before: 1 segment)" in cli("add", note, "--key", "note").stdout
    assert cli.json("add", note, "--key", "note")["receipts"][0]["echoes"] == 1
    assert {held["key"]: held["echoes"] for held in cli.json("documents")} == {"fox": 0, "note": 1}
    assert cli.json("show", "note")["centre"]["echoes"] == 1
    assert cli.json("status")["echoes"] == 1
    assert "segments that are no evidence: 1" in cli("status").stdout
    assert {hit["document_key"] for hit in cli.json("search", "red fox")} == {"fox"}


def test_search_keeps_to_metadata_and_times(cli, fox) -> None:
    assert cli.json("search", "fox", "--where", "year=1865") == []
    assert cli.json("search", "fox", "--since", "2999-01-01") == []
    assert cli.json("search", "fox", "--until", "2999-01-01")
    assert "NAME=VALUE" in cli("search", "fox", "--where", "year", status=2).stderr
    assert "ISO 8601" in cli("search", "fox", "--since", "yesterday", status=1).stderr


def test_deepen_builds_and_prints_missing_layers(cli, write) -> None:
    cli("add", write("river.txt", FOX), "--key", "river", "--layers", "entities")
    assert cli.json("documents")[0]["layers"] == ["entities"]
    (receipt,) = cli.json("deepen", "river")["receipts"]
    assert receipt["action"] == "deepened"
    assert cli.json("documents")[0]["layers"] == ["entities", "points"]
    assert cli.json("deepen")["receipts"][0]["action"] == "unchanged"
    assert "Expected the key or id" in cli("deepen", "unknown", status=1).stderr


def test_status_names_the_requested_model(cli) -> None:
    assert cli.json("status", "--model", "some/model")["models"]["language_model"] == "some/model"


def test_store_and_namespace_lead_elsewhere(cli, fox, tmp_path) -> None:
    assert len(cli.json("documents")) == 1
    assert cli.json("documents", "--namespace", "other") == []
    cli("add", fox, "--store", tmp_path / "other.lbug", "--key", "there")
    assert [document["key"] for document in cli.json("documents", "--store", tmp_path / "other.lbug")] == ["there"]
    assert cli.json("status", "--namespace", "other")["namespace"] == "other"


# ── lists and pages ──────────────────────────────────────────────────────────────────────────────────────────

QUESTION = "Who found the red fox?"


def test_document_is_listed_with_its_segments_and_names(cli, fox) -> None:
    lines = cli("show", "fox").stdout.splitlines()
    assert lines[0].startswith("fox  document fox, 79 characters, 1 segment, id ")
    assert lines[lines.index("segment") + 1].startswith("    Ann found a red fox in the barn.")
    assert lines[lines.index("segment") + 1].endswith("  segment 0 · 0–79")
    assert lines[lines.index("MENTIONS") + 1].startswith("    segment 0 → Ann × 2")


def test_entity_is_listed_with_what_mentions_it(cli, fox) -> None:
    shown = cli("show", "ann").stdout
    assert shown.startswith("Ann  entity, NAME, id ")
    assert "\nMENTIONS\n    segment 0 → Ann × 2\n" in shown
    assert "broken leg" in shown
    entity = cli.json("show", "Ann")
    assert (entity["type"], entity["name"]) == ("entity", "Ann")
    assert {tie["kind"] for tie in entity["ties"]} == {"MENTIONS", "HAS_SEGMENT"}
    assert all(tie["source_id"] in entity["things"] for tie in entity["ties"])


def test_a_kept_question_is_shown_with_its_walk(cli, fox) -> None:
    answered = cli("ask", QUESTION, "--keep-trace", "--trace")
    head, *reading = cli("show", QUESTION).stdout.splitlines()
    assert head.startswith(f"{QUESTION}  asked ")
    assert [line for line in reading if line] == [
        line for line in (answered.stderr + answered.stdout).splitlines() if line
    ]
    assert any(line.startswith("[1] fox  0–") for line in reading)
    question = cli.json("show", QUESTION)
    assert (question["type"], question["centre"]["text"]) == ("question", QUESTION)
    assert question["centre"]["answer"]["trace"][0]["kind"] == "segment"
    assert cli.json("questions") == [question["centre"]]
    assert QUESTION in cli("questions").stdout
    assert cli.json("status")["counts"]["Question"] == 1


def test_ask_keeps_no_question_by_default(cli, fox) -> None:
    cli("ask", QUESTION)
    assert "--keep-trace" in cli("questions").stderr
    assert cli("show", QUESTION, status=1).stderr.startswith("DocumentNotFound: ")
    assert cli("forget", QUESTION, "--question", status=1).stderr.startswith("QuestionNotFound: ")


def test_a_kept_question_is_forgotten_by_its_text_or_with_its_document(cli, fox) -> None:
    cli("ask", QUESTION, "--keep-trace")
    cli("forget", QUESTION, "--question")
    assert cli.json("questions") == []
    cli("ask", QUESTION, "--keep-trace")
    cli("forget", "fox")
    assert cli.json("questions") == []


def test_stale_question_lists_its_changes(cli, fox, write, tmp_path) -> None:
    cli("ask", QUESTION, "--keep-trace")
    write("fox.txt", "Somebody took the barn away, long ago.")
    added = cli("add", fox, "--key", "fox")
    assert "(stale now: 1 kept question)" in added.stdout

    (listed,) = cli.json("questions")
    (change,) = listed["changes"]
    assert listed["is_stale"]
    assert (change["document_key"], change["action"], change["reads"]) == ("fox", "replaced", 1)
    assert f"fox replaced {change['changed_at']}" in cli("questions").stdout
    shown = cli("show", QUESTION).stdout
    assert f"fox was replaced {change['changed_at']}; 1 node read of it is gone" in shown
    (cited,) = listed["answer"]["citations"]
    quote = cited["quote"]
    assert quote in shown
    cli("show", QUESTION, "--html", tmp_path / "page.html")
    inside = Page((tmp_path / "page.html").read_text("utf-8")).inside
    (kept,) = inside["results"]["question"].values()
    assert (kept["changes"], kept["answer"]["citations"][0]["quote"]) == ([change], quote)

    assert "(with it: 1 kept question)" in cli("forget", "fox").stdout
    assert cli.json("questions") == []


def test_header_is_shown_with_title_and_sentence_once(cli, tmp_path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(embedder=FakeEmbedder())) as memory:
        memory.add(FOX, key="fox", title="The fox")
        assert [receipt.key for receipt in memory.deepen(layers=["context"])] == ["fox"]
        things = memory.around("fox").things.values()
        (header,) = (thing for thing in things if isinstance(thing, Annotation))
    lines = cli("show", "fox").stdout.splitlines()
    line = lines[lines.index("annotation") + 1]
    assert line == f"    The fox {header.properties['summary']}  annotation of layer context, document"


def test_hostile_text_is_text_in_the_list(cli) -> None:
    cli("add", "-", "--key", "[bold]evil", text="Ann found \x1b[2J[red]a red fox[/red] <script>alert(1)</script>.")
    cli("ask", QUESTION, "--keep-trace")
    for name in ("[bold]evil", "Ann", QUESTION):
        result = cli("show", name)
        assert "\x1b" not in result.stdout + result.stderr
        assert "[red]a red fox[/red]" in result.stdout


def test_ambiguous_name_lists_its_candidates(cli, fox) -> None:
    cli("add", "-", "--key", "names", text="Peter Rabbit met Mrs. Rabbit. Flopsy Rabbit slept.")
    message = cli("show", "rabb", status=1).stderr
    assert "Peter Rabbit" in message
    assert "Flopsy Rabbit" in message


def test_list_counts_left_out_things(cli, write) -> None:
    cli("add", write("names.txt", " ".join(f"Zed{number} met Ann." for number in range(400))), "--key", "names")
    shown = cli("show", "names", "--most", "3").stdout
    assert "more entities" in shown
    assert cli.json("show", "names", "--most", "3")["left_out"]["entities"] > 300
    assert "more mentions" in cli("show", "Ann", "--most", "3").stdout


class Page(HTMLParser):
    """What a browser would take for elements, and their texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.loads: list[str] = []
        self.scripts: list[str] = []
        self._tag = ""
        self.feed(text)
        self.close()

    @property
    def inside(self) -> dict[str, Any]:
        return json.loads(self.scripts[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self._tag = tag
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag == "script":
            self.scripts.append(data)


def test_page_contains_its_data(cli, fox, tmp_path) -> None:
    cli("ask", QUESTION, "--keep-trace")
    for name, shown in (
        ("fox", {"around", "document"}),
        ("Ann", {"around", "document"}),
        (QUESTION, {"around", "document", "question", "questions"}),
    ):
        path = tmp_path / "page.html"
        assert str(path) in cli("show", name, "--html", path).stdout
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        text = path.read_text("utf-8")
        page = Page(text)
        assert page.inside["results"].keys() == shown
        (document,) = page.inside["results"]["document"].values()
        assert document["text"].startswith("Ann found a red fox")
        assert page.loads == ["data:,"]
        _, library, script = page.scripts
        (style,) = re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL)
        for code in (library, script, style):
            assert base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() in text.partition("<title>")[0]


def test_narrow_table_keeps_its_main_column(cli, fox, monkeypatch) -> None:
    monkeypatch.setattr(render, "_WIDTH_OF_A_PIPE", 20)
    assert "fox" in cli("documents").stdout


def test_the_page_of_a_node_is_that_of_its_document(cli, fox, tmp_path) -> None:
    (entry,) = cli.json("search", "fox")
    for name in ("fox", entry["segment_id"]):
        cli("show", name, "--html", tmp_path / name)
    assert (tmp_path / "fox").read_bytes() == (tmp_path / entry["segment_id"]).read_bytes()


def test_page_replaces_only_a_page(cli, fox, tmp_path) -> None:
    for other in (tmp_path / "notes.lbug", tmp_path / "mine.txt"):
        other.touch()
        if not other.stat().st_size:
            other.write_text("Something of mine.")
        assert "holds something else" in cli("show", "fox", "--html", other, status=1).stderr
    assert (tmp_path / "mine.txt").read_text() == "Something of mine."
    mine = tmp_path / "mine.html"
    mine.write_text("<!DOCTYPE html><html><title>Written by memgraph-rag show.</title>")
    assert "holds something else" in cli("show", "fox", "--html", mine, status=1).stderr
    for other in (tmp_path, "/", "/dev/full"):
        assert cli("show", "fox", "--html", other, status=1).stderr.startswith("SettingsError: ")
    cli("show", "fox", "--html", tmp_path / "page.html")
    (tmp_path / "page.html").chmod(0o644)
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    cli("show", "fox", "--html", tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600


def test_hostile_text_is_text_in_the_page(cli, tmp_path) -> None:
    evil = '"><img src=x onerror=alert(1)> </script><script>alert(2)</script> {{ 7*7 }} &lt; \u2028 <!-- Ann'
    usual = None
    for key, text in (("plain", "Ann is here."), (evil.replace("\u2028", ""), f"{evil} found Ann{evil}.")):
        cli("add", "-", "--key", key, text=text)
        cli("ask", f"Ann {text[:40]}", "--keep-trace")
        for name in (key, "Ann", f"Ann {text[:40]}".strip()):
            path = tmp_path / "page.html"
            cli("show", name, "--html", path)
            page = Page(path.read_text("utf-8"))
            tags = {
                tag: number for tag, number in page.tags.items() if tag in ("script", "img", "style", "head", "body")
            }
            assert tags == (usual := usual or tags)
            assert tags["script"] == 3


def test_unwritable_page_is_an_error(cli, fox, tmp_path) -> None:
    assert "Expected a path" in cli("show", "fox", "--html", tmp_path / "none" / "page.html", status=1).stderr


def test_runs_are_searched_by_their_mode(cli, fox) -> None:
    (single, *_) = cli.json("search", "red fox")
    (run, *_) = cli.json("search", "red fox", "--mode", "segments")
    assert run["segment_id"] == single["segment_id"]
    assert run["start"] <= single["start"] < single["end"] <= run["end"]
    assert single["text"] in run["text"]
    assert cli("search", "fox", "--mode", "runs", status=1).stderr.startswith("SettingsError: ")
