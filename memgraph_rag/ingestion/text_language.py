"""Tell once that documents are in languages that the embedder does not know.

The module knows one embedder of English by its name. Invariant: one line in the log for each process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import cache

from memgraph_rag.lexical.scripts import kind_of_text
from memgraph_rag.models.files.catalogue import MINILM
from memgraph_rag.models.files.packaged_e5 import INSTALL_MULTILINGUAL, is_e5_installed
from memgraph_rag.types.cosines import ENGLISH

__all__ = ["tell_unknown_language"]

log = logging.getLogger(__name__)


def tell_unknown_language(embedder: str, texts: Iterable[str]) -> None:
    """Log a warning if the embedder knows English only and a text is in another language.

    Args:
        embedder: the embedder's name.
        texts: the first part of each document.
    """
    if embedder == MINILM and any(kind_of_text(text) != ENGLISH for text in texts):
        _tell()


@cache
def _tell() -> None:
    install = "" if is_e5_installed() else f"{INSTALL_MULTILINGUAL}, then "
    log.warning(
        "A document is not in English, and the embedder %s knows English only, so its meaning is searched badly. "
        "For other languages: %smemgraph-rag reembed --embedder multilingual-e5-small-q4", MINILM, install,
    )  # fmt: skip
