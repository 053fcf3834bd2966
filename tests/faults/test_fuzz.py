"""Each fuzzer for a moment; ``make fault-tests`` gives it ten minutes."""

from __future__ import annotations

import pytest
from fault_fuzz import FUZZERS, LEAST
from fault_model_files import MODEL_FUZZERS

SECONDS = 0.5


@pytest.mark.parametrize("name", FUZZERS)
def test_fuzzed_input_gives_a_value_or_our_error(name: str) -> None:
    assert FUZZERS[name].run(SECONDS) >= LEAST


@pytest.mark.parametrize("name", MODEL_FUZZERS)
def test_fuzzed_model_file_is_read_or_refused(name: str) -> None:
    assert MODEL_FUZZERS[name].run(2 * SECONDS) >= LEAST
