"""The grammar of clauses by a spaCy model that is installed as a package.

It knows packages and spaCy, no graph. Invariant: what is found in a text does not depend on the texts beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memgraph_rag.contracts import Word
from memgraph_rag.models.recognizers.spacy_model import broken_package, installed_package, shared

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = ["SpacyParser", "installed"]


def installed() -> SpacyParser | None:
    """The parser of the first package that finds names, too; None where spaCy or such a package is missing."""
    found = installed_package()
    return shared(partial(SpacyParser, found[0]), "grammar", *found) if found else None


class SpacyParser:
    """A parser that loads a spaCy package at the first use, and of it only what parsing needs.

    Args:
        package: import name of the package that holds the model.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._lock = threading.Lock()  # a pipeline's vocabulary is not made for several threads
        self._pipeline: Language | None = None

    def parse(self, texts: Sequence[str]) -> list[list[Word]]:
        """The words of each text, in order."""
        with self._lock:
            pipeline = self._loaded()
            with pipeline.memory_zone():
                return [
                    [
                        Word(word.idx, word.idx + len(word), word.lemma_, word.tag_, word.dep_, word.head.i)
                        for word in document
                    ]
                    for document in pipeline.pipe(texts)
                ]

    def _loaded(self) -> Language:
        if self._pipeline is None:
            import spacy

            try:
                self._pipeline = spacy.load(self._package, exclude=["ner", "senter"])
            except (OSError, ValueError, ImportError) as error:
                raise broken_package(self._package, "parses", error, name=self._package) from error
        return self._pipeline
