"""Neo4j: a store on a server, bulk files for ``neo4j-admin``, and a local server without Docker.

Read ``store.py`` first. The modules ``server``, ``home`` and ``distribution`` run a local server.
"""
