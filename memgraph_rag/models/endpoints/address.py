"""The address of a model on a server: ``openai:NAME``, or ``http://HOST/v1#NAME``.

The module does not know a client and sends nothing. Invariant: an address holds no secret, so that it may be shown.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from memgraph_rag.errors import SettingsError

_OPENAI = "openai:"
_OPENAI_URL = "https://api.openai.com/v1"
_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Address:
    """A server that speaks OpenAI's protocol, and a model on it."""

    url: str
    model: str

    @property
    def is_openai(self) -> bool:
        """Whether the URL is that of OpenAI's own server. Only this server receives OpenAI's key."""
        return self.url == _OPENAI_URL


def is_address(name: str) -> bool:
    """Return whether a model's name begins like the address of a server, valid or not; else it is a local model."""
    return name.startswith((_OPENAI, *_SCHEMES))


def parse_address(name: str) -> Address:
    """Return the address in a model's name, without slashes at the end of the URL.

    >>> parse_address("http://localhost:11434/v1#qwen3:8b")
    Address(url='http://localhost:11434/v1', model='qwen3:8b')

    Raises:
        SettingsError: the name holds no model, no valid server, or more than server, path and model.
    """
    if name.startswith(_OPENAI):
        url, model = _OPENAI_URL, name.removeprefix(_OPENAI)
    else:
        url, _, model = name.partition("#")
    if not model:
        raise SettingsError(
            f"Expected an address with a model's name, got only {_hide_secrets(url)}. Write {_hide_secrets(url)}#NAME.",
            setting="model",
        )
    parts = _split(url)
    if not parts.hostname or parts.username is not None or parts.query:
        raise SettingsError(
            f"Expected an address of server and path, got {_hide_secrets(url)} without a server, or with a user or a "
            "query. Set a key as MEMGRAPH_RAG_ENDPOINT_KEY, and more request fields as endpoint={'body': …}.",
            setting="model",
        )
    return Address(url.rstrip("/"), model)


def _split(url: str) -> SplitResult:
    """Return the parts of an address; without a server if its host, its port or a character is invalid."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.port != 0 and url.isprintable():
            return parts
    return SplitResult(url.partition(":")[0], "", "", "", "")


def _hide_secrets(url: str) -> str:
    """Return an address without the parts that may be secret."""
    parts = _split(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
