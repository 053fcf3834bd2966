"""Which layers a memory builds: by name or as objects, in the order in which they are built.

Invariants: each layer comes once, behind all that it requires; what cannot be built is refused before anything is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from memgraph_rag.contracts import Layer
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.facts.layer import FactsLayer
from memgraph_rag.layers.entities import EntitiesLayer
from memgraph_rag.layers.points import PointsLayer
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.plugins import find_parts
from memgraph_rag.settings import Settings

__all__ = ["CORE_LAYERS", "DEFAULT_LAYERS", "choose_layers", "known_layers", "layers_to_deepen", "relations_with_pool"]

CORE_LAYERS = ("entities", "facts", "points", "relations")
"""The layers that the core brings, in the order in which they are built, the cheap ones first."""

DEFAULT_LAYERS = ("entities",)
"""What ``add`` builds where nothing else is asked for: what needs no language model. No figure shows that answers of a
small model are better with points or relations (docs/decisions/points.md)."""

_DEEPENED = ("entities", "points")

_MOST_CHARACTERS = 64  # of a name
_MEMBERS = ("name", "needs_language", "needs_recognizer", "requires", "build")


def known_layers() -> tuple[str, ...]:
    """Return the names of all layers of documents: the core's, then those of the installed systems."""
    return (*CORE_LAYERS, *(name for name in find_parts("layers") if name not in CORE_LAYERS))


def layers_to_deepen(known: Iterable[Layer]) -> tuple[str, ...]:
    """The names of what ``deepen`` builds where nothing else is asked for; users' own among the known layers too."""
    return (*_DEEPENED, *(layer.name for layer in known if layer.name not in {*_DEEPENED, "relations"}))


def choose_layers(chosen: Iterable[str | Layer], settings: Settings, *, known: Iterable[Layer] = ()) -> list[Layer]:
    """These layers and all that they require, in the order in which they are built.

    Args:
        chosen: names of layers, or layers; a layer that is given is built in place of the one of its name that this
            library brings.
        known: further layers that may be named.

    Raises:
        SettingsError: there is no such layer, an object is none, two of them have one name, or some require each other.
    """
    if isinstance(chosen, (str, bytes)) or not isinstance(chosen, Iterable):
        raise SettingsError(
            f"Expected a list of layers, by name out of {', '.join(known_layers())} or as objects, got {show(chosen)}.",
            layers=chosen,
        )
    items = list(chosen)
    given = _by_name(item for item in items if not isinstance(item, str))
    available = {layer.name: layer for layer in known if layer.name not in CORE_LAYERS} | given
    layers: dict[str, Layer] = {}
    waiting = [item if isinstance(item, str) else item.name for item in items]
    while waiting:
        name = waiting.pop(0)
        if name not in layers:
            layers[name] = available[name] if name in available else _built_in(name, settings, available)
            waiting += layers[name].requires
    return _in_order(layers)


def _by_name(layers: Iterable[object]) -> dict[str, Layer]:
    given: dict[str, Layer] = {}
    for item in layers:
        layer = _checked(item)
        if given.setdefault(layer.name, layer) is not layer:
            raise SettingsError(f"Expected each layer once, got two of the name {show(layer.name)}.", layer=layer.name)
    return given


def _checked(item: object) -> Layer:
    """The object, if it is a layer."""
    missing = [member for member in _MEMBERS if not hasattr(item, member)]
    if missing or isinstance(item, type):
        lacks = f"without {', '.join(missing)}" if missing else "a class; give an object of it"
        raise SettingsError(
            f"Expected a layer by name out of {', '.join(known_layers())}, or an object with {', '.join(_MEMBERS)}, "
            f"got {show(item)} {lacks}. docs/extending.md has an example.",
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


def relations_with_pool(settings: Settings, questions: int) -> Layer:
    """Return the layer of relations that proposes so many questions on each batch.

    Raises:
        SettingsError: rouge-score is not installed.
    """
    return RelationsLayer(batch_tokens=settings.batch_tokens, pool_questions=questions)


def _built_in(name: str, settings: Settings, available: Mapping[str, Layer]) -> Layer:
    makers: dict[str, Callable[[], Layer]] = {
        "entities": EntitiesLayer,
        "facts": FactsLayer,
        "points": lambda: PointsLayer(batch_tokens=settings.batch_tokens),
        "relations": lambda: RelationsLayer(batch_tokens=settings.batch_tokens),
    }
    maker = makers.get(name) or find_parts("layers").get(name)
    if maker is None:
        known = dict.fromkeys((*known_layers(), *available))
        raise SettingsError(
            f"Expected layers out of {', '.join(known)}, got {show(name)}. Name one of them.", layers=name
        )
    return maker()


def _in_order(layers: Mapping[str, Layer]) -> list[Layer]:
    """The core's first, then the others as they were given; each behind what it requires, and what it uses."""
    waiting = [layers[name] for name in CORE_LAYERS if name in layers]
    waiting += [layer for name, layer in layers.items() if name not in CORE_LAYERS]
    ordered: list[Layer] = []
    while waiting:
        placed = {layer.name for layer in ordered}
        ready = next((layer for layer in waiting if placed.issuperset(_before(layer, layers))), None)
        if ready is None:
            names = ", ".join(layer.name for layer in waiting)
            raise SettingsError(f"Expected layers of which none requires itself, got a circle among {names}.")
        ordered.append(ready)
        waiting.remove(ready)
    return ordered


def _before(layer: Layer, layers: Mapping[str, Layer]) -> list[str]:
    """Return the names of the layers that are built before a layer: what it requires, and what it uses of these."""
    uses: Sequence[str] = getattr(layer, "uses", ())
    return [*layer.requires, *(name for name in uses if name in layers)]
