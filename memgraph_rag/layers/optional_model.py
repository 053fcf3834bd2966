"""Get the language model for a layer that also works without one.

The module knows the models by their contract. Invariant: a missing language model is not an error.
"""

from __future__ import annotations

from memgraph_rag.contracts import LanguageModel, Models
from memgraph_rag.errors import ModelNotFound


def find_language(models: Models) -> LanguageModel | None:
    """Return the language model; None if the memory has none."""
    try:
        return models.language
    except ModelNotFound:
        return None
