"""Guesses of the next tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.models.engine.prompt_lookup import PromptLookup

FEW = st.lists(st.integers(0, 3), max_size=12)


@given(FEW, FEW, st.integers(0, 5))
def test_guess_follows_the_last_occurrence_of_two_tokens(read, written, most):
    lookup, ids = PromptLookup(read), [*read, *written]
    lookup.extend(written)
    places = [place for place in range(2, len(ids)) if ids[place - 2 : place] == ids[-2:]]
    assert lookup.guess(most) == (ids[places[-1] : places[-1] + most] if places else [])
