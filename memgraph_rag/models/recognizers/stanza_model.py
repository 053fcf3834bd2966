"""A recognizer that uses stanza's models, if they were downloaded.

The module knows stanza's resource folder and its pipeline, but no graph. Invariants: the module downloads nothing. A
model counts as installed only with all its files, including those of its tokenizer and its character models.
"""

from __future__ import annotations

import json
import pickle
import runpy
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from memgraph_rag.contracts import Named
from memgraph_rag.errors import ModelError
from memgraph_rag.models.recognizers.texts import recognize_pieces
from memgraph_rag.settings import stanza_folder

if TYPE_CHECKING:
    from stanza.pipeline.core import Pipeline

_BATCH = 256
_FIRST_SET, _LAST_SET = "default", "default_accurate"  # the last one also needs a transformer from a hub


def has_stanza() -> bool:
    """Return whether the package stanza is installed, by the extra ``stanza``. Its models are downloaded separately."""
    return find_spec("stanza") is not None


def find_installed(language: str, package: str = "", *, folder: Path | None = None) -> StanzaRecognizer | None:
    """Return the recognizer of a language, or of one of its NER packages; None if no model is complete.

    The first folder with a complete model counts; of its models, the default one is preferred. This loads no model.

    Args:
        folder: stanza's resource folder; by default the folder in stanza's own setting, else those that its releases
            use.
    """
    if not has_stanza():
        return None
    for place in (folder,) if folder else default_folders():
        try:
            resources = json.loads((place / "resources.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue
        code = resources.get(language, {}).get("alias", language)
        known = resources.get(code, {})
        for processors in list_choices(known, package):
            if all(path.is_file() for path in list_files(known, processors, place / code)):
                digest = known.get("ner", {}).get(processors["ner"], {}).get("md5", "")[:8] or "local"
                name = f"stanza/{code}/{processors['ner']}-{digest}"
                return StanzaRecognizer(place, code, processors, name=name)
    return None


class StanzaRecognizer:
    """A recognizer that loads stanza's tokenizer and NER model at the first use.

    Args:
        folder: stanza's resource folder.
        language: stanza's code of the language.
        processors: the package of each part of the pipeline: tokenize, mwt (optional), ner.
        name: the recognizer's name in the store.
    """

    def __init__(self, folder: Path, language: str, processors: Mapping[str, str], *, name: str) -> None:
        self.name = name
        self._folder = folder
        self._language = language
        self._processors = dict(processors)
        self._lock = threading.Lock()

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """Return the names in each text, by start; kinds in ``NO_NAMES``, such as dates, are left out.

        Raises:
            ModelError: the model's files do not load.
        """
        with self._lock:  # for loading, and because processors keep state
            return recognize_pieces(texts, self._find)

    def _find(self, read: Sequence[str]) -> Iterator[list[Named]]:
        for first in range(0, len(read), _BATCH):
            for document in self._pipeline.bulk_process(list(read[first : first + _BATCH])):
                yield [Named(span.start_char, span.end_char, span.type) for span in document.ents]

    @cached_property
    def _pipeline(self) -> Pipeline:
        from stanza.pipeline.core import DownloadMethod, Pipeline

        no_other_parts: dict[str, Any] = {"package": None}
        try:
            return Pipeline(
                self._language, dir=str(self._folder), processors=self._processors, **no_other_parts,
                download_method=DownloadMethod.NONE, verbose=False,
            )  # fmt: skip
        except (OSError, ValueError, KeyError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise ModelError(
                f"Expected a stanza model that finds names in {self._folder / self._language}, got an error: {error}. "
                f"Remove it, and get it again: memgraph-rag models --fetch stanza:{self._language}.",
                name=self.name, folder=str(self._folder),
            ) from error  # fmt: skip


def default_folders() -> Sequence[Path]:
    """Return the folder in stanza's own setting, else the folders that its newer and older releases use.

    stanza itself is not imported, because it imports torch.
    """
    if (chosen := stanza_folder()) is not None:
        return (chosen,)
    spec = find_spec("stanza")
    if spec is None or spec.origin is None:
        return ()
    version = runpy.run_path(str(Path(spec.origin).with_name("_version.py"))).get("__resources_version__", "")
    cache = platformdirs.user_cache_dir("stanza", "StanfordNLP", version)
    return Path(cache) / "resources", Path.home() / "stanza_resources"


def list_choices(known: Mapping[str, Any], package: str) -> Iterator[dict[str, str]]:
    """Yield each way in which stanza can find names in a language, best first: a package for each processor.

    Args:
        known: stanza's description of the language, from its resources.json.
        package: the only NER package to use; empty for any.
    """
    sets = {name: packages for name, packages in known.get("packages", {}).items() if "tokenize" in packages}
    order = sorted(sets, key=lambda name: (name != _FIRST_SET, name == _LAST_SET, name))
    tokenizers = [{key: sets[name][key] for key in ("tokenize", "mwt") if key in sets[name]} for name in order]
    own = [sets[name].get("ner", "") for name in order]
    for ner in dict.fromkeys([*own, *sorted(known.get("ner", {}))]):
        if ner and ner == (package or ner):
            preferred = [choice for choice, set_ner in zip(tokenizers, own, strict=True) if set_ner == ner]
            for processors in (*preferred, *tokenizers):
                yield {**processors, "ner": ner}


def list_files(known: Mapping[str, Any], processors: Mapping[str, str], folder: Path) -> Iterator[Path]:
    """Yield the path of every file that stanza loads for a choice of ``list_choices``."""
    for processor, package in processors.items():
        yield folder / processor / f"{package}.pt"
        for needed in known.get(processor, {}).get(package, {}).get("dependencies") or ():
            yield folder / needed["model"] / f"{needed['package']}.pt"
