"""The test suite for every ``contracts.GraphStore``, as pytest tests: a module for each subject.

    import uuid
    import pytest
    from memgraph_rag.testing.store_suite import *

    @pytest.fixture
    def make_store(tmp_path):
        def make(namespace=None):
            store = MyStore(tmp_path / "graph", namespace=namespace or uuid.uuid4().hex)
            store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
            return store

        return make

``make_store`` opens stores on one database. Each store has a new namespace, unless a namespace is given. The suite
knows only the contract. Invariant: each test gets its stores from ``make_store``, and reads them only through the
contract.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in ("writes", "searches", "entities", "relations", "annotations", "clusters", "questions", "echoes",
                       "revisions", "fingerprints", "groups", "outlines", "overviews", "pools", "versions")
    )
)  # fmt: skip

from memgraph_rag.contracts import GraphStore  # noqa: E402 - what is imported below is rewritten by pytest
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, MakeStore  # noqa: E402
from memgraph_rag.testing.store_suite.annotations import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.clusters import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.echoes import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.entities import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.fingerprints import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.groups import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.outlines import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.overviews import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.overviews import three, tree  # noqa: E402
from memgraph_rag.testing.store_suite.pools import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.questions import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.relations import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.revisions import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.searches import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.searches import library  # noqa: E402
from memgraph_rag.testing.store_suite.versions import *  # noqa: E402, F403
from memgraph_rag.testing.store_suite.writes import *  # noqa: E402, F403

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *(name for name in dir() if name.startswith("test_")),
    "DIMENSION",
    "EMBEDDER",
    "library",
    "store",
    "three",
    "tree",
]


@pytest.fixture
def store(make_store: MakeStore) -> GraphStore:
    """A store with an empty namespace."""
    return make_store()
