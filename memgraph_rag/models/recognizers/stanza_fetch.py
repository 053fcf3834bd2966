"""Downloads the models of Stanford's stanza that find names in a language: a tokenizer, an NER model, what both need.

``stanza_model`` loads them. The addresses are those of stanza's own settings. Invariants: the size is known before a
model is downloaded; a file gets its name only when it is whole and has its checksum; existing files stay.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memgraph_rag.display import show
from memgraph_rag.errors import ModelNotFound, ModelUnavailable, SettingsError
from memgraph_rag.models.recognizers.stanza_model import (
    StanzaRecognizer,
    default_folders,
    find_installed,
    has_stanza,
    list_choices,
    list_files,
)

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _File:
    """A file to download: its place, its address, the checksums that it may have, and its size in bytes."""

    path: Path
    url: str
    md5: str
    other_md5: str | None
    size: int


@dataclass(frozen=True, slots=True)
class StanzaDownload:
    """The models that find names in a language and are not on this machine yet.

    Attributes:
        folder: stanza's resource folder.
        files: the files to download; empty if nothing is missing.
    """

    language: str
    package: str
    folder: Path
    files: tuple[_File, ...]

    @property
    def size(self) -> int:
        """The number of bytes to download."""
        return sum(file.size for file in self.files)

    def fetch(self) -> StanzaRecognizer:
        """Download the files, and return the recognizer, which has not loaded its models yet.

        The hub's client draws its own bars on a terminal.

        Raises:
            ModelUnavailable: a file could not be downloaded completely. Complete files stay; the next call goes on.
            ModelNotFound: the downloaded models do not make a recognizer.
        """
        from stanza.resources import common

        for file in self.files:
            with _network_work(file.url, self.folder):
                common.request_file(
                    file.url, str(file.path), md5=file.md5, raise_for_status=True, alternate_md5=file.other_md5,
                    log_info=False,
                )  # fmt: skip
        recognizer = find_installed(self.language, self.package, folder=self.folder)
        if recognizer is None:
            raise ModelNotFound(
                f"Expected models that find names in {show(self.language)} in {show(str(self.folder))}, got others. "
                "Remove resources.json there, and fetch again.",
                name=self.language, folder=str(self.folder),
            )  # fmt: skip
        return recognizer


def find_stanza_download(language: str, package: str = "", *, folder: Path | None = None) -> StanzaDownload:
    """Return the files to download for names in a language. It asks stanza's server for its list and for sizes only.

    Args:
        language: stanza's name of a language, such as "en" or "german".
        package: an NER package; by default stanza's own choice.
        folder: stanza's resource folder; by default the folder in stanza's own setting, else the one that it uses.

    Raises:
        ModelNotFound: the package stanza is not installed.
        SettingsError: stanza has no such language, or finds no names in it, or has no such package.
        ModelUnavailable: no network, or no answer.
    """
    if not has_stanza():
        raise ModelNotFound(
            'Expected the package stanza, got none. Install it: pip install "memgraph_rag[stanza]".', name="stanza"
        )
    from stanza.resources import common

    folder = default_folders()[0] if folder is None else folder
    resources = _read_list(folder) if (folder / "resources.json").is_file() else {}
    if language not in resources:
        address = common.DEFAULT_RESOURCES_URL
        with _network_work(address, folder):
            common.download_resources_json(str(folder), resources_url=address)
        resources = _read_list(folder)
    code = resources.get(language, {}).get("alias", language)
    known: Mapping[str, Any] = resources.get(code, {})
    processors = next(list_choices(known, package), None)
    if processors is None:
        able = [name for name, parts in resources.items() if isinstance(parts, dict) and "ner" in parts]
        packages = ", ".join(sorted(known.get("ner", ())))
        raise SettingsError(
            f"Expected a language in which stanza finds names ({', '.join(sorted(able))}), got {show(language)}. "
            "Name one of them."
            if not packages
            else f"Expected an NER package of {show(code)} ({packages}), got {show(package)}. Name one of them.",
            language=language, package=package,
        )  # fmt: skip
    template = common.expand_model_url(resources, common.DEFAULT_MODEL_URL)
    missing = [path for path in dict.fromkeys(list_files(known, processors, folder / code)) if not path.is_file()]
    return StanzaDownload(language, package, folder, tuple(_describe(path, code, known, template) for path in missing))


def _read_list(folder: Path) -> dict[str, Any]:
    """Return stanza's list of models in a folder.

    Raises:
        ModelNotFound: the file is no such list.
    """
    path = folder / "resources.json"
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelNotFound(
            f"Expected stanza's list of models in {show(str(path))}, got an error: {error}. Remove the file, and fetch "
            "again.",
            folder=str(folder),
        ) from error


def _describe(path: Path, code: str, known: Mapping[str, Any], template: str) -> _File:
    """Return a file with its address, its checksums and its size, for which its server is asked."""
    from stanza.resources import common

    kind, name = path.parent.name, path.stem
    url = template.format(resources_version=common.DEFAULT_RESOURCES_VERSION, lang=code, filename=f"{kind}/{name}.pt")
    sums = known.get(kind, {}).get(name, {})
    return _File(path, url, sums.get("md5", ""), sums.get("alternate_md5"), _ask_size(url, path.parents[2]))


def _ask_size(url: str, folder: Path) -> int:
    import requests

    with _network_work(url, folder):
        answer = requests.head(url, allow_redirects=True, timeout=_SECONDS, headers={"Accept-Encoding": "identity"})
        answer.raise_for_status()
        return int(answer.headers.get("content-length", 0))


@contextmanager
def _network_work(url: str, folder: Path) -> Iterator[None]:
    """Run the block without stanza's own lines and bars, and convert its errors.

    Raises:
        ModelUnavailable: nothing came from the address, or not what was expected.
    """
    logger = logging.getLogger("stanza")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    except (OSError, ValueError) as error:  # requests' errors are OSErrors; a wrong checksum is a ValueError
        raise ModelUnavailable(
            f"Expected stanza's models from {show(url)}, got {type(error).__name__}: {show(str(error))}. Try again "
            f"with a network, or copy the folder {show(str(folder))} from a machine that has them.",
            url=url, folder=str(folder),
        ) from error  # fmt: skip
    finally:
        logger.setLevel(level)
