"""Settings: what is given goes before the environment, that before the default; what cannot work is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tables import table

from memgraph_rag import Settings
from memgraph_rag.errors import SettingsError
from memgraph_rag.settings import GROUPS, NAMES, SECRETS, Endpoint, Neo4j

MOST_SETTINGS = 24


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.upper().startswith(("MEMGRAPH_RAG_", "NEO4J_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def given(name: str, value: object) -> dict[str, Any]:
    """The argument of a setting, by its whole name."""
    group, _, field = name.partition(".")
    return {group: {field: value}} if field else {name: value}


def value_of(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def test_settings_are_few() -> None:
    assert len(Settings.model_fields) <= MOST_SETTINGS


def test_groups_are_the_fields_that_hold_fields() -> None:
    settings = Settings()
    assert {name: type(getattr(settings, name)) for name in GROUPS} == {"neo4j": Neo4j, "endpoint": Endpoint} == GROUPS
    assert {name.partition(".")[0] for name in NAMES} == set(Settings.model_fields)
    assert set(NAMES) >= SECRETS - set(GROUPS)


def test_the_defaults_work() -> None:
    settings = Settings.load()
    assert (settings.namespace, settings.model, settings.embedder) == ("default", "auto", "auto")
    assert Path(settings.store).name == "memory.lbug"
    assert Path(settings.store).is_absolute()
    assert (settings.neo4j.user, settings.neo4j.password, settings.neo4j.database) == ("neo4j", None, None)
    assert settings.segment_tokens <= settings.window // 2
    assert Settings.load() == Settings()


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
    "recognizer": ("rules", "rules"),
    "calibration": ("none", "none"),
    "checks": ("names", "names"),
    "capture_content": ("true", True),
    "redact": ("mask", "mask"),
    "several": ("Team, bike", ("team", "bike")),
    "search": ("database", "database"),
    "search_memory_mib": ("100", 100),
    "neo4j.user": ("ann", "ann"),
    "neo4j.database": ("stories", "stories"),
    "reader": ("auto", "auto"),
    "endpoint.requests": ("2", 2),
    "endpoint.seconds": ("9.5", 9.5),
    "endpoint.body": ('{"reasoning_effort": "none"}', {"reasoning_effort": "none"}),
}
TEXT_SECRETS = {"neo4j.password", "endpoint.openai_key", "endpoint.key"}


@pytest.mark.parametrize("name", FROM_TEXT)
def test_each_field_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text, expected = FROM_TEXT[name]
    monkeypatch.setenv(f"MEMGRAPH_RAG_{name.replace('.', '_').upper()}", text)
    assert value_of(Settings.load(), name) == expected


def test_every_field_has_its_variable() -> None:
    assert set(NAMES) == {*FROM_TEXT, *TEXT_SECRETS}


@pytest.mark.parametrize("group", [{"user": "me"}, Neo4j(user="me")])
def test_argument_beats_environment_unless_it_is_missing(monkeypatch: pytest.MonkeyPatch, group: object) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_NAMESPACE", "theirs")
    monkeypatch.setenv("NEO4J_USERNAME", "theirs")
    monkeypatch.setenv("NEO4J_DATABASE", "stories")
    settings = Settings.load(namespace="mine", neo4j=group)
    assert (settings.namespace, settings.neo4j.user, settings.neo4j.database) == ("mine", "me", "stories")
    for nothing in (None, {"user": None}):
        assert Settings.load(namespace=None, neo4j=nothing).namespace == "theirs"
        assert Settings.load(namespace=None, neo4j=nothing).neo4j.user == "theirs"


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("neo4j.user", ["MEMGRAPH_RAG_NEO4J_USER", "NEO4J_USERNAME", "NEO4J_USER"]),
        ("neo4j.database", ["MEMGRAPH_RAG_NEO4J_DATABASE", "NEO4J_DATABASE"]),
        (
            "endpoint.openai_key",
            ["MEMGRAPH_RAG_ENDPOINT_OPENAI_KEY", "OPENAI_API_KEY"],
        ),
    ],
)
def test_argument_beats_own_variable_which_beats_those_of_others(
    monkeypatch: pytest.MonkeyPatch, name: str, variables: list[str]
) -> None:
    def text(settings: Settings) -> str:
        value = value_of(settings, name)
        return value if isinstance(value, str) else value.get_secret_value()

    for variable in reversed(variables):
        monkeypatch.setenv(variable, f"from {variable}")
        assert text(Settings.load()) == f"from {variable}"
        assert text(Settings.load(**given(name, "given"))) == "given"


def test_other_variables_of_neo4j_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_AUTH", "neo4j/sesame")
    monkeypatch.setenv("NEO4J_PLUGINS", "[]")
    assert Settings.load().neo4j == Neo4j()


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("neo4j.password", "NEO4J_PASSWORD"),
        ("neo4j.password", "MEMGRAPH_RAG_NEO4J_PASSWORD"),
        ("endpoint.openai_key", "OPENAI_API_KEY"),
        ("endpoint.key", "MEMGRAPH_RAG_ENDPOINT_KEY"),
    ],
)
def test_a_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch, name: str, variable: str) -> None:
    monkeypatch.setenv(variable, "open sesame")
    settings = Settings.load()
    assert value_of(settings, name).get_secret_value() == "open sesame"
    assert "sesame" not in f"{settings!r} {settings} {settings.model_dump()}"


def test_body_is_not_shown() -> None:
    assert "sesame" not in repr(Settings.load(endpoint={"body": {"key": "sesame"}}))


def test_callable_gives_the_key_of_an_endpoint() -> None:
    assert Settings.load(endpoint={"key": lambda: "sesame"}).endpoint.key() == "sesame"  # type: ignore[operator]


@table(
    ("name", "value", "others"),
    [
        ("namespace", "", {}),
        ("namespace", "x" * 300, {}),
        ("store", "", {}),
        ("window", 100, {}),
        ("segment_tokens", 19, {}),
        ("segment_tokens", 1025, {"window": 2048}),
        ("batch_tokens", 100, {}),
        ("checks", "nobody", {}),
        ("device", "gpu", {}),
        ("dtype", "int2", {}),
        ("neo4j.user", 5, {}),
        ("endpoint.requests", 0, {}),
        ("endpoint.seconds", -2, {}),
    ],
)
def test_unusable_argument_is_refused_by_name(name: str, value: object, others: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=f"'{name}'") as raised:
        Settings.load(**given(name, value), **others)
    assert raised.value.setting == name
    assert f"MEMGRAPH_RAG_{name.replace('.', '_').upper()}" in str(raised.value)
    assert repr(value)[:20] in str(raised.value)


def test_unusable_variable_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_WINDOW", "wide")
    with pytest.raises(SettingsError, match="MEMGRAPH_RAG_WINDOW"):
        Settings.load()


@table("name", sorted(TEXT_SECRETS))
def test_a_wrong_secret_is_not_repeated(name: str) -> None:
    with pytest.raises(SettingsError, match=name) as raised:
        Settings.load(**given(name, 123_456))
    assert "123" not in str(raised.value)
    assert "123" not in repr(raised.value.__cause__)


@table("group", GROUPS)
def test_group_that_is_no_record_is_refused_with_what_it_has(group: str) -> None:
    with pytest.raises(
        SettingsError, match=f"'{group}' cannot be used.* It has {', '.join(GROUPS[group].model_fields)}"
    ) as raised:
        Settings.load(**{group: "sesame"})
    assert "sesame" not in str(raised.value)


def test_segments_of_half_the_window_are_allowed() -> None:
    assert Settings.load(window=2048, segment_tokens=1024).segment_tokens == 1024


@table(
    ("name", "message"),
    [
        ("modle", "Did you mean 'model'"),
        ("qzx", "The settings are store, namespace, read_only, neo4j.user"),
        ("neo4j.pasword", "Did you mean 'neo4j.password'"),
        ("endpoint.second", "Did you mean 'endpoint.seconds'"),
        ("neo4j_pasword", "Did you mean 'neo4j.password'"),
    ],
)
def test_unknown_setting_is_named_with_similar_one(name: str, message: str) -> None:
    with pytest.raises(SettingsError, match=f"There is no setting '{name}'. {message}") as caught:
        Settings.load(**given(name, "x"))
    assert caught.value.setting == name


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    unset = Settings.load()
    for _, variable in VARIABLES:
        monkeypatch.setenv(variable, "")
    assert Settings.load() == unset


@table("name", ["store", "namespace", "model", "embedder", "recognizer", "calibration"])
def test_an_empty_argument_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=f"'{name}'"):
        Settings.load(**{name: ""})


# ── variables that cannot be read ────────────────────────────────────────────────────────────────────────────


OTHER_VARIABLES = [
    ("neo4j.user", "NEO4J_USERNAME"),
    ("neo4j.user", "NEO4J_USER"),
    ("neo4j.password", "NEO4J_PASSWORD"),
    ("neo4j.database", "NEO4J_DATABASE"),
    ("endpoint.openai_key", "OPENAI_API_KEY"),
]
VARIABLES = [(name, f"MEMGRAPH_RAG_{name.replace('.', '_').upper()}") for name in NAMES] + OTHER_VARIABLES


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


@table("name", ["store", "cache_dir", "model", "neo4j.user", "neo4j.password"])
def test_setting_with_nul_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=f"'{name}'.* without NUL"):
        Settings.load(**given(name, "a\0b"))
