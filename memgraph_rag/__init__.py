"""Long-term memory for applications, in Neo4j or in one file: documents become a graph that a local model reads.

    from memgraph_rag import Memory

    with Memory("notes.lbug") as memory:
        memory.add("Ada Lovelace wrote the first program in 1843.")
        print(memory.ask("Who wrote the first program?").text)

``__init__.pyi`` lists the public names. Each name is imported at its first use, so importing the package loads neither
torch nor a database driver. Authors of layers, strategies and stores use ``memgraph_rag.contracts`` and
``memgraph_rag.types``. All errors are in ``memgraph_rag.errors``.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

try:
    __version__ = version("memgraph_rag")
except PackageNotFoundError:  # a bare checkout
    __version__ = "0"
