"""Neo4j: a store on a server, bulk files for ``neo4j-admin``, and a local server without Docker.

Read ``store.py`` first. ``connection.py`` runs transactions, and runs them again after a lost connection. The modules
``server``, ``home`` and ``distribution`` run a local server.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
