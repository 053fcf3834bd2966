"""Stanford's models are downloaded from a server in this process; the real ones only where a network is."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from stanza.resources import common

from memgraph_rag.errors import ModelNotFound, ModelUnavailable, SettingsError
from memgraph_rag.models.recognizers import stanza_fetch
from memgraph_rag.models.recognizers.stanza_fetch import find_stanza_download

FILES = {
    "tokenize/tiny.pt": b"splits " * 100,
    "ner/tiny.pt": b"names " * 1000,
    "forward_charlm/news.pt": b"characters " * 10,
}


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def describe(name: str, **more: Any) -> dict[str, Any]:
    return {"md5": hashlib.md5(FILES[name], usedforsecurity=False).hexdigest(), **more}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a server that stanza's own settings name."""
    folder = tmp_path / "served"
    for name, data in FILES.items():
        path = folder / "en" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    needed = [{"model": "forward_charlm", "package": "news"}]
    known = {
        "lang_name": "English",
        "packages": {"default": {"tokenize": "tiny", "ner": "tiny"}},
        "tokenize": {"tiny": describe("tokenize/tiny.pt")},
        "ner": {"tiny": describe("ner/tiny.pt", dependencies=needed)},
        "forward_charlm": {"news": describe("forward_charlm/news.pt")},
    }
    listed = {"en": known, "english": {"alias": "en"}, "la": {"tokenize": {}}, "url": "unused"}
    (folder / f"resources_{common.DEFAULT_RESOURCES_VERSION}.json").write_text(json.dumps(listed))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(common, "DEFAULT_RESOURCES_URL", address)
        monkeypatch.setattr(common, "DEFAULT_MODEL_URL", address + "/{lang}/{filename}")
        yield folder
        server.shutdown()
        thread.join()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("language", ["en", "english"])
def test_size_is_known_before_the_files_come(served: Path, tmp_path: Path, language: str) -> None:
    folder = tmp_path / "stanza"
    download = find_stanza_download(language, folder=folder)
    assert download.size == sum(map(len, FILES.values()))
    assert [path.name for path in folder.iterdir()] == ["resources.json"]
    assert download.fetch().name.startswith("stanza/en/tiny-")
    assert {name: (folder / "en" / name).read_bytes() for name in FILES} == FILES


def test_files_that_are_there_are_not_fetched_again(served: Path, tmp_path: Path) -> None:
    find_stanza_download("en", folder=tmp_path).fetch()
    (tmp_path / "en/ner/tiny.pt").unlink()
    (served / f"resources_{common.DEFAULT_RESOURCES_VERSION}.json").unlink()
    again = find_stanza_download("en", folder=tmp_path)
    assert again.size == len(FILES["ner/tiny.pt"])
    again.fetch()
    assert not find_stanza_download("en", folder=tmp_path).files


def test_damaged_file_is_no_model(served: Path, tmp_path: Path) -> None:
    download = find_stanza_download("en", folder=tmp_path)
    (served / "en/ner/tiny.pt").write_bytes(b"other")
    with pytest.raises(ModelUnavailable, match="Expected stanza's models from"):
        download.fetch()
    (served / "en/ner/tiny.pt").write_bytes(FILES["ner/tiny.pt"])
    assert find_stanza_download("en", folder=tmp_path).fetch().name.startswith("stanza/en/tiny")


def test_missing_file_is_reported_before_others(served: Path, tmp_path: Path) -> None:
    (served / "en/ner/tiny.pt").unlink()
    with pytest.raises(ModelUnavailable, match="404"):
        find_stanza_download("en", folder=tmp_path)
    assert not list(tmp_path.glob("en/**/*.pt"))


@pytest.mark.parametrize(
    ("language", "package", "message"),
    [
        ("xx", "", r"finds names \(en\), got 'xx'"),
        ("la", "", r"\(en\)"),
        ("en", "huge", r"NER package of 'en' \(tiny\)"),
    ],
)
def test_unknown_language_or_package_names_the_known(
    served: Path, tmp_path: Path, language: str, package: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        find_stanza_download(language, package, folder=tmp_path)


def test_without_a_network_the_error_says_how_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(common, "DEFAULT_RESOURCES_URL", "http://127.0.0.1:9")
    with pytest.raises(ModelUnavailable, match=r"or copy the folder .*stanza") as caught:
        find_stanza_download("en", folder=tmp_path / "stanza")
    assert caught.value.retryable


def test_without_stanza_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stanza_fetch, "has_stanza", lambda: False)
    with pytest.raises(ModelNotFound, match=r"memgraph_rag\[stanza\]"):
        find_stanza_download("en")


def test_fetch_tells_the_size_first(cli, served, home) -> None:
    fetched = cli("models", "--fetch", "stanza:en")
    size = sum(map(len, FILES.values())) / 1e6
    assert fetched.stderr == f"downloading 3 files, {size:,.0f} MB, to {home}\n"
    assert fetched.stdout.startswith("ready      stanza/en/tiny-")
    assert cli.json("models", "--fetch", "stanza:en")["bytes"] == 0


@pytest.mark.parametrize("wanted", ["stanza", "stanza:", "spacy:en", "qwen2.5-coder-1.5b-instruct"])
def test_unknown_download_is_wrong_usage(cli, wanted: str) -> None:
    assert "stanza:LANGUAGE" in cli("models", "--fetch", wanted, status=2).stderr


def test_fetch_without_a_network_is_an_error_of_one_line(cli, home, monkeypatch) -> None:
    monkeypatch.setattr("stanza.resources.common.DEFAULT_RESOURCES_URL", "http://127.0.0.1:9")
    error = cli("models", "--fetch", "stanza:en", status=1).stderr
    assert error.startswith("ModelUnavailable: Expected stanza's models from 'http://127.0.0.1:9'")
    assert error.count("\n") == 1


@pytest.mark.full("downloads some 100 MB")
@pytest.mark.timeout(1800)
def test_stanfords_english_models_find_names(tmp_path: Path) -> None:
    """Only where a network is."""
    try:
        download = find_stanza_download("en", folder=tmp_path)
    except ModelUnavailable as error:
        pytest.skip(f"no network: {error}")
    recognizer = download.fetch()
    text = "Barack Obama was born in Hawaii."
    (names,) = recognizer.recognize([text])
    assert [(text[name.start : name.end], name.kind) for name in names] == [
        ("Barack Obama", "PERSON"),
        ("Hawaii", "GPE"),
    ]
