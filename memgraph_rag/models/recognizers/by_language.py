"""A recognizer that gives its model only the texts in the model's language.

The module knows which other models are installed, and loads none before a text needs it. Invariant: a text in the
model's language has the names that the model finds. The name in the store is that of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from memgraph_rag.contracts import EntityRecognizer, Named
from memgraph_rag.lexical.language import guess_language
from memgraph_rag.models.recognizers import spacy_model, stanza_model
from memgraph_rag.models.recognizers.rules import RuleRecognizer

_SPACY_PACKAGES = ("core_news_lg", "core_news_md", "core_news_sm", "core_web_lg", "core_web_md", "core_web_sm")


class RecognizerByLanguage:
    """Finds names by a model in its language, and in another language by an installed model for it, else by rules.

    Memories of a process share the models, not this object.

    Args:
        model: the recognizer that gives this one its name.
        language: the language of the model, as ISO 639-1.
    """

    def __init__(self, model: EntityRecognizer, language: str) -> None:
        self.name = model.name
        self.model = model
        self._language = language
        self._other = lru_cache(maxsize=None)(self._find_other)

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """Return the names in each text, by start, without overlaps; each language's texts are read in one call."""
        languages = [guess_language(text) for text in texts]
        names: list[list[Named]] = [[] for _ in texts]
        for language in dict.fromkeys(languages):
            places = [place for place, own in enumerate(languages) if own == language]
            reader = self.model if language == self._language else self._other(language)
            for place, found in zip(places, reader.recognize([texts[place] for place in places]), strict=True):
                names[place] = found
        return names

    def _find_other(self, language: str) -> EntityRecognizer:
        packages = (spacy_model.find_installed(f"{language}_{package}") for package in _SPACY_PACKAGES)
        own = next((found for found in packages if found is not None), None)
        return own or stanza_model.find_installed(language) or RuleRecognizer()
