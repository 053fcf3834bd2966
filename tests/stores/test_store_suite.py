"""The published suite for stores, on every engine."""

from __future__ import annotations

from memgraph_rag.testing.store_suite import *  # noqa: F403
