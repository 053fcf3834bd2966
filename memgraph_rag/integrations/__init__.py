"""Adapters for agent frameworks, a module a framework; each is imported by its own name and needs its own extra.

    from memgraph_rag.integrations.langgraph import MemoryStore

They use the public face of ``Memory`` alone. Importing this package loads no framework.
"""
