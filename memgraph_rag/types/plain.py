"""The plain form of records: values that JSON can hold, the same for every interface.

The module knows no record class; it walks over dataclass fields. Invariant: a key is the name of an attribute, or
what the record's own ``as_dict`` adds; a value is a str, int, float, bool, None, list or dict; a time is ISO 8601.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import date
from enum import Enum
from typing import Any, cast

import numpy as np


class Plain:
    """A record whose plain form is its fields. Its subclasses are dataclasses."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON."""
        return plain_fields(self)


def plain_fields(record: Any, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass by name, in their order, as plain values.

    >>> from memgraph_rag.types import Turn
    >>> plain_fields(Turn(0, 12, "Ann"), without=("time",))
    {'start': 0, 'end': 12, 'speaker': 'Ann'}
    """
    return {
        field.name: plain_value(getattr(record, field.name)) for field in fields(record) if field.name not in without
    }


def plain_value(value: object) -> Any:
    """Return a value as JSON can hold it; a record by its ``as_dict``, or by its fields if it has none.

    An enum becomes its value, a date ISO 8601, a tuple a list, a key a str.

    Raises:
        TypeError: the value is none of these, such as a set or an array.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.generic):
        return cast("object", value.item())
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): plain_value(inner) for name, inner in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(inner) for inner in cast("Iterable[object]", value)]
    as_dict: Callable[[], dict[str, Any]] | None = getattr(value, "as_dict", None)
    return as_dict() if as_dict is not None else plain_fields(value)
