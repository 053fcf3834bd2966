"""The language model of a layer that can do without one.

It knows the models by their contract. Invariant: that there is none is no error.
"""

from __future__ import annotations

from memgraph_rag.contracts import LanguageModel, Models
from memgraph_rag.errors import ModelNotFound

__all__ = ["language_of"]


def language_of(models: Models, *, wanted: bool) -> LanguageModel | None:
    """The language model, where it is wanted and there is one."""
    try:
        return models.language if wanted else None
    except ModelNotFound:
        return None
