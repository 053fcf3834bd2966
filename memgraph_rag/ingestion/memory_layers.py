"""Layers of the memory: rows that rest on several documents, built part by part, each part in one transaction.

It knows no layer's work and no database. Invariants: what is stored is true of its documents as they are then; a call
that is interrupted leaves what was stored, and the next one goes on from there; a layer is built until nobody wrote
meanwhile, or its receipt says so, so that of processes that build at once the last one leaves it whole.
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
from memgraph_rag.ingestion.layer_building import layer_errors, refused, require_rows
from memgraph_rag.ingestion.layer_choice import CORE_LAYERS
from memgraph_rag.layers.library.library import LibraryLayer
from memgraph_rag.plugins import find_parts
from memgraph_rag.types import Action, Failure, Overview, OverviewRows, Receipt, Summarizes, Usage

__all__ = [
    "build_memory_layers",
    "choose_memory_layers",
    "documents_without",
    "known_memory_layers",
    "layers_there",
    "remove_overviews",
    "split_layers",
]

_CORE: dict[str, Callable[[], MemoryLayer]] = {"library": LibraryLayer}

LEFT_OUT = "overviews left out, because a document changed meanwhile"
"""Note of a receipt: ``deepen`` again builds these."""

NOT_ALONE = "others wrote all the while: deepen again"
"""Note of a receipt: whether something lacks is not known."""

_MOST_PASSES = 4  # each of which looks again at what others wrote during the one before it

_END: Any = object()

_KINDS: Mapping[str, type] = {"overviews": Overview, "summarizes": Summarizes, "removed": str}

_MEMBERS = ("name", "needs_language", "requires", "build")


def known_memory_layers() -> dict[str, Callable[[], MemoryLayer]]:
    """Return the layers of the memory by name, a maker each, in the order in which they are built."""
    return _CORE | {name: maker for name, maker in find_parts("memory_layers").items() if name not in _CORE}


def split_layers(
    layers: Iterable[str | Layer | MemoryLayer],
) -> tuple[list[str | Layer], list[str | MemoryLayer]]:
    """The layers of documents, and the layers of the memory; what is no collection of layers is refused elsewhere."""
    if isinstance(layers, (str, bytes)) or not isinstance(layers, Iterable):
        return layers, []  # pyright: ignore[reportReturnType]
    of_documents: list[str | Layer] = []
    of_memory: list[str | MemoryLayer] = []
    for layer in layers:
        if _is_of_memory(layer):
            of_memory.append(layer)
        else:
            of_documents.append(layer)  # pyright: ignore[reportArgumentType] - what is no layer is refused there
    return of_documents, of_memory


def _is_of_memory(layer: object) -> TypeGuard[str | MemoryLayer]:
    if not isinstance(layer, str):
        return getattr(layer, "spans_documents", False) is True
    return layer in _CORE or (layer not in CORE_LAYERS and layer in find_parts("memory_layers"))


def choose_memory_layers(chosen: Iterable[str | MemoryLayer]) -> list[MemoryLayer]:
    """These layers, each once, those of this library in the order in which they are built.

    Raises:
        SettingsError: an object lacks something that a layer has, or two have one name.
    """
    items = list(chosen)
    known = known_memory_layers() if items else {}  # a memory without such layers loads no system
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
            raise SettingsError(f"Expected each layer once, got two of the name {show(layer.name)}.", layer=layer.name)
    order = {name: place for place, name in enumerate(known)}
    return sorted(layers.values(), key=lambda layer: order.get(layer.name, len(order)))


def build_memory_layers(
    store: GraphStore, layers: Sequence[MemoryLayer], *, models: Models, progress: Progress | None = None
) -> Iterator[Receipt | Failure]:
    """Build what these layers lack, one after another; what became of each, under its name."""
    for layer in layers:
        try:
            yield _build(store, layer, models=models, progress=progress)
        except MemgraphRagError as error:
            yield Failure(layer.name, error)


def _build(store: GraphStore, layer: MemoryLayer, *, models: Models, progress: Progress | None) -> Receipt:
    written, removed, usage = 0, 0, Usage()
    notes: Counter[str] = Counter()
    for left in reversed(range(_MOST_PASSES)):
        version = as_of = store.version()  # before anything is read
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
    """What a layer gives, and nothing that is not its own.

    Raises:
        LayerError: it raised something that is no error of ours, or gave rows that are none, or of another layer.
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
            raise refused(layer.name, "OverviewRows", f"a {type(rows).__name__}")
        require_rows(layer.name, rows, _KINDS)
        if others := {overview.layer for overview in rows.overviews} - {layer.name}:
            raise refused(layer.name, "overviews of its own", f"some of {', '.join(map(repr, others))}")
        yield rows


def remove_overviews(store: GraphStore, overviews: Sequence[Overview]) -> Iterator[Receipt]:
    """Take these overviews, all of one layer, away in one transaction."""
    store.write_overviews(OverviewRows(removed=tuple(overview.id for overview in overviews)), as_of=0)
    yield Receipt("", overviews[0].layer, Action.DEEPENED, {})


def layers_there(store: GraphStore) -> list[str]:
    """The names of the layers of the memory of which there are overviews, sorted."""
    return sorted({overview.layer for overview in chain.from_iterable(all_overviews(store))})


def documents_without(store: GraphStore) -> dict[str, int]:
    """Of each layer of the memory that is there, how many documents no overview of it rests on; by name."""
    covered: defaultdict[str, set[str]] = defaultdict(set)
    for overview in chain.from_iterable(all_overviews(store)):
        covered[overview.layer].update(overview.documents)
    ids = set(store.document_ids()) if covered else set[str]()
    return {layer: len(ids - covered[layer]) for layer in sorted(covered)}
