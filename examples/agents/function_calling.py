"""Any function-calling loop: JSON schemas for the model, and text for it to read."""

from __future__ import annotations

from memgraph_rag import Memory


def main(memory: Memory) -> None:
    """Carry out two calls as a model would write them."""
    tools = {tool.name: tool for tool in memory.tools()}
    print([tool.for_openai()["function"]["name"] for tool in tools.values()])
    print(tools["add_to_memory"].run('{"text": "Ann\'s fox is called Rusty.", "key": "fox"}'))
    print(tools["search_memory"].run('{"query": "What is the fox called?", "k": 1}'))


if __name__ == "__main__":
    with Memory("agents.lbug") as memory:
        main(memory)
