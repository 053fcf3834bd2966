"""All errors that this library raises on purpose, as one tree.

The module knows no database, model or file. Each room converts the foreign exceptions that it meets into these errors,
chained with ``from``. Invariant: a message says what was expected, what was received, and what to do next. The facts
are also attributes, so that a program need not parse the message.

    MemgraphRagError
    ├── SettingsError            a setting, an argument or an option has an unusable value
    ├── DocumentError            the given document is not readable as text
    │   └── DocumentNotFound     no document is stored under this id or key
    ├── QuestionError            the question is empty, not text, or too long for the model
    │   └── QuestionNotFound     no question is kept under this text or id
    ├── SearchMemoryExceeded     the namespace is too large for a graph search in memory
    ├── StoreError               the database refused an operation, or failed
    │   ├── StoreUnavailable     no server answered, the connection broke, or a cluster has no leader (retryable)
    │   ├── StoreAccessDenied    wrong user, password or database
    │   ├── StoreLocked          another process has the embedded file open (retryable)
    │   ├── StoreReadOnly        a write to a store that was opened for reading only
    │   ├── DocumentChanged      another writer changed the document after it was read
    │   └── SchemaMismatch       another version or another embedder built the store
    ├── ModelError               a model cannot be loaded or run
    │   ├── ModelNotFound        no weights with this name exist here, or the server knows no such model
    │   ├── ModelUnavailable     a model's server did not answer, or not completely (retryable)
    │   ├── ModelAccessDenied    a model's server refused the key
    │   ├── WindowExceeded       more tokens than the model's window holds
    │   ├── TokenLimitReached    a call has used all tokens of its limit
    │   └── SpanError            a token span is empty or out of range
    ├── ClusterError             a cluster does not answer, or one of its workers died
    ├── LayerError               a user's own layer failed, or returned rows that are not its own
    └── StrategyError            the strategy is unknown, unusable here, or broke its contract

``MemgraphRagWarning`` is not an error: the call succeeded, but its result may not be what the caller intended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

__all__ = [
    "ClusterError",
    "DocumentChanged",
    "DocumentError",
    "DocumentNotFound",
    "LayerError",
    "MemgraphRagError",
    "MemgraphRagWarning",
    "ModelAccessDenied",
    "ModelError",
    "ModelNotFound",
    "ModelUnavailable",
    "QuestionError",
    "QuestionNotFound",
    "SchemaMismatch",
    "SearchMemoryExceeded",
    "SettingsError",
    "SpanError",
    "StoreAccessDenied",
    "StoreError",
    "StoreLocked",
    "StoreReadOnly",
    "StoreUnavailable",
    "StrategyError",
    "TokenLimitReached",
    "WindowExceeded",
]


class MemgraphRagError(Exception):
    """The root of all errors of this library.

    Args:
        message: one sentence on what was expected and what was received, and one on what to do.
        **facts: the values behind the message (``path=``, ``key=``, ``limit=`` …); each becomes an attribute.
    """

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        """Return the fact with this name."""
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(name)


class MemgraphRagWarning(UserWarning):
    """The call succeeded, but its result may not be what the caller intended."""


class SettingsError(MemgraphRagError):
    """A setting, an argument or an option has an unusable value."""


class DocumentError(MemgraphRagError):
    """The given document is not readable as text."""


class DocumentNotFound(DocumentError):
    """No document is stored under this id or key."""


class QuestionError(MemgraphRagError):
    """The question is empty, not text, or too long for the model."""


class QuestionNotFound(QuestionError):
    """No question is kept under this text or id."""


class SearchMemoryExceeded(MemgraphRagError):
    """The namespace is too large for the memory that a graph search may use."""


class StoreError(MemgraphRagError):
    """The database refused an operation, or failed."""


class StoreUnavailable(StoreError):
    """No server answered at this address, the connection broke, or a cluster has no leader."""

    retryable = True


class StoreAccessDenied(StoreError):
    """The user, the password or the name of the database is wrong."""


class StoreLocked(StoreError):
    """Another process has the embedded file open."""

    retryable = True


class StoreReadOnly(StoreError):
    """The call would write to a store that was opened for reading only."""


class DocumentChanged(StoreError):
    """Another writer changed the document after it was read. Read it again, then write."""


class SchemaMismatch(StoreError):
    """Another schema version or another embedder built the store."""


class ModelError(MemgraphRagError):
    """A model cannot be loaded or run."""


class ModelNotFound(ModelError):
    """No weights with this name exist on this machine, or the server knows no such model."""


class ModelUnavailable(ModelError):
    """A model's server did not answer, answered too late, or sent only a part of its answer."""

    retryable = True


class ModelAccessDenied(ModelError):
    """A model's server refused the key, or needs one."""


class WindowExceeded(ModelError):
    """A prompt has more tokens than the model's window holds."""


class TokenLimitReached(ModelError):
    """A call has used all model tokens of its limit. The next call continues the work."""


class SpanError(ModelError):
    """A token span is empty, or ends after the sequence."""


class ClusterError(MemgraphRagError):
    """A cluster that builds documents does not answer, or one of its workers died."""


class LayerError(MemgraphRagError):
    """A user's own layer failed, or returned rows that are not its own."""


class StrategyError(MemgraphRagError):
    """The strategy is unknown, unusable with this model or call, or broke its contract."""


@contextmanager
def convert_errors(make: Callable[[Exception], MemgraphRagError]) -> Iterator[None]:
    """Turn any error of foreign code inside the block into the error of this family that ``make`` returns for it.

    The foreign error is its cause. Errors and warnings of this family and ``MemoryError`` pass through.
    """
    try:
        yield
    except (MemgraphRagError, MemgraphRagWarning, MemoryError):
        raise
    except Exception as exc:  # a parser, a library or a part of the user's may raise anything
        raise make(exc) from exc
