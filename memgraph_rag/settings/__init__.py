"""Everything that can be set, what each value may be, and how a value that cannot work is refused.

Open ``sources.py`` for where values come from. Invariants: a value that cannot work is refused when the memory is
opened, with the name of the setting, what it may be and where it was given; no message holds a secret; a secret of the
user goes to no other machine that a file of the project names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import from_json

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.settings.sources import APP, Given, Origin, project_file, read_all, stanza_folder, user_file

__all__ = [
    "GROUPS",
    "NAMES",
    "SECRETS",
    "Endpoint",
    "Neo4j",
    "Origin",
    "Settings",
    "project_file",
    "stanza_folder",
    "user_file",
]

_PREFIX = "MEMGRAPH_RAG_"
_UNREADABLE = re.compile("[\x00\ud800-\udfff]")  # half a surrogate pair is a byte of the environment that is no text
_MOST_COMPARED = 80  # characters of an unknown name that are compared with the known ones

Key = SecretStr | Callable[[], str]
"""A secret, or what gives it before each request."""


class Neo4j(BaseModel):
    """How a Neo4j is entered; its address is the setting ``store``."""

    model_config = ConfigDict(extra="forbid")

    user: str = "neo4j"
    password: SecretStr | None = None
    database: str | None = Field(default=None, description="By default that of the user.")
    database_per_namespace: bool = Field(
        default=False, description="Neo4j Enterprise and Aura: each namespace in a database of its own."
    )


class Endpoint(BaseModel):
    """How models behind an address are asked; the address is the setting ``model`` or ``embedder``."""

    model_config = ConfigDict(extra="forbid")

    key: Key | None = Field(default=None, description="For every address but OpenAI's, where it wants one.")
    openai_key: Key | None = Field(default=None, description="For OpenAI alone.")
    requests: PositiveInt = Field(default=8, le=256, description="Requests to one address at a time.")
    seconds: PositiveFloat = Field(default=300.0, description="Longest that one request takes, with its repetitions.")
    body: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        repr=False,
        description='More of each request\'s JSON: {"reasoning_effort": "none"}. It may hold a key.',
    )

    @field_validator("body", mode="before")
    @classmethod
    def _from_json(cls, value: object) -> object:
        """The variable is text; what is no JSON is refused as any other value."""
        return from_json(value) if isinstance(value, str) else value


class Settings(BaseModel):
    """All settings. ``load`` also reads variables and files; the class itself takes arguments and defaults alone."""

    model_config = ConfigDict(extra="forbid")

    store: str = Field(
        min_length=1,
        default_factory=lambda: str(Path(platformdirs.user_data_dir(APP)) / "memory.lbug"),
        description="A file (embedded) or a Neo4j address such as neo4j://localhost:7687.",
    )
    namespace: str = Field("default", min_length=1, max_length=256, description="The wall between users' memories.")
    read_only: bool = Field(False, description="Change nothing: several processes may then read one embedded file.")
    neo4j: Neo4j = Field(default_factory=Neo4j)

    model: str = Field(
        "auto",
        min_length=1,
        description="Name, folder or GGUF file of the language model, or an address: openai:NAME, http://HOST/v1#NAME.",
    )
    reader: str = Field(
        "none",
        min_length=1,
        description='Local model that attends for one behind an address: "auto", "none", or as model.',
    )
    calibration: str = Field(
        "auto", min_length=1, description='Of the language model: "auto" finds it, "none", or a file.'
    )
    embedder: str = Field(
        "auto", min_length=1, description="Name or folder of the sentence-transformers model, or an address, as model."
    )
    endpoint: Endpoint = Field(default_factory=Endpoint)
    recognizer: str = Field("auto", min_length=1, description="What finds names: auto, stanza, spacy or rules.")
    device: str = Field("auto", pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$", description="auto, cpu, mps, cuda or cuda:N.")
    dtype: str = Field("auto", pattern="^(auto|float32|bfloat16|float16|int8|int4)$")
    window: PositiveInt = Field(8192, ge=1024, description="Most tokens that the language model holds at once.")
    cache_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_cache_dir(APP)))

    segment_tokens: PositiveInt = Field(
        300, ge=20, description="Most tokens of one segment; at most half of the window."
    )
    batch_tokens: PositiveInt = Field(1024, ge=512, description="Tokens of one summarising prompt with its output.")
    answer_tokens: PositiveInt = Field(96, le=240, description="Most tokens of an answer in one sentence.")
    checks: Literal["all", "speaker", "names", "none"] = Field(
        "all",
        description="When to abstain. speaker: what is asked of one speaker of a conversation was said by another. "
        "names: what was read does not name what is asked about, and is not very near to it.",
    )
    stemming: bool = Field(False, description='Whether "marriages" finds "marriage" in keyword and graph search.')
    search: Literal["auto", "memory", "database"] = Field(
        "auto",
        description="Where graph search looks: the namespace in memory, or what the database draws for each question; "
        "auto is in memory as long as it fits search_memory_mib.",
    )
    search_memory_mib: PositiveInt = Field(2048, description="About how much memory a graph search may take, in MiB.")

    @field_validator("segment_tokens")
    @classmethod
    def _fits_the_window(cls, segment_tokens: int, others: ValidationInfo) -> int:
        """A segment is read in one piece, beside a question, other nodes and the answer."""
        most = others.data.get("window", segment_tokens * 2) // 2
        if segment_tokens > most:
            raise ValueError(f"Expected at most {most}, half of the window")
        return segment_tokens

    @classmethod
    def load(cls, **given: Any) -> Settings:
        """Return the settings: what is given (None counts as not given), else variables, files, defaults.

        Raises:
            SettingsError: a value cannot work, or a file cannot be read.
        """
        return cls.resolve(**given)[0]

    @classmethod
    def resolve(cls, **given: Any) -> tuple[Settings, dict[str, Origin]]:
        """Return the settings as ``load`` does, and the origin of each one that is not a default.

        Raises:
            SettingsError: a value cannot work, or a file cannot be read.
        """
        values = read_all(given, groups=GROUPS, variables=_VARIABLES)
        _check_names(values)
        _check_texts(values)
        _check_destinations(values)
        try:
            settings = cls.model_validate(_nest(values))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
        else:
            return settings, {name: value.origin for name, value in values.items()}
        # Raised behind the block: the error of pydantic, which holds the value, may tell a secret.
        name = _name_at(first["loc"])
        got = "" if name in SECRETS else f", got {show(first['input'])}"
        raise _refusal(name, first["msg"].removeprefix("Value error, ") + got, values[name].origin)


GROUPS: dict[str, type[BaseModel]] = {"neo4j": Neo4j, "endpoint": Endpoint}
"""Settings that hold further ones."""

NAMES = [
    setting
    for name in Settings.model_fields
    for setting in ([f"{name}.{field}" for field in GROUPS[name].model_fields] if name in GROUPS else [name])
]
"""Every setting by its whole name, such as ``window`` or ``neo4j.password``."""

SECRETS = {"neo4j.password", "endpoint.key", "endpoint.openai_key", "endpoint.body", *GROUPS}
"""Settings whose value is never shown. A body may hold a key, too; who mistakes a group may give a secret for it."""

_FORMER = {
    **{name.replace(".", "_"): name for name in NAMES if "." in name},
    "namespace_as_database": "neo4j.database_per_namespace",
    "openai_api_key": "endpoint.openai_key",
}
"""The names that settings had before they were grouped."""

_REMOVED = {
    "checks_names": "Set checks to 'speaker', or to 'none'.",
    "checks_speaker": "Set checks to 'names', or to 'none'.",
    **dict.fromkeys(
        ("max_seconds", "max_tokens", "max_nodes"), "Give them with a question: ask(…, limits=Limits(seconds=10))."
    ),
    "pool_questions": "Give it to the layer: layers=(memgraph_rag.layers.relations.RelationsLayer(pool_questions=3),).",
    "stanza_dir": "Set stanza's own variable STANZA_RESOURCES_DIR.",
}
"""What to do in place of settings that are gone."""

_VARIABLES = {
    **{f"{_PREFIX}{name.replace('.', '_').upper()}": name for name in (*NAMES, *_REMOVED)},
    **{f"{_PREFIX}{former.upper()}": name for former, name in _FORMER.items()},
    "NEO4J_USERNAME": "neo4j.user",
    "NEO4J_USER": "neo4j.user",
    "NEO4J_PASSWORD": "neo4j.password",
    "NEO4J_DATABASE": "neo4j.database",
    "OPENAI_API_KEY": "endpoint.openai_key",
}
"""The setting of each variable; our own go before those of other tools."""

_GO_WITH = {
    "store": ("neo4j.password",),
    "model": ("endpoint.key", "endpoint.body"),
    "embedder": ("endpoint.key", "endpoint.body"),
}
"""Secrets that are sent to the address of a setting. OpenAI's key goes to OpenAI alone, whoever names it."""


def _check_names(values: Given) -> None:
    for name, value in values.items():
        if name not in NAMES and name not in GROUPS:
            raise _unknown(name, value.origin)


def _check_texts(values: Given) -> None:
    """Refuse what no database takes, before a library fails at it."""
    for name, value in values.items():
        text = value.given.get_secret_value() if isinstance(value.given, SecretStr) else value.given
        if isinstance(text, (str, Path)) and _UNREADABLE.search(str(text)):
            got = "" if name in SECRETS else f", got {show(text)}"
            raise _refusal(name, f"Expected text without NUL and half surrogate pairs{got}", value.origin)


def _check_destinations(values: Given) -> None:
    """Refuse to send a secret of the user to a machine that only a file of the project names.

    The file may come with a stranger's repository. A secret of the project's own ``.env`` goes where its files say.
    """
    for setting, secrets in _GO_WITH.items():
        address = values.get(setting)
        if address is None or not address.origin.is_project or not _is_elsewhere(address.given):
            continue
        for secret in secrets:
            if secret in values and not values[secret].origin.is_project:
                raise SettingsError(
                    f"Expected an address of your own for your {secret} ({values[secret].origin}), got one of the "
                    f"project: {setting} in {show(address.origin.path)}. If you trust it, set {_variable(setting)} "
                    "yourself, or write the secret into .env beside that file.",
                    setting=setting,
                    settings_file=address.origin.path,
                )


def _is_elsewhere(address: object) -> bool:
    """Whether it names another machine than this one."""
    if not isinstance(address, str) or "://" not in address:
        return False
    try:
        host = urlsplit(address).hostname or ""
        return host != "localhost" and not ip_address(host).is_loopback
    except ValueError:  # a name, or nothing that could be one
        return True


def _nest(values: Given) -> dict[str, Any]:
    """Return the values as pydantic takes them: those of a group in a dict of its own."""
    nested: dict[str, Any] = {}
    for name, value in values.items():
        group, _, field = name.partition(".")
        if field and group not in values:
            nested.setdefault(group, {})[field] = value.given
        elif not field:
            nested[name] = value.given
    return nested


def _name_at(place: tuple[int | str, ...]) -> str:
    """Return the setting that an error of pydantic is about."""
    nested = ".".join(map(str, place[:2]))
    return nested if nested in NAMES else str(place[0])


def _refusal(name: str, reason: str, origin: Origin) -> SettingsError:
    """Return the error of a value that cannot work; it says where the value was given."""
    if origin.kind == "argument":
        fields = ", ".join(GROUPS[name].model_fields) if name in GROUPS else ""
        advice = f"It has {fields}" if fields else f"Give it as an argument or as the variable {_variable(name)}"
        return SettingsError(f"The setting '{name}' cannot be used: {reason}. {advice}.", setting=name)
    if origin.kind == "file":
        return SettingsError(
            f"The key {name} of {show(origin.path)} cannot be used: {reason}. Change it, or take it out.",
            setting=name,
            **_facts(origin),
        )
    where = f"{origin.variable} in {show(origin.path)}" if origin.path else origin.variable
    return SettingsError(
        f"The variable {where} cannot be used as the setting '{name}': {reason}. Change it, or unset it.",
        setting=name,
        **_facts(origin),
    )


def _facts(origin: Origin) -> dict[str, Any]:
    """Return the variable and the file that a value came from, where it came from such."""
    facts = {"variable": origin.variable, "settings_file": origin.path}
    return {name: fact for name, fact in facts.items() if fact}


def _unknown(name: str, origin: Origin) -> SettingsError:
    """Return the error of a name that is no setting; it says what it is now, or what may have been meant."""
    near = get_close_matches(name[:_MOST_COMPARED], NAMES, n=1)
    if name in _REMOVED:
        hint = _REMOVED[name]
    elif name in _FORMER:
        group, _, field = _FORMER[name].partition(".")
        form = f"the key {field} of the table [{group}]" if origin.kind == "file" else f"{group}={{'{field}': …}}"
        hint = f"It is {form} now."
    else:
        hint = f"Did you mean '{near[0]}'?" if near else f"The settings are {', '.join(NAMES)}."
    given = "" if origin.kind == "argument" else f" ({origin})"
    return SettingsError(f"There is no setting {show(name)}{given}. {hint}", setting=name, **_facts(origin))


def _variable(name: str) -> str:
    """Return our own variable of a setting."""
    return f"{_PREFIX}{name.replace('.', '_').upper()}"
