"""The examples of docs/agents.md, each in the environment of its framework, with the packaged embedder."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
from pathlib import Path

import pytest

from memgraph_rag import Memory

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
SAID = {path.stem.removeprefix("with_"): "Rusty" for path in EXAMPLES.glob("with_*.py")} | {
    "openai_agents": "Rusty.'}]\n['search_memory', 'add_to"
}


@pytest.mark.parametrize("name", sorted(SAID))
def test_example_runs(name: str, minilm_memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"with_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = module.main(minilm_memory)
    if inspect.iscoroutine(result):
        asyncio.run(result)
    assert SAID[name] in capsys.readouterr().out
