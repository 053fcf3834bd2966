"""The command line with models that need no weights, in its workers too: python serve_with_fakes.py serve …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memories import options

from memgraph_rag import Memory
from memgraph_rag.cli import agents
from memgraph_rag.cli.options import Place
from memgraph_rag.models.shared_model import ModelAddress, ModelProcess, SharedModel
from memgraph_rag.testing import FakeLanguageModel


class Openings:
    """In place of those that load models; a worker imports this module before it makes its application."""

    def __init__(self, place: Place, layers: Sequence[str], *, model: ModelAddress | None = None, **_: Any) -> None:
        self._place = place
        self._models = {} if model is None else {"model": SharedModel(model)}

    def __call__(self, namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        given = options(layers=("entities",)) | self._models
        return Memory(self._place.store, namespace=namespace, progress=progress, **given)


if __name__ in ("__main__", "__mp_main__"):  # a worker's name; pytest imports this module too, to look for examples
    agents._Openings = Openings
    agents._model_process = lambda _, folder: ModelProcess(FakeLanguageModel, folder)

if __name__ == "__main__":
    from memgraph_rag.cli import main

    main()
