"""Random sequences of writes, in short."""

from __future__ import annotations

import os

from fault_sequences import Sequences
from fault_world import Place
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test


def test_graph_depends_only_on_stored_documents(place: Place, engine: str) -> None:
    here = type("SequencesHere", (Sequences,), {"place": place})
    examples = round((5 if engine == "ladybug" else 2) * float(os.environ.get("FAULT_SHARE", "1")))
    run_state_machine_as_test(
        here,
        settings=settings(max_examples=examples, stateful_step_count=12, suppress_health_check=list(HealthCheck)),
    )
