"""Each fuzzer for a moment; ``make fault-tests`` gives it ten minutes."""

from __future__ import annotations

import pytest
from fault_fuzz import FUZZERS
from fault_model_files import MODEL_FUZZERS

SECONDS = 0.5


@pytest.mark.parametrize("name", FUZZERS)
def test_whatever_comes_there_is_a_value_or_an_error_of_ours(name: str) -> None:
    run = FUZZERS[name].run
    assert run(SECONDS) > 5 or run(SECONDS) > 5  # the first run may spend its time on imports


@pytest.mark.parametrize("name", MODEL_FUZZERS)
def test_whatever_a_models_file_holds_it_is_read_or_refused(name: str) -> None:
    assert MODEL_FUZZERS[name].run(2 * SECONDS) > 5
