"""``TokenFolder``: the bearer tokens, each of which allows access to one namespace over HTTP.

It knows files, and no server. Invariants: a token is shown once, and only its SHA-256 is stored. Each token is a
separate file that only its owner can read, so creating and revoking need no lock and take effect with the next request.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import platformdirs

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.private_files import write_private

_PREFIX = "mgr_"
_BYTES = 32  # of randomness; they cannot be guessed, so a plain hash is enough
_NAME = re.compile(r"[0-9a-f]{64}\.json")
_DIGITS = 12  # of the hash, as the id of a token
_MOST_NAMESPACE = 256  # characters, as in the settings
_DAY_S = 86_400
_MOST_DAYS = 36_500  # a hundred years
_LAST = 253_402_300_799  # the last second of the calendar, 9999-12-31


@dataclass(frozen=True, slots=True)
class Grant:
    """The access that a token allows.

    Attributes:
        id: the beginning of the token's hash, which is not secret.
        namespace: the namespace that the token can reach.
        label: a note of the user.
        created_at: seconds since 1970.
        expires_at: seconds since 1970; 0 for never.
        is_damaged: whether its file cannot be read. A damaged token is invalid, and only its ``id`` is known.
    """

    id: str
    namespace: str
    label: str
    created_at: int
    expires_at: int = 0
    is_damaged: bool = False

    @property
    def is_expired(self) -> bool:
        """Whether the token has expired by now; False for a damaged token and a token without an end."""
        return bool(self.expires_at) and self.expires_at <= time.time()


class Grants(Protocol):
    """Knows which tokens are valid."""

    def find(self, token: str) -> Grant | None:
        """Return the grant of a token; None if it is not valid."""
        ...


class OneToken:
    """A token that is valid while its process runs, and is stored nowhere.

    Attributes:
        token: the secret.
    """

    def __init__(self, namespace: str) -> None:
        self.token = _PREFIX + secrets.token_urlsafe(_BYTES)
        self._grant = Grant(_digest(self.token)[:_DIGITS], namespace, "console", int(time.time()))

    def find(self, token: str) -> Grant | None:
        """Return the grant of the token; None for any other token."""
        return self._grant if secrets.compare_digest(_digest(token), _digest(self.token)) else None


class TokenFolder:
    """The tokens of one user of this machine.

    Args:
        folder: the folder of their files. The default is a folder in the user's data directory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(platformdirs.user_data_dir("memgraph_rag")) / "mcp-tokens"

    @property
    def folder(self) -> Path:
        """The folder of the files. It may not exist before the first token."""
        return self._folder

    def make(self, namespace: str, *, label: str = "", days: int | None = None) -> str:
        """Create a token for a namespace and return it. Only its hash is stored.

        Args:
            label: a note for the user.
            days: the days until the token expires. By default it never expires.

        Raises:
            SettingsError: the name of the namespace is empty or too long, or ``days`` is below 1 or above a hundred
                years.
            OSError: the folder cannot be written.
        """
        if not 1 <= len(namespace) <= _MOST_NAMESPACE:
            raise SettingsError(
                f"Expected a namespace of 1 to {_MOST_NAMESPACE} characters, got {len(namespace)}. Name another.",
                setting="namespace",
            )
        if days is not None and not 1 <= days <= _MOST_DAYS:
            raise SettingsError(
                f"Expected days of 1 to {_MOST_DAYS:,}, got {show(days)}. Leave it out for a token without an end."
            )
        token = _PREFIX + secrets.token_urlsafe(_BYTES)
        now = int(time.time())
        grant = Grant(_digest(token)[:_DIGITS], namespace, label, now, now + days * _DAY_S if days else 0)
        form = asdict(grant)
        del form["is_damaged"]
        write_private(self._path(_digest(token)), json.dumps(form).encode())
        return token

    def find(self, token: str) -> Grant | None:
        """Return the grant of a token; None if the token is unknown, expired or damaged."""
        grant = _read(self._path(_digest(token)))
        return None if grant is None or grant.is_expired or grant.is_damaged else grant

    def grants(self) -> list[Grant]:
        """Return the grants of all tokens that are not revoked, oldest first, including expired and damaged tokens."""
        grants = [grant for path in self._folder.glob("*.json") if (grant := _read(path)) is not None]
        return sorted(grants, key=lambda grant: (grant.created_at, grant.id))

    def revoke(self, grant_id: str) -> Grant:
        """Revoke the token with an id, and return its former grant.

        Raises:
            SettingsError: no token has this id.
        """
        for grant in self.grants():
            if grant.id == grant_id:
                for path in self._folder.glob(f"{grant.id}*.json"):
                    path.unlink(missing_ok=True)
                return grant
        known = ", ".join(grant.id for grant in self.grants()) or "none"
        raise SettingsError(
            f"Expected the id of a token ({known}), got {show(grant_id)}. List the tokens with memgraph-rag mcp tokens."
        )

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}.json"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> Grant | None:
    """Return the grant in a file, marked as damaged if its form is wrong; None if there is no such file of a token."""
    if not path.is_file() or not _NAME.fullmatch(path.name):
        return None
    form: Any = None
    with suppress(OSError, ValueError):
        form = json.loads(path.read_text("utf-8"))
    form = form if isinstance(form, dict) else {}
    kinds = {"id": str, "namespace": str, "label": str, "created_at": int, "expires_at": int}
    is_whole = form.keys() == kinds.keys() and all(type(form[name]) is kind for name, kind in kinds.items())
    if not is_whole or not all(0 <= form[name] <= _LAST for name in ("created_at", "expires_at")):
        return Grant(path.stem[:_DIGITS], "", "", 0, is_damaged=True)
    return Grant(**form)
