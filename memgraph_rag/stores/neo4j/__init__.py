"""Neo4j: the store over a server, bulk files for ``neo4j-admin``, and a local server without Docker.

Open ``store.py`` first. ``server``, ``home`` and ``distribution`` run a local server.
"""
