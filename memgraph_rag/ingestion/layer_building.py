"""Builds one layer: calls it, checks its rows, and gives ids to its annotations.

It knows no layer. Invariants: the result is valid rows, or an error of ``memgraph_rag.errors`` that names the layer,
whatever the layer returns or raises. The same rows get the same ids.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import replace

from memgraph_rag.contracts import Layer, LearningLayer, Models, Progress, SplitDocument
from memgraph_rag.display import show
from memgraph_rag.errors import LayerError, convert_errors
from memgraph_rag.models.wrappers.checked_models import is_usage
from memgraph_rag.stores.layer_rows import list_misplaced_fields
from memgraph_rag.types import (
    Annotation,
    InformationPoint,
    LayerRows,
    Mention,
    OverviewRows,
    Relation,
    Section,
    Summarizes,
    Title,
    annotation_id,
    is_storable,
)

_KINDS: Mapping[str, type] = {
    "points": InformationPoint,
    "summarizes": Summarizes,
    "mentions": Mention,
    "titles": Title,
    "relations": Relation,
    "annotations": Annotation,
    "sections": Section,
}

_MOST_ANNOTATIONS = 100_000  # of one layer for one document


def build_layer(
    layer: Layer,
    documents: Sequence[SplitDocument],
    *,
    namespace: str,
    models: Models,
    progress: Progress | None = None,
) -> list[LayerRows]:
    """Build a layer, and return its rows for each document, in order.

    A ``MemgraphRagError`` of the layer is raised unchanged.

    Raises:
        LayerError: the layer raised another error, or returned something else than rows of its own.
    """
    rows = _rows(
        layer, documents, lambda: layer.build(documents, namespace=namespace, models=models, progress=progress)
    )
    return [_complete_rows(layer, *pair, namespace) for pair in zip(documents, rows, strict=True)]


def extract_rows(
    layer: LearningLayer, question: str, documents: Sequence[SplitDocument], *, namespace: str, models: Models
) -> list[LayerRows]:
    """Return the rows that a layer extracts for a question from the segments of each document, in order.

    A ``MemgraphRagError`` of the layer is raised unchanged.

    Raises:
        LayerError: the layer raised another error, or returned something else than rows.
    """
    return _rows(layer, documents, lambda: layer.extract(question, documents, namespace=namespace, models=models))


def layer_errors(layer: str, rows: str) -> AbstractContextManager[None]:
    """Convert errors of the block into a ``LayerError`` that names the layer.

    Args:
        rows: the name of the expected result, for the message.

    Raises:
        LayerError: the block raised an error that is not a ``MemgraphRagError``.
    """
    return convert_errors(
        lambda exc: LayerError(
            f"Expected {rows} of layer {show(layer)}, got {type(exc).__name__}: {show(exc)}. Correct the layer, or "
            "leave it out.",
            layer=layer,
        )
    )


def _rows(layer: Layer, documents: Sequence[SplitDocument], make: Callable[[], object]) -> list[LayerRows]:
    """Call ``make``, check that it returns rows for each document, and return them."""
    with layer_errors(layer.name, "rows"):
        made = make()
    if not isinstance(made, list) or len(made) != len(documents):
        kind = f"{len(made)}" if isinstance(made, list) else f"a {type(made).__name__}"
        raise make_layer_error(layer.name, f"a list of {len(documents)} LayerRows, one for each document", kind)
    for rows in made:
        if not isinstance(rows, LayerRows):
            raise make_layer_error(layer.name, "LayerRows for each document", f"a {type(rows).__name__}")
        require_rows(layer.name, rows, _KINDS)
    return made


def _complete_rows(layer: Layer, document: SplitDocument, rows: LayerRows, namespace: str) -> LayerRows:
    """Return the rows of one document, with the index, document and id of each annotation.

    Raises:
        LayerError: a row belongs to another layer or refers to an unknown segment, or there are too many annotations.
    """
    if misplaced := list_misplaced_fields(layer.name, rows):
        raise make_layer_error(
            layer.name, "rows of its own", f"{', '.join(misplaced)}, which are rows of another layer"
        )
    if others := {point.layer for point in rows.points} - {layer.name}:
        raise make_layer_error(layer.name, "points that name it as their layer", f"some of {', '.join(sorted(others))}")
    if len(rows.annotations) > _MOST_ANNOTATIONS:
        raise make_layer_error(
            layer.name, f"at most {_MOST_ANNOTATIONS:,} annotations of a document", f"{len(rows.annotations):,}"
        )
    segment_ids = {segment.id for segment in document.segments}
    for annotation in rows.annotations:
        _check(layer, annotation, segment_ids)
    return replace(
        rows,
        annotations=tuple(
            replace(
                annotation,
                id=annotation_id(namespace, document.id, layer.name, index),
                document_id=document.id,
                layer=layer.name,
                index=index,
            )
            for index, annotation in enumerate(rows.annotations)
        ),
    )


def require_rows(layer: str, rows: LayerRows | OverviewRows, kinds: Mapping[str, type]) -> None:
    """Check that the fields of rows have the declared types.

    Args:
        kinds: the expected class of the items of each field.

    Raises:
        LayerError: a field holds other items, the notes are not counts, or the usage is not a ``Usage``.
    """
    for name, kind in kinds.items():
        items = getattr(rows, name)
        if not isinstance(items, (tuple, list)) or not all(
            isinstance(item, kind) and (not isinstance(item, str) or is_storable(item)) for item in items
        ):
            raise make_layer_error(layer, f"{name} as a tuple of {kind.__name__}", show(items))
    notes = rows.notes
    if not isinstance(notes, Mapping) or not all(isinstance(count, int) for count in notes.values()):
        raise make_layer_error(layer, "notes with a count each", show(notes))
    if not is_usage(rows.usage):
        raise make_layer_error(layer, "a Usage in numbers", show(rows.usage))


def _check(layer: Layer, annotation: Annotation, segment_ids: Set[str]) -> None:
    """Check the text, the properties and the segment ids of an annotation, and raise ``LayerError`` for a wrong one."""
    properties, named_ids = annotation.properties, annotation.segment_ids
    if not isinstance(properties, Mapping) or not isinstance(named_ids, (tuple, list)):
        raise make_layer_error(layer.name, "annotations with properties and a tuple of segment_ids", show(annotation))
    texts = (annotation.text, annotation.kind, *properties)
    if not all(isinstance(text, str) and is_storable(text) for text in texts) or not annotation.text.strip():
        raise make_layer_error(layer.name, "annotations with a text that can be stored and is not empty", show(texts))
    if not all(map(_is_property, properties.values())):
        raise make_layer_error(
            layer.name, "properties that are storable str, bool, int or finite float", show(properties.values())
        )
    if not all(isinstance(name, str) for name in named_ids) or not segment_ids >= set(named_ids):
        raise make_layer_error(layer.name, "ids of segments that the layer was given", show(named_ids))
    if len(set(named_ids)) < len(named_ids):
        raise make_layer_error(layer.name, "each segment of an annotation once", show(named_ids))


def _is_property(value: object) -> bool:
    if isinstance(value, str):
        return is_storable(value)
    return isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))


def make_layer_error(layer: str, expected: str, value: str) -> LayerError:
    """Return the error for a layer that returned ``value`` in place of what is ``expected``; the caller raises it."""
    return LayerError(
        f"Expected {expected} from layer {show(layer)}, got {value}. Correct the layer's build.",
        layer=layer,
    )
