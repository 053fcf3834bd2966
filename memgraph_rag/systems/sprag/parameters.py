"""The parameters of the search mode "segments", which chooses runs of neighbouring segments from a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["RUN_PRESETS", "RunParameters", "RunPreset"]


@dataclass(frozen=True, slots=True)
class RunParameters:
    """The value of a segment, and the lengths of runs. The defaults are the preset "balanced".

    A ranked segment has the value ``exp(-rank / decay) * relevance - penalty``, with ranks from 0; every other segment
    has the value ``-penalty``. The value of a run is the sum over its segments.

    Attributes:
        max_length: most segments of one run.
        overall_max_length: most segments of all runs together, for one query.
        overall_max_length_extension: further segments of all runs together, for each further query.
        minimum_value: least value of a run.
        penalty: cost of each segment in a run. 0.05 gives runs of 20 to 50 chunks of 800 characters, 0.1 of 10 to 20,
            0.2 of 4 to 10, 0.3 of 2 to 6, 0.4 of 1 to 3.
        decay: a larger value makes the value of a segment fall more slowly with its rank.
        documents: the documents of this many first results are searched for runs.
        candidates: number of segments that are ranked.
        standard_length: characters of a usual segment. The value of a longer ranked segment is multiplied by its length
            / standard_length. None: the length does not count.

    Source: dsRAG 0.5.6, ``dsrag/rse.py`` (``RSE_PARAMS_PRESETS``, ``get_chunk_value``).
    """

    max_length: int = 15
    overall_max_length: int = 30
    minimum_value: float = 0.5
    penalty: float = 0.18
    decay: float = 30.0
    documents: int = 10
    candidates: int = 200
    standard_length: int | None = 700
    overall_max_length_extension: int = 5


RunPreset = Literal["balanced", "precision", "find_all"]
"""The names of the released presets."""

RUN_PRESETS: Mapping[RunPreset, RunParameters] = {
    "balanced": RunParameters(),
    "precision": RunParameters(minimum_value=0.7, penalty=0.2),
    "find_all": RunParameters(
        max_length=40,
        overall_max_length=200,
        minimum_value=0.4,
        decay=200.0,
        documents=200,
        overall_max_length_extension=0,
    ),
}
"""As released."""
