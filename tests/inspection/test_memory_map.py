"""The map of a whole memory: whole or counted, kept for a version, and with communities apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from memories import FOX, RIVER, options

from memgraph_rag import Memory
from memgraph_rag.errors import SettingsError
from memgraph_rag.inspection.memory_map import lay_out


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", cache_dir=tmp_path, **options(layers=("entities",))) as opened:
        opened.add(FOX, key="fox", title="Ann")
        opened.add(RIVER, key="river")
        opened.add("It rained.", key="rain")
        yield opened


def test_map_has_all_documents_and_the_names_in_them(memory: Memory) -> None:
    drawn = memory.map()
    assert set(drawn.names[: drawn.documents]) == {"fox", "river", "rain"}
    assert {"Ann", "Tom"} <= set(drawn.names[drawn.documents :])
    assert drawn.positions.shape == (len(drawn.ids), 2)
    assert np.abs(drawn.positions).max() <= 1.2
    assert drawn.left_out == {"documents": 0, "entities": 0}
    (fox, ann) = (drawn.names.index("fox"), drawn.names.index("Ann"))
    assert [fox, ann] in drawn.edges.tolist()
    assert drawn.sizes[fox] == sum(fox in edge for edge in drawn.edges.tolist())


def test_map_is_kept_until_the_next_write(memory: Memory) -> None:
    first = memory.map()
    assert memory.map() is first
    others = [memory.map(most=most) for most in (5, 6, 7)]
    assert memory.map(most=6) is others[1]
    assert memory.map(most=7) is others[2]
    memory.add("Tom met Ann.", key="met")
    assert "met" in memory.map().names


def test_small_map_counts_what_it_leaves_out(memory: Memory) -> None:
    drawn = memory.map(most=3)
    whole = memory.map()
    assert len(drawn.ids) == 3
    assert sum(drawn.left_out.values()) == len(whole.ids) - 3
    assert drawn.names[0] == "fox"
    assert drawn.edges.max(initial=0) < 3
    with pytest.raises(SettingsError, match="most"):
        memory.map(most=0)


def test_empty_memory_has_an_empty_map(tmp_path: Path) -> None:
    with Memory(tmp_path / "empty.lbug", cache_dir=tmp_path, **options()) as memory:
        assert memory.map().ids == ()


def test_layout_parts_communities_and_puts_lone_nodes_around() -> None:
    generator = np.random.default_rng(3)
    groups = np.repeat([0, 1], 100)
    inside = [
        generator.choice(np.flatnonzero(groups == group), 2, replace=False) for group in (0, 1) for _ in range(600)
    ]
    ends = np.array([*inside, (0, 100)])
    places = lay_out(ends, np.ones(len(ends)), 220)
    one, other = places[:100].mean(axis=0), places[100:200].mean(axis=0)
    spread = max(places[:100].std(), places[100:200].std())
    assert np.linalg.norm(one - other) > spread
    assert np.array_equal(places, lay_out(ends, np.ones(len(ends)), 220))
    tied, lone = np.linalg.norm(places[:200], axis=1), np.linalg.norm(places[200:], axis=1)
    assert lone.min() > np.quantile(tied, 0.9)
