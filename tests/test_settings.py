"""Settings: what is given goes before the environment, that before the default; what cannot work is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import AliasChoices

from memgraph_rag import Settings
from memgraph_rag.errors import SettingsError


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith(("MEMGRAPH_RAG_", "NEO4J_", "OPENAI_")):
            monkeypatch.delenv(name)


def test_the_defaults_work() -> None:
    settings = Settings.load()
    assert (settings.namespace, settings.model, settings.embedder) == ("default", "auto", "auto")
    assert Path(settings.store).name == "memory.lbug"
    assert Path(settings.store).is_absolute()
    assert (settings.neo4j_user, settings.neo4j_password, settings.neo4j_database) == ("neo4j", None, None)
    assert settings.segment_tokens <= settings.window // 2


FROM_TEXT: dict[str, tuple[str, Any]] = {
    "store": ("notes.lbug", "notes.lbug"),
    "namespace": ("mine", "mine"),
    "model": ("qwen", "qwen"),
    "embedder": ("minilm", "minilm"),
    "device": ("cuda:1", "cuda:1"),
    "dtype": ("bfloat16", "bfloat16"),
    "read_only": ("true", True),
    "window": ("4096", 4096),
    "cache_dir": ("/tmp/weights", Path("/tmp/weights")),
    "segment_tokens": ("200", 200),
    "batch_tokens": ("1536", 1536),
    "pool_questions": ("3", 3),
    "answer_tokens": ("40", 40),
    "recognizer": ("rules", "rules"),
    "calibration": ("none", "none"),
    "stanza_dir": ("/tmp/stanza", Path("/tmp/stanza")),
    "checks_speaker": ("false", False),
    "checks_names": ("false", False),
    "stemming": ("true", True),
    "search": ("database", "database"),
    "search_memory_mib": ("100", 100),
    "neo4j_user": ("ann", "ann"),
    "neo4j_database": ("stories", "stories"),
    "namespace_as_database": ("true", True),
    "reader": ("auto", "auto"),
    "endpoint_requests": ("2", 2),
    "endpoint_seconds": ("9.5", 9.5),
    "endpoint_body": ('{"reasoning_effort": "none"}', {"reasoning_effort": "none"}),
}
SECRETS = {"neo4j_password", "openai_api_key", "endpoint_key"}


@pytest.mark.parametrize("name", FROM_TEXT)
def test_each_field_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text, expected = FROM_TEXT[name]
    monkeypatch.setenv(f"MEMGRAPH_RAG_{name.upper()}", text)
    assert getattr(Settings.load(), name) == expected


def test_every_field_has_its_variable() -> None:
    assert set(Settings.model_fields) == {*FROM_TEXT, *SECRETS}


def test_an_argument_goes_before_the_environment_unless_it_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_NAMESPACE", "theirs")
    monkeypatch.setenv("NEO4J_USERNAME", "theirs")
    assert Settings.load(namespace="mine", neo4j_user="me").namespace == "mine"
    assert Settings.load(namespace="mine", neo4j_user="me").neo4j_user == "me"
    assert Settings.load(namespace=None, neo4j_user=None).namespace == "theirs"
    assert Settings.load(namespace=None, neo4j_user=None).neo4j_user == "theirs"


@pytest.mark.parametrize(
    ("field", "variables"),
    [
        ("neo4j_user", ["MEMGRAPH_RAG_NEO4J_USER", "NEO4J_USERNAME", "NEO4J_USER"]),
        ("neo4j_database", ["MEMGRAPH_RAG_NEO4J_DATABASE", "NEO4J_DATABASE"]),
    ],
)
def test_argument_beats_own_variable_which_beats_neo4j_variables(
    monkeypatch: pytest.MonkeyPatch, field: str, variables: list[str]
) -> None:
    for variable in reversed(variables):
        monkeypatch.setenv(variable, f"from {variable}")
        assert getattr(Settings.load(), field) == f"from {variable}"
        assert getattr(Settings.load(**{field: "given"}), field) == "given"


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("neo4j_password", "NEO4J_PASSWORD"),
        ("neo4j_password", "MEMGRAPH_RAG_NEO4J_PASSWORD"),
        ("openai_api_key", "OPENAI_API_KEY"),
        ("openai_api_key", "MEMGRAPH_RAG_OPENAI_API_KEY"),
        ("endpoint_key", "MEMGRAPH_RAG_ENDPOINT_KEY"),
    ],
)
def test_a_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch, name: str, variable: str) -> None:
    monkeypatch.setenv(variable, "open sesame")
    settings = Settings.load()
    assert getattr(settings, name).get_secret_value() == "open sesame"
    assert "sesame" not in f"{settings!r} {settings} {settings.model_dump()}"


def test_a_key_may_come_from_a_callable() -> None:
    assert Settings.load(endpoint_key=lambda: "sesame").endpoint_key() == "sesame"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"namespace": ""}, "namespace"),
        ({"namespace": "x" * 300}, "namespace"),
        ({"store": ""}, "store"),
        ({"window": 100}, "window"),
        ({"segment_tokens": 19}, "segment_tokens"),
        ({"window": 2048, "segment_tokens": 1025}, "segment_tokens"),
        ({"batch_tokens": 100}, "batch_tokens"),
        ({"answer_tokens": 1000}, "answer_tokens"),
        ({"pool_questions": -1}, "pool_questions"),
        ({"device": "gpu"}, "device"),
        ({"dtype": "int2"}, "dtype"),
    ],
)
def test_what_cannot_work_is_refused_by_name(given: dict[str, Any], name: str) -> None:
    with pytest.raises(SettingsError, match=f"'{name}'") as raised:
        Settings.load(**given)
    assert raised.value.setting == name
    assert f"MEMGRAPH_RAG_{name.upper()}" in str(raised.value)
    assert repr(given[name])[:20] in str(raised.value)


def test_what_cannot_work_in_the_environment_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_WINDOW", "wide")
    with pytest.raises(SettingsError, match="MEMGRAPH_RAG_WINDOW"):
        Settings.load()


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_wrong_secret_is_not_repeated(name: str) -> None:
    with pytest.raises(SettingsError, match=name) as raised:
        Settings.load(**{name: 123_456})
    assert "123" not in str(raised.value)
    assert "123" not in repr(raised.value.__cause__)


def test_segments_of_half_the_window_are_allowed() -> None:
    assert Settings.load(window=2048, segment_tokens=1024).segment_tokens == 1024


@pytest.mark.parametrize(
    ("name", "message"), [("modle", "Did you mean 'model'"), ("qzx", "The settings are store, namespace")]
)
def test_a_setting_that_is_not_there_is_named_with_what_was_meant(name: str, message: str) -> None:
    with pytest.raises(SettingsError, match=f"There is no setting '{name}'. {message}") as caught:
        Settings.load(**{name: "x"})
    assert caught.value.setting == name


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    unset = Settings.load()
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        for variable in alias.choices if isinstance(alias, AliasChoices) else (f"MEMGRAPH_RAG_{name}",):
            monkeypatch.setenv(str(variable).upper(), "")
    assert Settings.load() == unset


@pytest.mark.parametrize("name", ["store", "namespace", "model", "embedder", "recognizer", "calibration"])
def test_an_empty_argument_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=f"'{name}'"):
        Settings.load(**{name: ""})


# ── variables that cannot be read ────────────────────────────────────────────────────────────────────────────


def variables_of(name: str) -> list[str]:
    alias = Settings.model_fields[name].validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else (f"MEMGRAPH_RAG_{name}",)
    return [str(variable).upper() for variable in choices]


VARIABLES = [
    (name, variable)
    for name in Settings.model_fields
    for variable in variables_of(name)
    if variable.startswith(("MEMGRAPH_RAG_", "NEO4J_", "STANZA_", "OPENAI_"))
]


@pytest.mark.parametrize(("name", "variable"), VARIABLES)
def test_variable_that_is_no_text_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    monkeypatch.setenv(variable, "sesame\udc80")  # a byte that is no UTF-8
    with pytest.raises(
        SettingsError, match=f"The variable {variable} cannot be used as the setting '{name}'"
    ) as raised:
        Settings.load()
    assert (raised.value.setting, raised.value.variable) == (name, variable)
    assert raised.value.__cause__ is None
    if name in SECRETS:
        assert "sesame" not in str(raised.value)


@pytest.mark.parametrize("text", ["{x", "[1]", "5", "sesame", "[" * 100_000, '{"a": "sesame", }', "null"])
def test_body_that_is_no_json_object_is_refused_without_its_text(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_ENDPOINT_BODY", text)
    with pytest.raises(SettingsError, match="The variable MEMGRAPH_RAG_ENDPOINT_BODY") as raised:
        Settings.load()
    assert "sesame" not in str(raised.value)
    assert len(str(raised.value)) < 500


def test_wrong_argument_is_not_blamed_on_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_WINDOW", "4096")
    with pytest.raises(SettingsError, match="The setting 'window'") as raised:
        Settings.load(window="wide")
    assert not hasattr(raised.value, "variable")


@pytest.mark.parametrize("name", ["store", "cache_dir", "model", "neo4j_user", "neo4j_password"])
def test_setting_with_nul_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=f"'{name}'.* without NUL"):
        Settings.load(**{name: "a\0b"})
