"""Loading without looks for garbage."""

from __future__ import annotations

import gc

import pytest

from memgraph_rag.models.engine.garbage_pause import without_garbage_collection


@pytest.fixture(params=[True, False])
def is_on(request):
    was_on = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was_on else gc.disable)()


def test_afterwards_it_is_as_the_host_had_it(is_on):
    with without_garbage_collection():
        assert not gc.isenabled()
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() == is_on


def test_what_fails_inside_leaves_it_as_it_was(is_on):
    with pytest.raises(ValueError, match="no tokenizer"), without_garbage_collection():
        raise ValueError("no tokenizer")
    assert gc.isenabled() == is_on
