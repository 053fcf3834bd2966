"""Each fuzzer for a moment; ``make fault-tests`` gives it ten minutes."""

from __future__ import annotations

import pytest
from fault_fuzz import FUZZERS
from fault_model_files import MODEL_FUZZERS

SECONDS = 0.5


@pytest.mark.parametrize("name", FUZZERS)
def test_fuzzed_input_gives_a_value_or_our_error(name: str) -> None:
    run = FUZZERS[name].run
    assert run(SECONDS) > 5 or run(SECONDS) > 5  # the first run may spend its time on imports


@pytest.mark.parametrize("name", MODEL_FUZZERS)
def test_fuzzed_model_file_is_read_or_refused(name: str) -> None:
    assert MODEL_FUZZERS[name].run(2 * SECONDS) > 5
