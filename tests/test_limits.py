"""The limits of a question: what is no limit is refused, when the record is made."""

from __future__ import annotations

from typing import Any, cast

import pytest

from memgraph_rag.errors import SettingsError
from memgraph_rag.types import Limits


def test_limits_keep_their_values() -> None:
    assert Limits() == Limits(seconds=None, tokens=None, nodes=None)
    limits = Limits(seconds=1.5, tokens=1, nodes=2)
    assert (limits.seconds, limits.tokens, limits.nodes) == (1.5, 1, 2)


@pytest.mark.parametrize("field", ["seconds", "tokens", "nodes"])
@pytest.mark.parametrize("value", [0, -1, True, "5", float("nan")])
def test_value_that_is_no_limit_is_refused(field: str, value: Any) -> None:
    with pytest.raises(
        SettingsError, match=f"Expected {field} of Limits as a .*number above 0, got .* Give None"
    ) as no:
        Limits(**{field: value})
    assert no.value.setting == field


@pytest.mark.parametrize("field", ["tokens", "nodes"])
def test_fraction_of_a_token_or_node_is_refused(field: str) -> None:
    with pytest.raises(SettingsError, match="whole number"):
        Limits(**{field: cast("int", 1.5)})
