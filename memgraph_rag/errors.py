"""Every error this library raises on purpose, as one tree.

It knows nothing of databases, models or files; each room maps the foreign exceptions that it meets to
these and chains them with ``from``. The invariant: a message says what was expected, what came, and what to
do next; the facts are attributes too, so that a program need not parse the sentence.

    MemgraphRagError
    ├── SettingsError            a setting, an argument or an option has a value that cannot work
    ├── DocumentError            what was to be added cannot be read as text
    │   └── DocumentNotFound     nothing is stored under that id or key
    ├── QuestionError            the question is empty, no text, or longer than the model can read
    │   └── QuestionNotFound     no question was kept under that text or id
    ├── SearchMemoryExceeded     the namespace is too large for a graph search
    ├── StoreError               the database refused or failed
    │   ├── StoreUnavailable     nobody answered, the connection broke, or a cluster has no leader (retryable)
    │   ├── StoreAccessDenied    wrong user, password or database
    │   ├── StoreLocked          another process holds the embedded file
    │   ├── StoreReadOnly        what was opened for reading only was to be changed
    │   ├── DocumentChanged      a document is not the one that was read any more
    │   └── SchemaMismatch       the store was built by another version or with another embedder
    ├── ModelError               a model cannot be loaded or run
    │   ├── ModelNotFound        no weights under that name, or none that a server knows
    │   ├── ModelUnavailable     a model's server did not answer, or not to the end (retryable)
    │   ├── ModelAccessDenied    a model's server refused the key
    │   ├── WindowExceeded       more tokens than the model's window holds
    │   ├── TokenLimitReached    a call has used the tokens that it was given
    │   └── SpanError            a token span is empty or out of range
    ├── ClusterError             a cluster does not answer, or its workers die
    ├── LayerError               a layer of the user's own failed, or gave what is none of its rows
    └── StrategyError            no strategy of that name, or it was driven wrongly

``MemgraphRagWarning`` is no error: what was asked was done, but perhaps not what was meant.
"""

from __future__ import annotations

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
    """Root of the family.

    Args:
        message: one sentence on what was expected and what came, one on what to do.
        **facts: the values behind the message (``path=``, ``key=``, ``limit=`` …); each becomes an attribute.
    """

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        """The fact of that name."""
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(name)


class MemgraphRagWarning(UserWarning):
    """What was asked was done, but perhaps not what was meant."""


class SettingsError(MemgraphRagError):
    """A setting, an argument or an option has a value that cannot work."""


class DocumentError(MemgraphRagError):
    """What was to be added cannot be read as text."""


class DocumentNotFound(DocumentError):
    """Nothing is stored under that id or key."""


class QuestionError(MemgraphRagError):
    """The question is empty, no text, or longer than the model can read."""


class QuestionNotFound(QuestionError):
    """No question was kept under that text or id."""


class SearchMemoryExceeded(MemgraphRagError):
    """The namespace is too large for what a graph search, or the layer communities, may hold in memory."""


class StoreError(MemgraphRagError):
    """The database refused or failed."""


class StoreUnavailable(StoreError):
    """Nobody answered at that address, the connection broke, or a cluster has no leader."""

    retryable = True


class StoreAccessDenied(StoreError):
    """Wrong user, wrong password, or no such database."""


class StoreLocked(StoreError):
    """Another process holds the embedded file."""

    retryable = True


class StoreReadOnly(StoreError):
    """The store was opened for reading only."""


class DocumentChanged(StoreError):
    """A document is not the one that was read any more; read it again, then write."""


class SchemaMismatch(StoreError):
    """The store was built by another schema version or with another embedder."""


class ModelError(MemgraphRagError):
    """A model cannot be loaded or run."""


class ModelNotFound(ModelError):
    """No weights were found under that name, or the server knows no such model."""


class ModelUnavailable(ModelError):
    """A model's server did not answer, not in time, or not to the end."""

    retryable = True


class ModelAccessDenied(ModelError):
    """A model's server refused the key, or there is none."""


class WindowExceeded(ModelError):
    """More tokens than the model's window holds."""


class TokenLimitReached(ModelError):
    """A call has read and written as many tokens of the model as it was given; the next one goes on."""


class SpanError(ModelError):
    """A token span is empty, or reaches past the sequence."""


class ClusterError(MemgraphRagError):
    """A cluster that was to build documents does not answer, or a worker of it died."""


class LayerError(MemgraphRagError):
    """A layer of the user's own failed, or gave what is none of its rows."""


class StrategyError(MemgraphRagError):
    """No strategy of that name, or it was driven wrongly."""
