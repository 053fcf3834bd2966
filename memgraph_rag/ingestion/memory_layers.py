"""Builds layers of the memory, whose rows depend on several documents: part by part, each in one transaction.

It knows neither the algorithms of layers nor a database. Invariants: stored rows match the documents at the time of
writing. After an interruption the stored parts stay, and the next call continues. A layer is built again while other
processes write during the build; if they still do after the last pass, the receipt says so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeGuard

from memgraph_rag.contracts import GraphStore, Layer, MemoryLayer, Models, Progress
from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagError, SettingsError
from memgraph_rag.ingestion.all_overviews import all_overviews
from memgraph_rag.ingestion.layer_building import layer_errors, make_layer_error, require_rows
from memgraph_rag.ingestion.layer_choice import CORE_LAYERS
from memgraph_rag.layers.library.library import LibraryLayer
from memgraph_rag.plugins import find_parts, make_part
from memgraph_rag.types import Action, Failure, Overview, OverviewRows, Receipt, Summarizes, Usage

_CORE: dict[str, Callable[[], MemoryLayer]] = {"library": LibraryLayer}

LEFT_OUT = "overviews left out, because a document changed meanwhile"
"""A note of a receipt: the number of overviews that the next ``deepen`` builds."""

NOT_ALONE = "others wrote all the while: deepen again"
"""A note of a receipt: overviews may be missing."""

_MOST_PASSES = 4  # each pass builds from the documents that others wrote during the previous pass

_END: Any = object()

_KINDS: Mapping[str, type] = {"overviews": Overview, "summarizes": Summarizes, "removed": str}

_MEMBERS = ("name", "needs_language", "requires", "build")


def list_known_memory_layers() -> dict[str, Callable[[], MemoryLayer]]:
    """Return the functions that make the layers of the memory, by name: first the core's, then those of systems."""
    return _CORE | {name: maker for name, maker in find_parts("memory_layers").items() if name not in _CORE}


def make_memory_layer(name: str, arguments: Mapping[str, Any]) -> MemoryLayer:
    """Return a layer of the memory by its name (``list_known_memory_layers``), built with these arguments.

    Raises:
        SettingsError: the layer does not take these arguments.
    """
    return make_part(name, list_known_memory_layers()[name], arguments)


def split_layers(
    layers: Iterable[str | Layer | MemoryLayer],
) -> tuple[list[str | Layer], list[str | MemoryLayer]]:
    """Split layers into those of documents and those of the memory. Unknown and invalid layers go to the first."""
    if isinstance(layers, (str, bytes)) or not isinstance(layers, Iterable):
        return layers, []  # pyright: ignore[reportReturnType]
    of_documents: list[str | Layer] = []
    of_memory: list[str | MemoryLayer] = []
    for layer in layers:
        if _is_of_memory(layer):
            of_memory.append(layer)
        else:
            of_documents.append(layer)  # pyright: ignore[reportArgumentType] - invalid layers are refused there
    return of_documents, of_memory


def _is_of_memory(layer: object) -> TypeGuard[str | MemoryLayer]:
    if not isinstance(layer, str):
        return getattr(layer, "spans_documents", False) is True
    return layer in _CORE or (layer not in CORE_LAYERS and layer in find_parts("memory_layers"))


def choose_memory_layers(chosen: Iterable[str | MemoryLayer]) -> list[MemoryLayer]:
    """Return the chosen layers, each once: known layers in the order of building, then the others as given.

    Each name must be known (``split_layers`` sorts out the others).

    Raises:
        SettingsError: an object lacks a member of a layer, or two layers have one name.
    """
    items = list(chosen)
    known = list_known_memory_layers() if items else {}  # a memory without such layers loads no system
    layers: dict[str, MemoryLayer] = {}
    for item in items:
        layer = known[item]() if isinstance(item, str) else item
        missing = [member for member in _MEMBERS if not hasattr(layer, member)]
        if missing or not isinstance(layer.name, str) or not layer.name.strip():
            raise SettingsError(
                f"Expected a layer of the memory out of {', '.join(known)}, or an object with "
                f"{', '.join(_MEMBERS)}, got {show(item)}. docs/extending.md has an example.",
                layer=item,
            )
        if layers.setdefault(layer.name, layer) is not layer and not isinstance(item, str):
            raise SettingsError(
                f"Expected each layer once, got two with the name {show(layer.name)}. Rename one.", layer=layer.name
            )
    order = {name: place for place, name in enumerate(known)}
    return sorted(layers.values(), key=lambda layer: order.get(layer.name, len(order)))


def build_memory_layers(
    store: GraphStore, layers: Sequence[MemoryLayer], *, models: Models, progress: Progress | None = None
) -> Iterator[Receipt | Failure]:
    """Build the missing rows of layers, one layer after another, and yield an outcome with the name of each layer.

    A layer that fails has a ``Failure``, and the next layer is built. Parts that it wrote before stay.
    """
    for layer in layers:
        try:
            yield _build(store, layer, models=models, progress=progress)
        except MemgraphRagError as error:
            yield Failure(layer.name, error)


def _build(store: GraphStore, layer: MemoryLayer, *, models: Models, progress: Progress | None) -> Receipt:
    written, removed, usage = 0, 0, Usage()
    notes: Counter[str] = Counter()
    for left in reversed(range(_MOST_PASSES)):
        version = as_of = store.version()  # read before all data
        left_out = 0
        for rows in _parts(layer, store, models=models, progress=progress):
            usage += rows.usage
            notes.update(rows.notes)
            if rows.overviews or rows.removed:
                stored = store.write_overviews(rows, as_of=as_of)
                version += 1
                written += len(stored)
                removed += len(rows.removed)
                left_out += len(rows.overviews) - len(stored)
        is_alone = store.version() == version
        if is_alone or not left:
            notes.update({LEFT_OUT: left_out, NOT_ALONE: not is_alone})
            break
    models.settle()
    action = Action.DEEPENED if written or removed else Action.UNCHANGED
    return Receipt("", layer.name, action, {"Overview": written} if written else {}, notes=dict(+notes), usage=usage)


def _parts(
    layer: MemoryLayer, store: GraphStore, *, models: Models, progress: Progress | None
) -> Iterator[OverviewRows]:
    """Yield the parts that a layer builds, after checking them.

    Raises:
        LayerError: the layer raised a foreign error, or returned something else than overviews of its own.
    """
    parts: Iterator[OverviewRows] | None = None
    while True:
        with layer_errors(layer.name, "overviews"):
            if parts is None:
                parts = iter(layer.build(store, models=models, progress=progress))
            rows = next(parts, _END)
        if rows is _END:
            return
        if not isinstance(rows, OverviewRows):
            raise make_layer_error(layer.name, "OverviewRows", f"a {type(rows).__name__}")
        require_rows(layer.name, rows, _KINDS)
        if others := {overview.layer for overview in rows.overviews} - {layer.name}:
            raise make_layer_error(layer.name, "overviews of its own", f"some of {', '.join(map(repr, others))}")
        yield rows


def remove_overviews(store: GraphStore, overviews: Sequence[Overview]) -> Iterator[Receipt]:
    """Remove overviews (at least one) of one layer in one transaction, and yield one receipt with the layer's name."""
    store.write_overviews(OverviewRows(removed=tuple(overview.id for overview in overviews)), as_of=0)
    yield Receipt("", overviews[0].layer, Action.DEEPENED, {})


def list_built_memory_layers(store: GraphStore) -> list[str]:
    """Return the sorted names of the layers of the memory that have overviews."""
    return sorted({overview.layer for overview in chain.from_iterable(all_overviews(store))})


def count_uncovered_documents(store: GraphStore) -> dict[str, int]:
    """Return, for each layer of the memory with overviews, by name, the number of documents that no overview covers."""
    covered: defaultdict[str, set[str]] = defaultdict(set)
    for overview in chain.from_iterable(all_overviews(store)):
        covered[overview.layer].update(overview.documents)
    ids = set(store.document_ids()) if covered else set[str]()
    return {layer: len(ids - covered[layer]) for layer in sorted(covered)}
