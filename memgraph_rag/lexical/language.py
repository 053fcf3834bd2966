"""Tell the language of a text.

The module knows no document. Invariants: the same text has the same language; a text whose language is not clear, such
as a short one, has none. English is recognised by its stop words, so that English texts alone load no model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from memgraph_rag.lexical.tokenize import STOP_WORDS, words

__all__ = ["detect"]

_SAMPLE = 1_000  # characters at the beginning, and as many in the middle
_FEWEST_LETTERS = 20
_CLEAR = 0.8  # probability; above it 3 of 1,000 samples of 40 characters and more were wrong
_ENGLISH_SHARE, _FEWEST_WORDS = 0.25, 12  # of stop words in English prose: 0.3 to 0.5; in German: below 0.15


def detect(text: str) -> str:
    """Return the ISO 639-1 code of a text's language; empty if it is not clear.

    >>> detect("The old lighthouse keeper was the only one who knew what had happened on that night in the harbour.")
    'en'
    >>> detect("Der Leuchtturmwärter war der Einzige, der wusste, was in jener Nacht geschehen war."), detect("ok")
    ('de', '')
    """
    middle = len(text) // 2
    sample = text if len(text) <= 2 * _SAMPLE else f"{text[:_SAMPLE]}\n{text[middle : middle + _SAMPLE]}"
    if sum(map(str.isalpha, sample)) < _FEWEST_LETTERS:
        return ""
    listed = words(sample)
    is_english = len(listed) >= _FEWEST_WORDS and (
        sum(word in STOP_WORDS for word in listed) >= _ENGLISH_SHARE * len(listed)
    )
    if is_english:
        return "en"
    language, probability = _load_classifier()(sample)
    return language if probability >= _CLEAR else ""


@cache
def _load_classifier() -> Callable[[str], tuple[str, float]]:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True).classify
