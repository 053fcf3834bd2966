"""The scale on which an embedder's cosines are read, so that a threshold means the same for every embedder.

The library's thresholds were chosen on cosines of MiniLM between English texts: unrelated texts have 0.03 in the mean,
few have more than 0.25. Another embedder, or another language, has other cosines for the same relation. Invariants: a
scale is increasing, and 1 stays 1; a scale without knots changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

UNRELATED, UNRELATED_BELOW, RELATED = 0.03, 0.25, 0.56
"""Of MiniLM in English: the mean of unrelated texts, the cosine that few of them reach, the mean of questions to the
paragraphs that answer them."""

ENGLISH, OTHER = "english", "other"
"""Kinds of text; the further ones are scripts (``lexical.language``)."""

Knots = tuple[tuple[float, float], ...]
"""Pairs of (cosine, reading), ascending."""

_TOLD_APART = 3  # knots of a kind whose related texts stand out: means of both, and the highest unrelated ones between

_Cosine = TypeVar("_Cosine", float, NDArray[np.float64])


@dataclass(frozen=True, slots=True)
class CosineScale:
    """A map from an embedder's cosines to readings: MiniLM's cosines between English texts that are as related.

    Attributes:
        knots: by kind of text, pairs of (cosine, reading), ascending; between them the reading is linear. ``OTHER``
            serves each kind that is not among them.
        names: the same for names and other texts of few words.
    """

    knots: Mapping[str, Knots] = field(default_factory=dict[str, Knots])
    names: Knots = ()

    def read(self, cosine: _Cosine, kind: str = ENGLISH) -> _Cosine:
        """Return the reading (see the class) of a cosine, or of an array of cosines, between texts of a kind.

        >>> CosineScale({"english": ((0.75, 0.03), (0.8, 0.25))}).read(0.8)
        0.25
        """
        return _interpolate(cosine, self._knots(kind))

    def read_names(self, cosine: _Cosine) -> _Cosine:
        """Return the reading of a cosine between two names."""
        return _interpolate(cosine, self.names)

    def raw_names(self, reading: float) -> float:
        """Return the cosine between two names that has this reading."""
        return _interpolate(reading, tuple((plain, raw) for raw, plain in self.names))

    def rate_kind(self, kind: str) -> float:
        """Return how well the embedder tells related texts of a kind from unrelated ones, from 0 to 1.

        1 is as well as MiniLM tells them in English, 0 is not at all. It is the share of the
        range from unrelated to related texts that few unrelated texts reach, divided by that share for MiniLM.

        >>> CosineScale().rate_kind("english"), CosineScale({"cjk": ((0.48, 0.03), (0.67, 0.25))}).rate_kind("cjk")
        (1.0, 0.0)
        """
        knots = self._knots(kind)
        if not knots:
            return 1.0
        if len(knots) < _TOLD_APART:
            return 0.0
        unrelated, few, related = (cosine for cosine, _ in knots[:_TOLD_APART])
        part = (related - few) / (related - unrelated)
        return min(1.0, part * (RELATED - UNRELATED) / (RELATED - UNRELATED_BELOW))

    @property
    def contrast(self) -> float:
        """The length of the embedder's vectors after their mean is subtracted, relative to MiniLM's; 1 without knots.

        Vectors with a large mean cosine have a large common part, so little is left of them without it.
        """
        knots = self.knots.get(ENGLISH, ())
        return float(np.sqrt((1 - UNRELATED) / (1 - knots[0][0]))) if knots else 1.0

    def _knots(self, kind: str) -> Knots:
        return self.knots.get(kind, self.knots.get(OTHER, ()) if kind != ENGLISH else ())


def _interpolate(value: _Cosine, knots: Knots) -> _Cosine:
    if not knots:
        return value
    given, results = zip((-1.0, -1.0), *knots, (1.0, 1.0), strict=True)
    read = np.interp(value, given, results)
    return cast("_Cosine", read if isinstance(value, np.ndarray) else float(read))
