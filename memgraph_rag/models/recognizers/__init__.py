"""Recognizers of names, and which one is used: stanza, spaCy, or rules that need nothing installed.

Open ``spacy_model.py`` first: the default. The room knows what is installed; finding a recognizer loads no model and
imports no model library. Invariant: a namespace is read with the recognizer that built it, so that the names of a
question and of the graph are found alike; a missing recognizer is an error, never a silent change.
"""

from __future__ import annotations

from pathlib import Path

from memgraph_rag.contracts import EntityRecognizer
from memgraph_rag.display import show
from memgraph_rag.errors import ModelNotFound, SettingsError
from memgraph_rag.models.recognizers import spacy_model, stanza_model
from memgraph_rag.models.recognizers.rules import RuleRecognizer

__all__ = ["find_recognizer"]


def find_recognizer(choice: str, *, stored: str = "", stanza_dir: Path | None = None) -> EntityRecognizer:
    """The recognizer that is to be used; it loads its model at the first use.

    Args:
        choice: "auto" (stanza where its English model is present, else spaCy where a model is installed, else
            rules), "stanza" or "stanza/<language>", "spacy" or "spacy/<package>", or "rules".
        stored: the name of the recognizer that found the namespace's entities; empty where there are none yet.
        stanza_dir: stanza's resource folder; by default where stanza itself keeps it.

    Raises:
        SettingsError: there is no such choice, or it is not what the namespace was built with.
        ModelNotFound: what was chosen, or what the namespace was built with, is not installed.
    """
    if choice == "auto" and stored:
        return _find_again(stored, stanza_dir)
    recognizer = _find(choice, stanza_dir)
    if recognizer is None:
        raise ModelNotFound(
            f"Expected a recognizer of names for {show(choice)}, got none: none is installed{_how_to_get(choice)}, "
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


def _find_again(stored: str, stanza_dir: Path | None) -> EntityRecognizer:
    choice = stored.rpartition("-")[0]  # "spacy/en_core_web_sm" of "spacy/en_core_web_sm-3.8.0"
    recognizer = _find(choice, stanza_dir)
    if recognizer is None or recognizer.name != stored:
        here = f"here is {recognizer.name}" if recognizer else "it is not installed here"
        raise ModelNotFound(
            f"The entities of this namespace were found by {stored}, but {here}. Install it{_how_to_get(choice)}, "
            "or add the documents to another namespace.",
            name=stored, found=recognizer.name if recognizer else "",
        )  # fmt: skip
    return recognizer


def _find(choice: str, stanza_dir: Path | None) -> EntityRecognizer | None:
    kind, _, which = choice.partition("/")
    if choice == "auto":
        return stanza_model.installed("en", folder=stanza_dir) or spacy_model.installed() or RuleRecognizer()
    if kind == "stanza":
        language, _, package = which.partition("/")
        return stanza_model.installed(language or "en", package, folder=stanza_dir)
    if kind == "spacy":
        return spacy_model.installed(which)
    if choice == "rules":
        return RuleRecognizer()
    raise SettingsError(
        "Expected a recognizer such as auto, stanza, stanza/de, spacy, spacy/en_core_web_md or rules, got "
        f"{show(choice)}.",
        setting="recognizer", value=choice,
    )  # fmt: skip


def _how_to_get(choice: str) -> str:
    kind, _, which = choice.partition("/")
    if kind == "stanza":
        language = which.partition("/")[0] or "en"
        download = f"""python -c 'import stanza; stanza.download("{language}")'"""
        return f" ({download})" if stanza_model.has_stanza() else f' (pip install "memgraph_rag[stanza]"; {download})'
    if which in ("", spacy_model.PACKAGES[-1]):
        return ' (pip install "memgraph_rag[offline-models]")'
    return f" (python -m spacy download {which})"
