"""The command line with models that need no weights: python serve_with_fakes.py serve …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memories import options

from memgraph_rag import Memory
from memgraph_rag.cli import serve
from memgraph_rag.cli.options import Place


class Openings:
    """In place of those that load models."""

    def __init__(self, place: Place, layers: Sequence[str], **_: Any) -> None:
        self._place = place

    def __call__(self, namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        more = options(layers=("entities",), read_only=self._place.read_only)
        return Memory(self._place.store, namespace=namespace, progress=progress, **more)


def run() -> None:
    from memgraph_rag.cli import main

    serve._Openings = Openings
    main()


if __name__ == "__main__":  # pytest imports this module too, to look for examples
    run()
