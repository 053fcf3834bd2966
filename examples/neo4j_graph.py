"""Build a graph in Neo4j and read it with Cypher of your own.

    memgraph-rag neo4j start                        (or any Neo4j 5.26 or 2026.x; NEO4J_PASSWORD holds its password)
    python examples/neo4j_graph.py [--store neo4j://localhost:7687] [--namespace tale]

Shows a memory in a server that several processes share, a namespace as the wall around it, and the graph behind it:
which labels there are, which names stand in most segments, and which names stand together. No language model is used.
Takes about ten seconds. Open http://localhost:7474 to look at the same graph in Neo4j Browser (docs/inspecting.md).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neo4j import Driver, GraphDatabase

from memgraph_rag import Memory

STORY = Path(__file__).with_name("peter_rabbit.txt")

FREQUENT_NAMES = """
MATCH (s:Segment)-[:MENTIONS]->(e:Entity)
WHERE e.namespace = $namespace
RETURN e.name AS name, count(DISTINCT s) AS segments
ORDER BY segments DESC, name
LIMIT 5
"""

NAMES_TOGETHER = """
MATCH (a:Entity)<-[:MENTIONS]-(s:Segment)-[:MENTIONS]->(b:Entity)
WHERE a.namespace = $namespace AND a.name < b.name
RETURN a.name AS first, b.name AS second, count(DISTINCT s) AS segments
ORDER BY segments DESC, first, second
LIMIT 5
"""


def main(arguments: Sequence[str] | None = None, **memory_options: Any) -> None:
    """Add the tale and query it; ``memory_options`` are further arguments of ``Memory``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", default="neo4j://localhost:7687")
    parser.add_argument("--namespace", default="tale")
    options = parser.parse_args(arguments)

    with Memory(options.store, namespace=options.namespace, layers=("entities",), **memory_options) as memory:
        receipt = memory.add(STORY, key="peter_rabbit", title="The Tale of Peter Rabbit")
        print(f"{receipt.action.value}: {receipt.counts['Segment']} segments, {receipt.counts['MENTIONS']} mentions")
        settings = memory.settings

    password = settings.neo4j.password.get_secret_value() if settings.neo4j.password else ""
    with GraphDatabase.driver(options.store, auth=(settings.neo4j.user, password)) as driver:
        for record in rows(driver, FREQUENT_NAMES, options.namespace):
            print(f"{record['name']} stands in {record['segments']} segments")
        for record in rows(driver, NAMES_TOGETHER, options.namespace):
            print(f"{record['first']} and {record['second']} stand together in {record['segments']}")


def rows(driver: Driver, query: str, namespace: str) -> list[dict[str, Any]]:
    """The rows of a query; every node carries its namespace, so every query names it."""
    return driver.execute_query(query, namespace=namespace, result_transformer_=lambda result: result.data())


if __name__ == "__main__":
    main()
