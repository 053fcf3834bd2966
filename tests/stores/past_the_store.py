"""A way past the store, straight to Neo4j, over one driver of each server for the whole process."""

from __future__ import annotations

import atexit
from functools import cache
from typing import Any

from neo4j import Driver, GraphDatabase, Query

__all__ = ["run_cypher"]


def run_cypher(place: dict[str, Any], text: str, /, **parameters: Any) -> list[dict[str, Any]]:
    """Return the rows of a statement that goes past the store, straight to Neo4j."""
    driver = open_driver(place["address"], place["user"], place["password"])
    # Without bookmarks: a test may replace the database, which then never reaches the state of an earlier statement.
    result = driver.execute_query(Query(text), parameters, database_="neo4j", bookmark_manager_=None)  # pyright: ignore[reportArgumentType]
    return [dict(record) for record in result.records]


@cache
def open_driver(address: str, user: str, password: str) -> Driver:
    """Return a driver that stays open: thousands of statements would each log in anew."""
    driver = GraphDatabase.driver(address, auth=(user, password))
    atexit.register(driver.close)
    return driver
