"""One layer built: what it gives is checked, and its annotations get their ids.

It knows no layer. Invariants: whatever a layer raises or gives, what comes out is rows that it may give, or an error of
ours that names it; the same rows get the same ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memgraph_rag.contracts import Layer, Models, Progress, SplitDocument
from memgraph_rag.errors import LayerError, MemgraphRagError
from memgraph_rag.stores.layer_rows import misplaced_fields
from memgraph_rag.types import Annotation, LayerRows, annotation_id, is_storable

__all__ = ["build_layer"]

_MOST_ANNOTATIONS = 100_000  # of one layer in one document
_SHOWN_CHARACTERS = 80


def build_layer(
    layer: Layer,
    documents: Sequence[SplitDocument],
    *,
    namespace: str,
    models: Models,
    progress: Progress | None = None,
) -> list[LayerRows]:
    """The rows of each document, in order.

    Raises:
        LayerError: the layer raised something, or gave what is no row of its own.
    """
    try:
        built = layer.build(documents, namespace=namespace, models=models, progress=progress)
    except MemgraphRagError:
        raise
    except Exception as exc:
        raise LayerError(
            f"Expected rows of layer {layer.name!r}, got {type(exc).__name__}: {exc}. Mend the layer's build, or leave "
            "the layer out.",
            layer=layer.name,
        ) from exc
    if not isinstance(built, list) or len(built) != len(documents):
        kind = f"{len(built)}" if isinstance(built, list) else f"a {type(built).__name__}"
        raise _refused(layer, f"a list of {len(documents)} LayerRows, one for each document", kind)
    return [_completed(layer, *pair, namespace) for pair in zip(documents, built, strict=True)]


def _completed(layer: Layer, document: SplitDocument, rows: LayerRows, namespace: str) -> LayerRows:
    """The rows of one document, its annotations with their places and ids."""
    if not isinstance(rows, LayerRows):
        raise _refused(layer, "LayerRows for each document", f"a {type(rows).__name__}")
    if misplaced := misplaced_fields(layer.name, rows):
        raise _refused(layer, "rows of its own", f"{', '.join(misplaced)}, which are rows of another layer")
    if others := {point.layer for point in rows.points} - {layer.name}:
        raise _refused(layer, "points that name it as their layer", f"some of {', '.join(sorted(others))}")
    annotations = tuple(_checked(layer, document, rows.annotations))
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
            for index, annotation in enumerate(annotations)
        ),
    )


def _checked(layer: Layer, document: SplitDocument, annotations: Sequence[Annotation]) -> Iterator[Annotation]:
    if len(annotations) > _MOST_ANNOTATIONS:
        raise _refused(layer, f"at most {_MOST_ANNOTATIONS:,} annotations of a document", f"{len(annotations):,}")
    segment_ids = {segment.id for segment in document.segments}
    for annotation in annotations:
        if not isinstance(annotation, Annotation):
            raise _refused(layer, "annotations", f"a {type(annotation).__name__}")
        texts = (annotation.text, annotation.kind, *annotation.properties)
        values = tuple(annotation.properties.values())
        if not all(isinstance(text, str) and is_storable(text) for text in texts) or not annotation.text.strip():
            raise _refused(layer, "annotations with a text that can be stored and says something", repr(texts))
        if not all(isinstance(value, (str, bool, int)) or _is_finite(value) for value in values):
            raise _refused(layer, "properties that are str, bool, int or finite float", repr(values))
        if not segment_ids.issuperset(annotation.segment_ids):
            raise _refused(layer, "ids of segments that the layer was given", repr(annotation.segment_ids))
        yield annotation


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and value - value == 0


def _refused(layer: Layer, expected: str, value: str) -> LayerError:
    return LayerError(
        f"Expected {expected} from layer {layer.name!r}, got {value[:_SHOWN_CHARACTERS]}. Mend the layer's build.",
        layer=layer.name,
    )
