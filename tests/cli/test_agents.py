"""``memgraph-rag mcp``: tokens by command, and the server where the extra is missing or a setting is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memgraph_rag.cli.options import Place
from memgraph_rag.cli.serve import _memories, _Openings, _show_page, _split
from memgraph_rag.server.tokens import TokenFolder


def test_commands_make_list_and_revoke(cli, tmp_path: Path) -> None:
    at = ("--tokens", tmp_path / "tokens")
    made = cli("mcp", "token", "--namespace", "ann", "--label", "laptop\x1b[31m", "--days", "3", *at)
    token = made.stdout.strip()
    assert token.startswith("mgr_")
    assert "shown once" in made.stderr
    (form,) = cli.json("mcp", "tokens", *at)
    assert (form["namespace"], form["label"]) == ("ann", "laptop\x1b[31m")
    listed = cli("mcp", "tokens", *at).stdout
    assert form["id"] in listed
    assert token not in listed
    assert "\x1b[31m" not in listed
    assert TokenFolder(tmp_path / "tokens").find(token) is not None
    cli("mcp", "revoke", form["id"], *at)
    assert TokenFolder(tmp_path / "tokens").find(token) is None
    failed = cli("mcp", "revoke", form["id"], *at, status=1)
    assert failed.stderr.startswith("SettingsError: Expected the id of a token (none)")
    assert cli("mcp", "token", *at, status=2)


def test_token_of_an_impossible_date_is_listed_as_damaged_and_revoked(cli, tmp_path: Path) -> None:
    at = ("--tokens", tmp_path / "tokens")
    refused = cli("mcp", "token", "--namespace", "ann", "--days", "4000000", *at, status=1)
    assert refused.stderr.startswith("SettingsError: Expected days of 1 to 36,500, got 4000000.")
    cli("mcp", "token", "--namespace", "ann", "--days", "3", *at)
    (path,) = (tmp_path / "tokens").iterdir()
    path.write_text(path.read_text().replace('"expires_at": ', '"expires_at": 999'))
    assert "damaged: revoke it" in cli("mcp", "tokens", *at).stdout
    (form,) = cli.json("mcp", "tokens", *at)
    assert form["damaged"] is True
    cli("mcp", "revoke", form["id"], *at)
    assert cli.json("mcp", "tokens", *at) == []


def test_browser_gets_the_token_by_a_private_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr("webbrowser.open", opened.append)
    with _show_page("http://127.0.0.1:8765/ui/#token=mgr_secret"):
        (file,) = tmp_path.iterdir()
        assert opened == [file.as_uri()]
        assert 'url=http://127.0.0.1:8765/ui/#token=mgr_secret"' in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600
    assert [*tmp_path.iterdir()] == []
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "absent")
    with _show_page("http://127.0.0.1:8765/ui/#token=mgr_secret"):
        assert len(opened) == 1


def test_missing_extra_is_one_line_with_what_to_install(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    failed = cli("mcp", status=1)
    assert failed.stderr.startswith(
        "SettingsError: Expected the package mcp, version 2.3 or newer, got no such package."
    )
    assert 'pip install "memgraph_rag[mcp]"' in failed.stderr
    assert failed.stdout == ""


def test_wrong_setting_is_reported_before_a_client_waits(cli) -> None:
    assert "SettingsError: The setting 'namespace'" in cli("mcp", "--namespace", "n" * 300, status=1).stderr


@pytest.mark.parametrize(
    ("layers", "at_once", "later"),
    [
        (None, ("entities", "facts"), ()),
        ((), (), ()),
        (("entities", "points", "facts"), ("entities", "facts"), ("points",)),
        (("relations",), (), ("relations",)),
        (("full", "facts"), ("entities", "facts"), ("points", "relations")),
    ],
)
def test_layers_of_a_language_model_follow_later(layers, at_once, later) -> None:
    assert _split(layers) == (at_once, later)


def test_server_with_a_large_model_on_a_gpu_builds_the_full_graph(monkeypatch, tmp_path: Path) -> None:
    place = Place(store=str(tmp_path / "notes.lbug"))
    for is_large, later in ((True, ["points", "relations"]), (False, [])):
        monkeypatch.setattr("memgraph_rag.models.model_loader.FoundModels.is_large_on_gpu", is_large)
        with _memories(place, None, is_shared=False) as memories:
            assert memories.backlog("ann").layers == later
        with _memories(place, "none", is_shared=False) as memories:
            assert memories.backlog("ann").layers == []


def test_namespaces_share_models_that_keep_no_journal(opened, tmp_path: Path) -> None:
    """The journal of one namespace would hold what another one forgets."""
    place = Place(store=str(tmp_path / "notes.lbug"), model="http://127.0.0.1:9/v1#nobody")
    openings = _Openings(place, ("entities",), shares=True)
    with openings("ann", progress=print) as ann, openings("tom", progress=print) as tom:
        assert (ann.namespace, tom.namespace) == ("ann", "tom")
        ann.add("Ann found a red fox.", key="fox")
        assert tom.documents() == []
    first, second = opened
    assert second["embedder"] is ann.embedder
    assert first["model"] is second["model"]
    assert first["model"].found._journal is None
    assert (first["reader"], first["layers"]) == ("none", ("entities",))


def test_single_client_opens_its_models_by_name(opened, tmp_path: Path) -> None:
    openings = _Openings(Place(store=str(tmp_path / "notes.lbug")), (), shares=False)
    openings("ann", progress=print).close()
    assert opened[0]["namespace"] == "ann"
    assert (opened[0]["model"], opened[0]["embedder"]) == (None, None)
