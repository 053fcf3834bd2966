"""Functions that make ids: a hash of (namespace, kind, natural key).

Invariant: equal content gets the same id in every store and on every run, so that repeating a write changes nothing.
"""

from __future__ import annotations

import hashlib
import json


def make_id(namespace: str, kind: str, *natural_key: str | int) -> str:
    """Return the id of one node or edge: 32 hex digits of SHA-256 over namespace, kind and natural key.

    The parts are encoded as JSON, so that ("a", "bc") and ("ab", "c") have different ids.

    >>> make_id("default", "document", "alice.txt")
    '1de8bdf62315c7a8ab0c61ad808a4f58'
    """
    framed = json.dumps([namespace, kind, *natural_key], ensure_ascii=False)
    return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def entity_id(namespace: str, normal: str) -> str:
    """Return the id of the entity with this normalised name."""
    return make_id(namespace, "entity", normal)


def relation_id(namespace: str, segment_id: str, source_id: str, target_id: str, description: str) -> str:
    """Return the id of the relation with this description that a segment states about two entities."""
    return make_id(namespace, "relation", segment_id, source_id, target_id, description)


def point_id(namespace: str, document_id: str, level: int, index: int, *, layer: str) -> str:
    """Return the id of the information point at this level and index of a layer of a document."""
    return make_id(namespace, "point" if layer == "points" else layer, document_id, level, index)


def annotation_id(namespace: str, document_id: str, layer: str, index: int) -> str:
    """Return the id of the annotation at this index of a layer of a document."""
    return make_id(namespace, "annotation", document_id, layer, index)


def section_id(namespace: str, document_id: str, index: int) -> str:
    """Return the id of the section at this index of a document's outline."""
    return make_id(namespace, "section", document_id, index)


def overview_id(namespace: str, layer: str, key: str) -> str:
    """Return the id of the overview that a layer made from the content with the hash ``key``."""
    return make_id(namespace, "overview", layer, key)


def question_id(namespace: str, text: str) -> str:
    """Return the id of the kept question with this text."""
    return make_id(namespace, "question", text)


def text_hash(text: str) -> str:
    """Return the SHA-256 of a document's text, without surrounding white space, title and key.

    >>> text_hash("Rain fell.") == text_hash("Rain fell. ")
    True
    """
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()
