"""Finds the noun phrases of a question, by the parser of a spaCy package.

The module knows spaCy, but no graph. Invariant: a phrase is a piece of the text without a gap.
"""

from __future__ import annotations

import threading
from functools import cache, cached_property
from typing import TYPE_CHECKING

from memgraph_rag.contracts import NounPhrase
from memgraph_rag.models.recognizers.spacy_model import find_package, load_pipeline

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Token

_CLAUSES = {"relcl", "acl"}
_OWNED_OR_MEANT = {"poss", "det"}


@cache
def find_installed() -> SpacyNounPhrases | None:
    """Return a finder of noun phrases that uses the first installed spaCy package; None without a package.

    All memories of this process share it.
    """
    release = find_package()
    return SpacyNounPhrases(release[0]) if release else None


class SpacyNounPhrases:
    """A finder of noun phrases that loads a spaCy package at the first use.

    Args:
        package: import name of the package that holds the model.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._lock = threading.Lock()

    def find_phrases(self, text: str) -> list[NounPhrase]:
        """Return the noun phrases that describe a thing by its owner, by "of", or by a clause, the shortest first.

        "Solaris's director", "the director of Solaris" and "the city where Ann was born" are such phrases.

        Raises:
            ModelError: the package does not load.
        """
        with self._lock, self._pipeline.memory_zone():  # a pipeline's vocabulary is not safe for several threads
            found = [phrase for token in self._pipeline(text) if (phrase := _phrase(token))]
        return sorted(found, key=lambda phrase: (phrase.end - phrase.start, phrase.start))

    @cached_property
    def _pipeline(self) -> Language:
        return load_pipeline(self._package, _remove_names, what="with a parser")


def _remove_names(pipeline: Language) -> None:
    """Remove the parts that a parse does not need."""
    pipeline.get_pipe("parser")
    for name in {"ner", "lemmatizer"}.intersection(pipeline.component_names):
        pipeline.remove_pipe(name)


def _phrase(token: Token) -> NounPhrase | None:
    """Return the phrase of which a token is the head, or None."""
    left_out = _find_verb_of_question(token)
    children = [child for child in token.children if child.dep_ != "acl" or child.i not in left_out]
    kinds = {child.dep_ for child in children}
    has_clause = bool(kinds & _CLAUSES)
    has_of = any(child.dep_ == "prep" and child.lower_ == "of" for child in children)
    is_meant = bool(kinds & _OWNED_OR_MEANT) and (has_clause or has_of or "poss" in kinds)
    if token.pos_ not in ("NOUN", "PROPN") or not is_meant:
        return None
    edges = (token.left_edge.i, token.right_edge.i)
    parts = [part for part in token.subtree if part.i not in left_out and not (part.is_punct and part.i in edges)]
    if parts[-1].i - parts[0].i + 1 != len(parts):
        return None
    return NounPhrase(parts[0].idx, parts[-1].idx + len(parts[-1]), token.lower_, has_clause=has_clause, has_of=has_of)


def _find_verb_of_question(token: Token) -> set[int]:
    """Return the places of a last participle that the parser takes for a clause: "Where was the son of Ann born?"."""
    last = [child for child in token.children if child.dep_ == "acl" and child.right_edge.i == token.right_edge.i]
    verbs = {part.i for child in last for part in child.subtree if child.n_rights == 0}
    return verbs if len(verbs) == 1 else set()
