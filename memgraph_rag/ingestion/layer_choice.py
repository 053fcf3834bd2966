"""Chooses the layers to build, by name or as objects, and sorts them into the order of building.

Invariants: each layer comes once, after all layers that it requires. A layer that cannot be built is refused before any
layer is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from memgraph_rag.contracts import Layer
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.facts.layer import FactsLayer
from memgraph_rag.layers.entities import EntitiesLayer
from memgraph_rag.layers.points import PointsLayer
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.plugins import find_parts, make_part
from memgraph_rag.settings import Settings

CORE_LAYERS = ("entities", "facts", "points", "relations")
"""The layers of the core, in the order of building: cheap layers first."""

DEFAULT_LAYERS = ("entities",)
"""The layers that ``add`` builds by default. They need no language model. Points and relations were not shown to make
the answers of a small model better (docs/decisions/points.md); a large model on a GPU builds ``FULL_LAYERS``."""

FULL = "full"
"""The word for ``FULL_LAYERS``, alone or among the names of layers."""

FULL_LAYERS = ("entities", "points", "relations")
"""The layers of the whole graph: what the papers build of a document. The language model writes two of them."""

_DEEPENED = ("entities", "points")

_MOST_CHARACTERS = 64  # of a layer's name
_MEMBERS = ("name", "needs_language", "needs_recognizer", "requires", "build")


def list_known_layers() -> tuple[str, ...]:
    """Return the names of all layers of documents: first those of the core, then those of installed systems."""
    return (*CORE_LAYERS, *(name for name in find_parts("layers") if name not in CORE_LAYERS))


def layers_to_deepen(known: Iterable[Layer]) -> tuple[str, ...]:
    """Return the names of the layers that ``deepen`` builds by default: entities, points, and the other known layers.

    Known relations are left out.
    """
    return (*_DEEPENED, *(layer.name for layer in known if layer.name not in {*_DEEPENED, "relations"}))


def expand_full(layers: Iterable[Any]) -> list[Any]:
    """Return the names and objects with ``FULL_LAYERS`` in place of "full"."""
    return [name for layer in layers for name in (FULL_LAYERS if layer == FULL else (layer,))]


def choose_layers(chosen: Iterable[str | Layer], settings: Settings, *, known: Iterable[Layer] = ()) -> list[Layer]:
    """Return the chosen layers and all layers that they require, in the order of building.

    Args:
        chosen: names or objects, or "full". An object replaces the layer of this library with the same name.
        known: further layers that ``chosen`` may name.

    Raises:
        SettingsError: a layer does not exist, an object is not a layer, two layers have one name, or layers require
            each other.
    """
    if chosen == FULL:
        chosen = [FULL]
    if isinstance(chosen, (str, bytes)) or not isinstance(chosen, Iterable):
        raise SettingsError(
            f"Expected a list of layers, by name out of {', '.join(list_known_layers())} or as objects, or '{FULL}' "
            f"for {', '.join(FULL_LAYERS)}, got {show(chosen)}.",
            layers=chosen,
        )
    items = expand_full(chosen)
    given = _index_by_name(item for item in items if not isinstance(item, str))
    available = {layer.name: layer for layer in known if layer.name not in CORE_LAYERS} | given
    layers: dict[str, Layer] = {}
    waiting = [item if isinstance(item, str) else item.name for item in items]
    while waiting:
        name = waiting.pop(0)
        if name not in layers:
            layers[name] = available[name] if name in available else make_layer(name, settings, {}, others=available)
            waiting += layers[name].requires
    return _sort_for_building(layers)


def _index_by_name(layers: Iterable[object]) -> dict[str, Layer]:
    given: dict[str, Layer] = {}
    for item in layers:
        layer = _check_layer(item)
        if given.setdefault(layer.name, layer) is not layer:
            raise SettingsError(
                f"Expected each layer once, got two with the name {show(layer.name)}. Rename one.", layer=layer.name
            )
    return given


def _check_layer(item: object) -> Layer:
    """Return the object as a layer.

    Raises:
        SettingsError: it lacks a member of a layer, is a class, or has an invalid name.
    """
    missing = [member for member in _MEMBERS if not hasattr(item, member)]
    if missing or isinstance(item, type):
        lacks = f"without {', '.join(missing)}" if missing else "a class; pass an object of it"
        raise SettingsError(
            f"Expected a layer by name out of {', '.join(list_known_layers())}, or an object with {', '.join(_MEMBERS)}"
            f", got {show(item)} {lacks}. docs/extending.md has an example.",
            layer=item,
        )
    name: object = getattr(item, "name", None)
    if not (
        isinstance(name, str) and name.strip() == name and name.isprintable() and 1 <= len(name) <= _MOST_CHARACTERS
    ):
        raise SettingsError(
            f"Expected a layer's name of 1 to {_MOST_CHARACTERS} characters that can be printed, got {show(name)}.",
            layer=item,
        )
    return item  # pyright: ignore[reportReturnType] - it has all that a layer must have


def make_layer(name: str, settings: Settings, arguments: Mapping[str, Any], *, others: Iterable[str] = ()) -> Layer:
    """Return a layer of documents by its name, built with these arguments.

    Args:
        others: further names, for the message of an error.

    Raises:
        SettingsError: no layer has that name, or it does not take these arguments.
    """
    makers: dict[str, Callable[..., Layer]] = {
        "entities": EntitiesLayer,
        "facts": FactsLayer,
        "points": partial(PointsLayer, batch_tokens=settings.batch_tokens),
        "relations": partial(RelationsLayer, batch_tokens=settings.batch_tokens),
    }
    maker = makers.get(name) or find_parts("layers").get(name)
    if maker is None:
        known = dict.fromkeys((*list_known_layers(), *others))
        raise SettingsError(
            f"Expected layers out of {', '.join(known)}, or '{FULL}' for {', '.join(FULL_LAYERS)}, got {show(name)}. "
            "Name one of them.",
            layers=name,
        )
    return make_part(name, maker, arguments)


def _sort_for_building(layers: Mapping[str, Layer]) -> list[Layer]:
    """Return the layers of the core, then the others in the given order; each after the layers it requires or uses."""
    waiting = [layers[name] for name in CORE_LAYERS if name in layers]
    waiting += [layer for name, layer in layers.items() if name not in CORE_LAYERS]
    ordered: list[Layer] = []
    while waiting:
        placed = {layer.name for layer in ordered}
        ready = next((layer for layer in waiting if placed.issuperset(_list_earlier(layer, layers))), None)
        if ready is None:
            names = ", ".join(layer.name for layer in waiting)
            raise SettingsError(
                f"Expected layers without circular requirements, got a circle among {names}. Remove one requirement."
            )
        ordered.append(ready)
        waiting.remove(ready)
    return ordered


def _list_earlier(layer: Layer, layers: Mapping[str, Layer]) -> list[str]:
    """Return the names of the layers that are built before a layer: those it requires, and those of these it uses."""
    uses: Sequence[str] = getattr(layer, "uses", ())
    return [*layer.requires, *(name for name in uses if name in layers)]
