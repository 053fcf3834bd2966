"""Which layers a memory builds: by name, in the order in which they are built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memgraph_rag.contracts import Layer
from memgraph_rag.errors import SettingsError
from memgraph_rag.layers.entities import EntitiesLayer
from memgraph_rag.layers.points import PointsLayer
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.settings import Settings

__all__ = ["DEFAULT_LAYERS", "LAYERS", "choose_layers"]

LAYERS = ("entities", "points", "relations")
"""The layers that exist, in the order in which they are built, the cheap ones first."""

DEFAULT_LAYERS = ("entities", "points")
"""What is built where nothing else is asked for: relations cost the model as much again (docs/decisions)."""


def choose_layers(names: Sequence[str], settings: Settings) -> list[Layer]:
    """The layers of these names, in the order in which they are built; relations bring the entities that they join.

    Raises:
        SettingsError: there is no such layer.
    """
    makers: dict[str, Callable[[], Layer]] = {
        "entities": EntitiesLayer,
        "points": lambda: PointsLayer(batch_tokens=settings.batch_tokens),
        "relations": lambda: RelationsLayer(batch_tokens=settings.batch_tokens, pool_questions=settings.pool_questions),
    }
    if isinstance(names, str) or not isinstance(names, Iterable) or not all(name in LAYERS for name in names):
        raise SettingsError(f"Expected layers out of {', '.join(LAYERS)}, got {names!r}.", layers=names)
    wanted = {*names, *(["entities"] if "relations" in names else [])}
    return [makers[name]() for name in LAYERS if name in wanted]
