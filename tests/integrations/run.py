"""Test each framework's adapter in an environment of its own: ``python tests/integrations/run.py [NAME …]``.

Building on Ray is tested here too. The environments lie in .venv-integrations: the framework that an extra names, and,
by a path file, what the main environment has; so torch and the models are not installed again. Each is made anew when
pyproject.toml changes. The adapters are type-checked together, in sight of all of them, and the protocol's own suite is
asked about the MCP server, schemathesis about the REST API. Plain standard library; nothing is ever skipped: what is
missing fails, but for npx and what it fetches.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / ".venv-integrations"
PYPROJECT = ROOT / "pyproject.toml"

TESTED_BY = {"langchain": ["langchain-tests>=1.1"]}
"""What a framework's tests need beside it; all need pytest-asyncio."""

REST = "schemathesis"
"""Named like a framework on the command line."""

PYTHONS = {"langchain": (3, 11)}
"""Oldest Python that a framework's own tests run on, where that is above ours: ``langchain_core`` uses typing.Self."""


def names() -> list[str]:
    """The frameworks, by their adapters' tests."""
    frameworks = {path.stem.removeprefix("test_") for path in HERE.glob("test_*.py")} - {"examples"}
    return sorted(frameworks, key=lambda name: (name not in ("langgraph", "haystack"), name))  # the longest first


def requirements(name: str) -> list[str]:
    """What the extra of that framework installs."""
    extra = re.search(rf"^{name.replace('_', '-')} = \[(.*)\]$", PYPROJECT.read_text("utf-8"), re.MULTILINE)
    assert extra is not None, f"no extra for {name}"
    return re.findall(r'"([^"]+)"', extra[1])


def environment(name: str, wanted: list[str], *, sees_main: bool = True) -> Path:
    """The Python of an environment with these packages, made if it is not there.

    Args:
        sees_main: whether it has what the main environment has, too.
    """
    folder = ENVIRONMENTS / name
    python = folder / "bin" / "python"
    stamp = folder / "made"
    if not stamp.exists() or stamp.stat().st_mtime < PYPROJECT.stat().st_mtime:
        uv = [sys.executable, "-m", "uv"]
        run([*uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)])
        if sees_main:
            (site,) = folder.glob("lib/python*/site-packages")
            (site / "main_environment.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n", "utf-8")
        run([*uv, "pip", "install", "--quiet", "--python", str(python), *wanted])
        stamp.touch()
    return python


def run(command: list[str], **variables: str) -> None:
    """Run it to its end; a failure has its output.

    Raises:
        SystemExit: it failed.
    """
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **variables}
    )
    if finished.returncode:
        raise SystemExit(f"{' '.join(command)}\n{finished.stdout}\n{finished.stderr}")
    summary = [line for line in finished.stdout.splitlines() if re.search(r"\d+ (passed|skipped).* in \d", line)]
    if summary and "skipped" in summary[-1]:
        raise SystemExit(f"Expected no skipped test, got some.\n{finished.stdout}")


def check(name: str) -> str:
    """Make the environment, run the tests and the example; what it took."""
    if sys.version_info < PYTHONS.get(name, (3, 10)):
        return f"{name}: needs Python {'.'.join(map(str, PYTHONS[name]))}, not run"
    began = time.monotonic()
    python = environment(name, [*requirements(name), *TESTED_BY.get(name, []), "pytest-asyncio>=1.2"])
    made = time.monotonic()
    tests = [str(HERE / f"test_{name}.py"), str(HERE / "test_examples.py")]
    options = ["-q", "-c", str(HERE / "pytest.ini"), "-k", f"test_{name} or test_example_runs and {name}"]
    run([str(python), "-m", "pytest", *options, *tests], OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT))
    done = time.monotonic()
    return f"{name}: environment {made - began:.0f} s, tests {done - made:.0f} s"


def check_types() -> str:
    """Type-check all adapters, each framework as its environment has it; the newest shared package counts."""
    began = time.monotonic()
    sites = [str(site) for site in sorted(ENVIRONMENTS.glob("*/lib/python*/site-packages"))]
    settings = {"pythonVersion": "3.11", "typeCheckingMode": "standard", "extraPaths": [str(ROOT), *sites]}
    project = ENVIRONMENTS / "pyrightconfig.json"
    project.write_text(json.dumps(settings), "utf-8")
    adapters = [str(path) for path in sorted((ROOT / "memgraph_rag" / "integrations").glob("*.py"))]
    run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", str(project), *adapters])
    return f"types: {time.monotonic() - began:.0f} s"


def check_conformance() -> str:
    """Ask the suite of the Model Context Protocol about our server, where there is Node to run it, and a registry."""
    if shutil.which("npx") is None:
        return "MCP conformance: needs npx, not run"
    began = time.monotonic()
    if subprocess.run(["npx", "-y", "-p", "node@22", "node", "--version"], capture_output=True, check=False).returncode:
        return "MCP conformance: needs npm's registry, not run"
    run([sys.executable, "tests/mcp_conformance.py"], PYTHONPATH=f"{ROOT}{os.pathsep}{ROOT / 'tests'}")
    return f"MCP conformance: {time.monotonic() - began:.0f} s"


def check_rest() -> str:
    """Ask schemathesis whether the REST API is what its description says."""
    began = time.monotonic()
    python = environment(REST, ["schemathesis>=4.32,<5"], sees_main=False)
    made = time.monotonic()
    paths = f"{ROOT}{os.pathsep}{ROOT / 'tests'}"
    run([sys.executable, "tests/rest_conformance.py", str(python.with_name("schemathesis"))], PYTHONPATH=paths)
    return f"{REST}: environment {made - began:.0f} s, tests {time.monotonic() - made:.0f} s"


def main(chosen: list[str]) -> int:
    """Two at a time; 0 where all passed."""
    outcomes = []
    with ThreadPoolExecutor(2) as pool:
        checks = {name: partial(check, name) for name in names()} | {REST: check_rest}
        work = [(name, pool.submit(checks[name])) for name in chosen or checks]
        if not chosen:
            work.append(("MCP conformance", pool.submit(check_conformance)))
            work.append(("types", pool.submit(check_types)))  # last: when a thread comes to it all are made
        for name, future in work:
            try:
                print(future.result(), flush=True)
                outcomes.append(True)
            except SystemExit as failure:
                print(f"{name}: FAILED\n{failure}", flush=True)
                outcomes.append(False)
    print(f"{sum(outcomes)} of {len(outcomes)} passed", flush=True)
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
