"""A parser of clauses that uses a spaCy model, which is installed as a package.

The module knows packages and spaCy, but no graph. Invariant: the grammar of a text does not depend on other texts in
the call.
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
    """Return the parser of the package that also finds names; None if spaCy or such a package is missing."""
    release = installed_package()
    return shared(partial(SpacyParser, release[0]), "grammar", *release) if release else None


class SpacyParser:
    """A parser that loads a spaCy package at the first use, without the parts that parsing does not need.

    Args:
        package: import name of the package that holds the model.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._lock = threading.Lock()  # a pipeline's vocabulary is not safe for several threads
        self._pipeline: Language | None = None

    def parse(self, texts: Sequence[str]) -> list[list[Word]]:
        """Return the words of each text, in order; punctuation and additional white space are words too."""
        with self._lock:
            pipeline = self._load()
            with pipeline.memory_zone():
                return [
                    [
                        Word(word.idx, word.idx + len(word), word.lemma_, word.tag_, word.dep_, word.head.i)
                        for word in document
                    ]
                    for document in pipeline.pipe(texts)
                ]

    def _load(self) -> Language:
        if self._pipeline is None:
            import spacy

            try:
                self._pipeline = spacy.load(self._package, exclude=["ner", "senter"])
            except (OSError, ValueError, ImportError) as error:
                raise broken_package(self._package, "parses", error, name=self._package) from error
        return self._pipeline
