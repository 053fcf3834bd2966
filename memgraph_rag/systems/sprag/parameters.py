"""The parameters of the search mode "segments", which chooses runs of neighbouring segments from a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal, cast, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError

Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]


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

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    max_length: Count = 15
    overall_max_length: Count = 30
    minimum_value: Annotated[float, Field(strict=True, allow_inf_nan=False)] = 0.5
    penalty: Positive = 0.18
    decay: Positive = 30.0
    documents: Count = 10
    candidates: Count = 200
    standard_length: Count | None = 700
    overall_max_length_extension: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 5


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


def check_parameters(runs: RunParameters | Mapping[str, Any] | str) -> RunParameters:
    """Return the parameters of a preset, or check the given parameters and return them.

    Args:
        runs: the name of a preset, parameters, or some parameters by name: the others are those of "balanced".

    Raises:
        SettingsError: there is no such preset or parameter, or a parameter is out of range.
    """
    if isinstance(runs, str) and runs in RUN_PRESETS:
        return RUN_PRESETS[cast("RunPreset", runs)]
    try:
        return TypeAdapter(RunParameters).validate_python(asdict(runs) if isinstance(runs, RunParameters) else runs)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "a preset"
        raise SettingsError(
            f"Expected {name} of runs that can be used, got {show(first['input'])}: {first['msg']}. Leave it out, or "
            f"name a preset, out of {', '.join(get_args(RunPreset))}.",
            setting=name,
        ) from error
