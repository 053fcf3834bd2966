"""Where a model behind an address is: ``openai:NAME``, or ``http://HOST/v1#NAME``.

It knows no client and asks nobody. Invariant: an address holds no secret, so that it may be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from memgraph_rag.errors import SettingsError

__all__ = ["Address", "is_address", "parse_address"]

_OPENAI = "openai:"
_OPENAI_URL = "https://api.openai.com/v1"
_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Address:
    """A server that speaks OpenAI's protocol, and a model there."""

    url: str
    model: str

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own, which gets OpenAI's key; no other does."""
        return self.url == _OPENAI_URL


def is_address(name: str) -> bool:
    """Whether a model's name is an address: nothing on this machine's disk is then looked for."""
    return name.startswith((_OPENAI, *_SCHEMES))


def parse_address(name: str) -> Address:
    """The address that a model's name is.

    >>> parse_address("http://localhost:11434/v1#qwen3:8b")
    Address(url='http://localhost:11434/v1', model='qwen3:8b')

    Raises:
        SettingsError: no model is named, or it holds more than server, path and model.
    """
    if name.startswith(_OPENAI):
        url, model = _OPENAI_URL, name.removeprefix(_OPENAI)
    else:
        url, _, model = name.partition("#")
    if not model:
        raise SettingsError(
            f"Expected an address that names a model, got {_shown(url)} without. Write {_shown(url)}#NAME.",
            setting="model",
        )
    parts = urlsplit(url)
    if not parts.hostname or parts.username is not None or parts.query:
        raise SettingsError(
            f"Expected an address of server and path, got {_shown(url)} without a server, or with a user or a query. "
            "Give a key as MEMGRAPH_RAG_ENDPOINT_KEY, more fields of each request as endpoint={'body': …}.",
            setting="model",
        )
    return Address(url.rstrip("/"), model)


def _shown(url: str) -> str:
    """The address without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
