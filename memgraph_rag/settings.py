"""Everything that can be set, from arguments, the environment, or defaults: the only reader of the environment.

It knows no other room. Invariant: a value that cannot work is refused here, when the memory is opened, with the
name of the setting and what it may be.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import (
    AliasChoices,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import from_json
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError

__all__ = ["Settings"]

_APP = "memgraph_rag"
_PREFIX = "MEMGRAPH_RAG_"
_UNREADABLE = re.compile("[\x00\ud800-\udfff]")  # half a surrogate pair is a byte of the environment that is no text
_MOST_COMPARED = 80  # characters of an unknown name that are compared with the known ones


Key = SecretStr | Callable[[], str]
"""A secret, or what gives it before each request."""


def _named(standard: str, own: str) -> AliasChoices:
    """Our own variable, or else the one that Neo4j's tools use."""
    return AliasChoices(f"memgraph_rag_{own.lower()}", standard.lower(), own.lower())


class Settings(BaseSettings):
    """Each field can be set by the environment variable ``MEMGRAPH_RAG_<FIELD>``; an empty one counts as not set."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_ignore_empty=True, extra="forbid", populate_by_name=True)

    store: str = Field(
        min_length=1,
        default_factory=lambda: str(Path(platformdirs.user_data_dir(_APP)) / "memory.lbug"),
        description="A file (embedded) or a Neo4j address such as neo4j://localhost:7687.",
    )
    namespace: str = Field("default", min_length=1, max_length=256, description="The wall between users' memories.")
    read_only: bool = Field(False, description="Change nothing: several processes may then read one embedded file.")
    neo4j_user: str = Field("neo4j", validation_alias=_named("NEO4J_USERNAME", "NEO4J_USER"))
    neo4j_password: SecretStr | None = Field(None, validation_alias=_named("NEO4J_PASSWORD", "NEO4J_PASSWORD"))
    neo4j_database: str | None = Field(None, validation_alias=_named("NEO4J_DATABASE", "NEO4J_DATABASE"))
    namespace_as_database: bool = Field(
        False, description="Neo4j Enterprise and Aura: each namespace in a database of its own."
    )

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
    openai_api_key: Key | None = Field(None, validation_alias=_named("OPENAI_API_KEY", "OPENAI_API_KEY"))
    endpoint_key: Key | None = Field(None, description="For the other addresses, where they want one.")
    endpoint_requests: PositiveInt = Field(8, le=256, description="Requests to one address at a time.")
    endpoint_seconds: PositiveFloat = Field(300.0, description="Longest that one request takes, with its repetitions.")
    endpoint_body: Annotated[dict[str, Any], NoDecode] = Field(
        default_factory=dict[str, Any], description='More of each request\'s JSON: {"reasoning_effort": "none"}.'
    )
    recognizer: str = Field("auto", min_length=1, description="What finds names: auto, stanza, spacy or rules.")
    stanza_dir: Path | None = Field(
        None, validation_alias=AliasChoices("memgraph_rag_stanza_dir", "stanza_resources_dir", "stanza_dir")
    )
    device: str = Field("auto", pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$", description="auto, cpu, mps, cuda or cuda:N.")
    dtype: str = Field("auto", pattern="^(auto|float32|bfloat16|float16|int8|int4)$")
    window: PositiveInt = Field(8192, ge=1024, description="Most tokens that the language model holds at once.")
    cache_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_cache_dir(_APP)))

    segment_tokens: PositiveInt = Field(
        300, ge=20, description="Most tokens of one segment; at most half of the window."
    )
    batch_tokens: PositiveInt = Field(1024, ge=512, description="Tokens of one summarising prompt with its output.")
    pool_questions: NonNegativeInt = Field(
        0, le=8, description="Questions proposed on each batch, to look for further relations; costs as much again."
    )
    answer_tokens: PositiveInt = Field(96, le=240, description="Most tokens of an answer in one sentence.")
    checks_speaker: bool = Field(
        True, description="Abstain where what is asked of one speaker of a conversation was said by another."
    )
    checks_names: bool = Field(
        True, description="Abstain where what was read does not name what is asked about, and is not very near to it."
    )
    stemming: bool = Field(False, description='Whether "marriages" finds "marriage" in keyword and graph search.')
    search: Literal["auto", "memory", "database"] = Field(
        "auto",
        description="Where graph search looks: the namespace in memory, or what the database draws for each question; "
        "auto is in memory as long as it fits search_memory_mib.",
    )
    search_memory_mib: PositiveInt = Field(2048, description="About how much memory a graph search may take, in MiB.")

    @field_validator("endpoint_body", mode="before")
    @classmethod
    def _from_json(cls, value: object) -> object:
        """The variable is text; what is no JSON is refused as any other value."""
        return from_json(value) if isinstance(value, str) else value

    @field_validator("*", mode="before")
    @classmethod
    def _is_readable(cls, value: object) -> object:
        """Refuse what no database takes, before a library fails at it."""
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if isinstance(text, (str, Path)) and _UNREADABLE.search(str(text)):
            raise ValueError("Expected text without NUL and half surrogate pairs")
        return value

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
        """The settings: what is given (None counts as not given), else the environment, else the default.

        Raises:
            SettingsError: a value cannot work.
        """
        arguments = {name: value for name, value in given.items() if value is not None}
        try:
            return cls(**arguments)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
        given_as = str(first["loc"][0])
        name = _field_named(given_as)
        if first["type"] == "extra_forbidden":
            raise _unknown(name)
        got = "" if name in _SECRETS else f", got {show(first['input'])}"
        reason = first["msg"].removeprefix("Value error, ") + got
        variable = _variable(name)
        # Raised behind the block: the error of pydantic, which holds the value, may tell a secret.
        if name in arguments or given_as in arguments:
            raise SettingsError(
                f"The setting '{name}' cannot be used: {reason}. Give it as an argument or as the variable {variable}.",
                setting=name,
            )
        raise SettingsError(
            f"The variable {variable} cannot be used as the setting '{name}': {reason}. Change it, or unset it.",
            setting=name,
            variable=variable,
        )


_SECRETS = {"neo4j_password", "openai_api_key", "endpoint_key", "endpoint_body"}  # a body may hold a key, too


def _unknown(name: str) -> SettingsError:
    near = get_close_matches(name[:_MOST_COMPARED], Settings.model_fields, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"The settings are {', '.join(Settings.model_fields)}."
    return SettingsError(f"There is no setting {show(name)}. {hint}", setting=name)


def _field_named(alias: str) -> str:
    """Return the field that is also known by this name; the name itself where there is none."""
    return next((name for name in Settings.model_fields if alias in (name, *_aliases(name))), alias)


def _variable(name: str) -> str:
    """Return the environment variable of a setting: the one that is set, else our own."""
    variables = [alias.upper() for alias in _aliases(name)]
    return next((variable for variable in variables if variable in os.environ), variables[0])


def _aliases(name: str) -> list[str]:
    """Return the names that a field has in the environment, in lower case; our own first."""
    alias = Settings.model_fields[name].validation_alias
    return list(map(str, alias.choices)) if isinstance(alias, AliasChoices) else [f"{_PREFIX}{name}".lower()]
