"""Adapters for agent frameworks, a module a framework; each is imported by its own name and needs its own extra.

    from memgraph_rag.integrations.langgraph import MemoryStore

Open ``items.py`` first: it stores a framework's items as documents. The adapters use the public face of ``Memory``
alone. Importing this package loads no framework.
"""
