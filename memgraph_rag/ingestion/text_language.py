"""Tell once that documents are in languages that the embedder does not know.

The module knows one embedder of English by its name. Invariant: one line in the log for each process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import cache

from memgraph_rag.models.files.catalogue import MINILM
from memgraph_rag.models.files.packaged_e5 import INSTALL_MULTILINGUAL, is_e5_installed

log = logging.getLogger(__name__)


def tell_unknown_language(embedder: str, languages: Iterable[str]) -> None:
    """Log a warning if the embedder knows English only and a document is in another language.

    Args:
        embedder: the embedder's name.
        languages: the language of each document (ISO 639-1); empty if it is unknown.
    """
    if embedder == MINILM and any(language not in ("", "en") for language in languages):
        _tell()


@cache
def _tell() -> None:
    install = "" if is_e5_installed() else f"{INSTALL_MULTILINGUAL}, then "
    log.warning(
        "A document is not in English, and the embedder %s knows English only, so its meaning is searched badly. "
        "For other languages: %smemgraph-rag reembed --embedder multilingual-e5-small-q4", MINILM, install,
    )  # fmt: skip
