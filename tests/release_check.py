"""Check what a release needs: version, wheel, sdist, their metadata, and the demo from the installed wheel.

    python tests/release_check.py [--uv PATH] [--torch-backend cpu] [--without-demo]

Every step runs what a user or a package index runs. Invariant: nothing is imported from this checkout; all files lie
in a scratch folder, but for models that the demo unpacks into the user's cache folder. Needs uv and a package index;
the demo reads 3 GB of weights and takes some minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUESTIONS = 4


def run(*command: str | Path, folder: Path = ROOT, shown: bool = True) -> str:
    """Run a command; return what it prints. A command that fails ends the check."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    print("$", *command, flush=True)
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, errors="replace"
    )
    if shown or done.returncode:
        print(done.stdout, end="", flush=True)
    if done.returncode:
        raise SystemExit(f"Expected status 0, got {done.returncode} from {' '.join(map(str, command))}.")
    return done.stdout


def require(holds: bool, expected: str, got: object) -> None:
    """End the check where something does not hold."""
    if not holds:
        raise SystemExit(f"Expected {expected}, got {got}.")


def version() -> str:
    """Return the version of pyproject.toml, which the changelog must have a section for."""
    (stated,) = re.findall(r'^version = "([^"]+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    if stated not in headings:
        print(f"note: CHANGELOG.md has no section [{stated}], only {', '.join(headings)}. Add it before you publish.")
    return stated


def build(uv: str, into: Path, stated: str) -> Path:
    """Build sdist and wheel, let twine check both, and return the wheel."""
    run(uv, "build", "--out-dir", into, shown=False)
    built = {path.name for path in into.iterdir() if path.suffix in (".whl", ".gz")}
    wheel, sdist = f"memgraph_rag-{stated}-py3-none-any.whl", f"memgraph_rag-{stated}.tar.gz"
    require(built == {wheel, sdist}, f"{wheel} and {sdist}", sorted(built))
    run(uv, "tool", "run", "twine", "check", "--strict", into / wheel, into / sdist)
    return into / wheel


def install(uv: str, wheel: Path, environment: Path, torch_backend: str) -> Path:
    """Install the wheel with the demo's models into an empty environment; return its folder of commands."""
    run(uv, "venv", "--python", sys.executable, environment, shown=False)
    python = environment / "bin" / "python"
    backend = (f"--torch-backend={torch_backend}",) if torch_backend else ()
    links = os.environ.get("PIP_FIND_LINKS", "").split()
    found = [option for link in links for option in ("--find-links", link)]
    run(uv, "pip", "install", "--python", python, *backend, *found, f"{wheel}[offline-models]", shown=False)
    return environment / "bin"


def main() -> None:
    """Check everything, and print a last line that says so."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--uv", default="uv")
    parser.add_argument("--torch-backend", default="", help="which torch uv takes, such as cpu")
    parser.add_argument("--without-demo", action="store_true")
    options = parser.parse_args()

    stated = version()
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        folder = Path(scratch)
        commands = install(
            options.uv, build(options.uv, folder / "dist", stated), folder / "env", options.torch_backend
        )
        installed = run(
            commands / "python", "-c", "import memgraph_rag as m; print(m.__version__, m.__file__)", folder=folder
        )
        require(installed.split()[0] == stated, f"version {stated} in the wheel", installed.split()[0])
        require(str(folder) in installed, "the package of the wheel", installed.split()[1])
        if not options.without_demo:
            demo = run(commands / "memgraph-rag", "demo", "--store", folder / "demo.lbug", folder=folder)
            asked = re.findall(r"^\S.*\?$", demo, re.MULTILINE)
            require(len(asked) == QUESTIONS, f"{QUESTIONS} questions in the demo", asked)
            require("Ask it yourself:" in demo, "the demo's last line", demo[-200:])
    checked = "version, wheel, sdist, metadata, install" + ("" if options.without_demo else ", demo")
    print(f"memgraph_rag {stated} passes: {checked}.")


if __name__ == "__main__":
    main()
