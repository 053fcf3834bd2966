"""All settings, their types and limits, and the refusal of unusable values.

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
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    StringConstraints,
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
_UNREADABLE = re.compile("[\x00\ud800-\udfff]")  # Python decodes an invalid byte of the environment as half a pair
_MOST_COMPARED = 80  # characters of an unknown name that are compared with the known ones

Key = SecretStr | Callable[[], str]
"""A secret, or a function that returns it before each request."""


Noun = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=1)]


class Neo4j(BaseModel):
    """The login to Neo4j. The setting ``store`` is its address."""

    model_config = ConfigDict(extra="forbid")

    user: str = "neo4j"
    password: SecretStr | None = None
    database: str | None = Field(default=None, description="By default the user's home database.")


class Endpoint(BaseModel):
    """Parameters of requests to models on a server, whose address is the setting ``model`` or ``embedder``."""

    model_config = ConfigDict(extra="forbid")

    key: Key | None = Field(default=None, description="For every address except OpenAI's, if it needs a key.")
    openai_key: Key | None = Field(default=None, description="For OpenAI only.")
    requests: PositiveInt = Field(default=8, le=256, description="Requests to one address at a time.")
    seconds: PositiveFloat = Field(default=300.0, description="Time limit of one request, including its retries.")
    body: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        repr=False,
        description='Further fields of each request: {"reasoning_effort": "none"}. It may contain a key.',
    )

    @field_validator("body", mode="before")
    @classmethod
    def _parse_json(cls, value: object) -> object:
        """Parse the text of a variable; pydantic refuses invalid JSON like any other unusable value."""
        return from_json(value) if isinstance(value, str) else value


class Settings(BaseModel):
    """All settings. ``load`` also reads variables and files; the class itself takes only arguments and defaults."""

    model_config = ConfigDict(extra="forbid")

    store: str = Field(
        min_length=1,
        default_factory=lambda: str(Path(platformdirs.user_data_dir(APP)) / "memory.lbug"),
        description="A file (embedded) or a Neo4j address such as neo4j://localhost:7687.",
    )
    namespace: str = Field("default", min_length=1, max_length=256, description="A graph of its own in the store.")
    read_only: bool = Field(False, description="Refuse all writes. Several processes may then read one embedded file.")
    neo4j: Neo4j = Field(default_factory=Neo4j)

    model: str = Field(
        "auto",
        min_length=1,
        description="Name, folder or GGUF file of the language model, or an address: openai:NAME, http://HOST/v1#NAME.",
    )
    reader: str = Field(
        "none",
        min_length=1,
        description='Local model that supplies attention for a model behind an address: "auto", "none", or as model.',
    )
    calibration: str = Field(
        "auto", min_length=1, description='Calibration of the language model: "auto", "none", or a file.'
    )
    embedder: str = Field(
        "auto", min_length=1, description="Name or folder of the sentence-transformers model, or an address, as model."
    )
    endpoint: Endpoint = Field(default_factory=Endpoint)
    recognizer: str = Field("auto", min_length=1, description="Entity recognizer: auto, stanza, spacy or rules.")
    device: str = Field("auto", pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$", description="auto, cpu, mps, cuda or cuda:N.")
    dtype: str = Field("auto", pattern="^(auto|float32|bfloat16|float16|int8|int4)$")
    window: PositiveInt = Field(8192, ge=1024, description="Most tokens that the language model holds at once.")
    cache_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_cache_dir(APP)))

    segment_tokens: PositiveInt = Field(
        300, ge=20, description="Most tokens of one segment; at most half of the window."
    )
    batch_tokens: PositiveInt = Field(1024, ge=512, description="Tokens of one summarising prompt with its output.")
    checks: Literal["all", "speaker", "names", "none"] = Field(
        "all",
        description="When to abstain. speaker: the question names one speaker, and another speaker said it. "
        "names: the passages read do not contain the names in the question, and are not very similar to it.",
    )
    redact: Literal["off", "mark", "mask", "refuse"] = Field(
        "mark",
        description="Keys, passwords, card and account numbers in what is added. mark: count them on the receipt. "
        "mask: store stars in their place. refuse: raise an error.",
    )
    several: tuple[Noun, ...] = Field(
        (),
        description='Nouns of which a person has several at a time, such as "team, bike": a newer one does not '
        "supersede the others, and a question about them is answered with all.",
    )
    capture_content: bool = Field(
        False, description="Spans of OpenTelemetry hold queries, questions and answers, beside ids and numbers."
    )
    search: Literal["auto", "memory", "database"] = Field(
        "auto",
        description="Where graph search looks: in the whole namespace in memory, or in a pool that the database "
        "returns for each question. auto: in memory if the namespace fits search_memory_mib.",
    )
    search_memory_mib: PositiveInt = Field(2048, description="Approximate memory limit of graph search, in MiB.")

    @field_validator("several", mode="before")
    @classmethod
    def _split_nouns(cls, value: object) -> object:
        """Split a text at its commas; pydantic checks everything else."""
        return value.split(",") if isinstance(value, str) else value

    @field_validator("segment_tokens")
    @classmethod
    def _fits_the_window(cls, segment_tokens: int, others: ValidationInfo) -> int:
        """Refuse segments larger than half of the window: the other half holds the question and the answer."""
        most = others.data.get("window", segment_tokens * 2) // 2
        if segment_tokens > most:
            raise ValueError(f"Expected at most {most}, half of the window")
        return segment_tokens

    @property
    def longest_segment_tokens(self) -> int:
        """Most tokens of a segment in a language whose tokens are short: four times as many, if the window has room."""
        return max(self.segment_tokens, min(4 * self.segment_tokens, self.window // 2))

    @classmethod
    def load(cls, **given: Any) -> Settings:
        """Return the settings: each value from ``given`` (None: not given), a variable, a file, or the default.

        The first of these that gives the value decides. A variable may be in the environment or in ``.env``; the
        project's file comes before the user's file. A field of a group is decided by itself.

        Raises:
            SettingsError: a value is unusable, or a file cannot be read.
        """
        return cls.resolve(**given)[0]

    @classmethod
    def resolve(cls, **given: Any) -> tuple[Settings, dict[str, Origin]]:
        """Return the settings as ``load`` does, and the origin of each given value by its name (``neo4j.password``).

        A setting that nothing gives has no origin.

        Raises:
            SettingsError: a value is unusable, or a file cannot be read.
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
        # Raised after the block, without pydantic's error as its cause: that one contains the value, maybe a secret.
        name = _find_setting_name(first["loc"])
        got = "" if name in SECRETS else f", got {show(first['input'])}"
        raise _value_error(name, first["msg"].removeprefix("Value error, ") + got, values[name].origin)


GROUPS: dict[str, type[BaseModel]] = {"neo4j": Neo4j, "endpoint": Endpoint}
"""Settings that contain further settings."""

NAMES = [
    setting
    for name in Settings.model_fields
    for setting in ([f"{name}.{field}" for field in GROUPS[name].model_fields] if name in GROUPS else [name])
]
"""The full name of every setting, such as ``window`` or ``neo4j.password``."""

SECRETS = {"neo4j.password", "endpoint.key", "endpoint.openai_key", "endpoint.body", *GROUPS}
"""Settings whose value is never shown. A body may contain a key, and a mistaken value of a group may be a secret."""

_VARIABLES = {
    **{f"{_PREFIX}{name.replace('.', '_').upper()}": name for name in NAMES},
    "NEO4J_USERNAME": "neo4j.user",
    "NEO4J_USER": "neo4j.user",
    "NEO4J_PASSWORD": "neo4j.password",
    "NEO4J_DATABASE": "neo4j.database",
    "OPENAI_API_KEY": "endpoint.openai_key",
}
"""The setting of each environment variable. Our own variables have priority over those of other tools."""

_GO_WITH = {
    "store": ("neo4j.password",),
    "model": ("endpoint.key", "endpoint.body"),
    "embedder": ("endpoint.key", "endpoint.body"),
}
"""The secrets that are sent to the address in each setting. OpenAI's key is sent to OpenAI only."""


def _check_names(values: Given) -> None:
    for name, value in values.items():
        if name not in NAMES and name not in GROUPS:
            raise _make_unknown_name_error(name, value.origin)


def _check_texts(values: Given) -> None:
    """Refuse text that no database accepts, before a library fails on it."""
    for name, value in values.items():
        text = value.given.get_secret_value() if isinstance(value.given, SecretStr) else value.given
        if isinstance(text, (str, Path)) and _UNREADABLE.search(str(text)):
            got = "" if name in SECRETS else f", got {show(text)}"
            raise _value_error(name, f"Expected text without NUL and half surrogate pairs{got}", value.origin)


def _check_destinations(values: Given) -> None:
    """Refuse to send a secret of the user to a machine that only a file of the project names.

    The file may belong to a stranger's repository. A secret in the project's own ``.env`` may be sent where the
    project's files say.
    """
    for setting, secrets in _GO_WITH.items():
        address = values.get(setting)
        if address is None or not address.origin.is_project or not _is_elsewhere(address.given):
            continue
        for secret in secrets:
            if secret in values and not values[secret].origin.is_project:
                raise SettingsError(
                    f"Expected an address of your own for your {secret} ({values[secret].origin}), got one of the "
                    f"project: {setting} in {show(address.origin.path)}. If you trust it, set {_our_variable(setting)} "
                    "yourself, or write the secret into .env beside that file.",
                    setting=setting,
                    settings_file=address.origin.path,
                )


def _is_elsewhere(address: object) -> bool:
    """Return whether the address names another machine."""
    if not isinstance(address, str) or "://" not in address:
        return False
    try:
        host = urlsplit(address).hostname or ""
        return host != "localhost" and not ip_address(host).is_loopback
    except ValueError:  # a host name, or invalid text
        return True


def _nest(values: Given) -> dict[str, Any]:
    """Return the values in pydantic's form: the values of a group in a dict of their own."""
    nested: dict[str, Any] = {}
    for name, value in values.items():
        group, _, field = name.partition(".")
        if field and group not in values:
            nested.setdefault(group, {})[field] = value.given
        elif not field:
            nested[name] = value.given
    return nested


def _find_setting_name(place: tuple[int | str, ...]) -> str:
    """Return the name of the setting that pydantic's error location refers to."""
    nested = ".".join(map(str, place[:2]))
    return nested if nested in NAMES else str(place[0])


def _value_error(name: str, reason: str, origin: Origin) -> SettingsError:
    """Return the error for an unusable value, with the place where the value was given."""
    if origin.kind == "argument":
        fields = ", ".join(GROUPS[name].model_fields) if name in GROUPS else ""
        advice = f"It has {fields}" if fields else f"Give it as an argument or as the variable {_our_variable(name)}"
        return SettingsError(f"The setting '{name}' cannot be used: {reason}. {advice}.", setting=name)
    if origin.kind == "file":
        return SettingsError(
            f"The key {name} of {show(origin.path)} cannot be used: {reason}. Change it, or take it out.",
            setting=name,
            **_list_facts(origin),
        )
    where = f"{origin.variable} in {show(origin.path)}" if origin.path else origin.variable
    return SettingsError(
        f"The variable {where} cannot be used as the setting '{name}': {reason}. Change it, or unset it.",
        setting=name,
        **_list_facts(origin),
    )


def _list_facts(origin: Origin) -> dict[str, Any]:
    """Return the variable and the file of an origin, if there are any, as facts of an error."""
    facts = {"variable": origin.variable, "settings_file": origin.path}
    return {name: fact for name, fact in facts.items() if fact}


def _make_unknown_name_error(name: str, origin: Origin) -> SettingsError:
    """Return the error for a name that is not a setting, with a similar name."""
    near = get_close_matches(name[:_MOST_COMPARED], NAMES, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"The settings are {', '.join(NAMES)}."
    given = "" if origin.kind == "argument" else f" ({origin})"
    return SettingsError(f"There is no setting {show(name)}{given}. {hint}", setting=name, **_list_facts(origin))


def _our_variable(name: str) -> str:
    """Return our environment variable for a setting."""
    return f"{_PREFIX}{name.replace('.', '_').upper()}"
