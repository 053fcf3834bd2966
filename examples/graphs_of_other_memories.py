"""Write the graph that another memory keeps in Neo4j as the JSON file that `memgraph-rag import` reads.

    python examples/graphs_of_other_memories.py lightrag lightrag.json [--server neo4j://localhost:7687]
    memgraph-rag import lightrag lightrag.json

The first argument is `mem0`, `lightrag` or `agent-memory`. The program reads NEO4J_USERNAME and NEO4J_PASSWORD, changes
nothing on the server, and takes a few seconds. docs/importing.md tells what becomes of the graph.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from neo4j import GraphDatabase

QUERIES = {
    # mem0 1.x: each edge that is still valid, as a sentence.
    "mem0": {
        "results": """
            MATCH (source)-[edge]->(target)
            WHERE source.user_id IS NOT NULL AND target.user_id = source.user_id AND coalesce(edge.valid, true)
            RETURN elementId(edge) AS id, source.user_id AS user_id,
                   source.name + ' ' + replace(toLower(type(edge)), '_', ' ') + ' ' + target.name AS memory,
                   toString(datetime({epochMillis: edge.created_at})) AS created_at""",
    },
    # `base` is the default workspace of LightRAG: write the label of yours.
    "lightrag": {
        "nodes": """
            MATCH (node:base)
            RETURN node.entity_id AS entity_id, node.entity_type AS entity_type, node.description AS description,
                   node.file_path AS file_path, node.created_at AS created_at""",
        "edges": """
            MATCH (source:base)-[edge:DIRECTED]->(target:base)
            RETURN source.entity_id AS source, target.entity_id AS target, edge.description AS description,
                   edge.keywords AS keywords, edge.file_path AS file_path, edge.created_at AS created_at""",
    },
    "agent-memory": {
        "messages": """
            MATCH (conversation:Conversation)-[:HAS_MESSAGE]->(message:Message)
            RETURN message.id AS id, conversation.session_id AS session_id, conversation.user_identifier AS user_id,
                   message.role AS role, message.content AS content, toString(message.timestamp) AS timestamp
            ORDER BY message.timestamp""",
        "facts": """
            MATCH (fact:Fact)
            RETURN fact.id AS id, fact.subject AS subject, fact.predicate AS predicate, fact.object AS object,
                   toString(fact.valid_from) AS valid_from, toString(fact.valid_until) AS valid_until,
                   toString(fact.created_at) AS created_at""",
        "preferences": """
            MATCH (wish:Preference)
            RETURN wish.id AS id, wish.category AS category, wish.preference AS preference, wish.context AS context,
                   toString(wish.created_at) AS created_at,
                   head([(user:User)-[:HAS_PREFERENCE]->(wish) | user.identifier]) AS user_id""",
    },
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the queries of a memory and write their rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("memory", choices=sorted(QUERIES))
    parser.add_argument("file", type=Path)
    parser.add_argument("--server", default="neo4j://localhost:7687")
    options = parser.parse_args(arguments)

    login = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ["NEO4J_PASSWORD"])
    # Without notifications: a server warns of each label and property that its database does not have.
    with GraphDatabase.driver(options.server, auth=login, notifications_min_severity="OFF") as driver:
        graph = {
            name: driver.execute_query(query, result_transformer_=lambda result: result.data())
            for name, query in QUERIES[options.memory].items()
        }
    options.file.write_text(json.dumps(graph), "utf-8")
    print(*(f"{name}: {len(records)}" for name, records in graph.items()))


if __name__ == "__main__":
    main()
