"""A way past the store, straight to Neo4j."""

from __future__ import annotations

from typing import Any

from neo4j import GraphDatabase, Query

__all__ = ["run_cypher"]


def run_cypher(place: dict[str, Any], text: str, /, **parameters: Any) -> list[dict[str, Any]]:
    """Rows of a statement that goes past the store, straight to Neo4j."""
    with GraphDatabase.driver(place["address"], auth=(place["user"], place["password"])) as driver:
        return [dict(record) for record in driver.execute_query(Query(text), parameters, database_="neo4j").records]  # pyright: ignore[reportArgumentType]
