"""Systems of other distributions: found by their entry points, and left out with a warning where they are broken.

Each distribution lies in a folder of its own, in which a new process looks: pip installs the example there; the broken
ones are laid out as an installer does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memgraph_rag.plugins import GROUP, load_systems

DISTRIBUTION = Path(__file__).parents[1] / "examples" / "own_system"
BEST_ONLY = (DISTRIBUTION / "best_only.py").read_text("utf-8")

PROGRAM = """
import warnings
from memgraph_rag import Memory
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer

parts = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}
with warnings.catch_warnings(record=True) as caught, Memory(":memory:", **parts) as memory:
    warnings.simplefilter("always")
    memory.add("Ann found a red fox in the barn.")
    memory.add("Ann drew a map of the river.")
    print(memory.ask("Who found the fox?", strategy=STRATEGY).strategy)
    print(len(memory.search("Ann", mode="segments")), len(memory.search("Ann", mode=MODE)))
print([str(warning.message) for warning in caught if "System" in str(warning.message)])
"""


def install(distribution: Path, folder: Path) -> None:
    """Build the wheel of a distribution and install it into a folder, with pip and without a network."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(folder)]
    done = subprocess.run([*pip, *options, str(distribution)], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def lay_out(folder: Path, name: str, source: str) -> None:
    """Lay out a distribution with one module, whose ``SYSTEM`` is its system."""
    (folder / f"{name}.py").write_text(source, "utf-8")
    information = folder / f"{name}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    (information / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:SYSTEM\n", "utf-8")


def told(folder: Path, *, strategy: str = "raptor", mode: str = "graph") -> list[str]:
    """The lines that a new process prints, which finds what is installed in the folder."""
    program = PROGRAM.replace("STRATEGY", repr(strategy)).replace("MODE", repr(mode))
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def test_systems_of_this_package_are_installed() -> None:
    names = {"baselines", "graphrag", "hipporag", "longrefiner", "raptor", "sprag"}
    assert {system.name for system in load_systems()} >= names


def test_strategy_and_mode_of_an_installed_distribution_are_found(tmp_path: Path) -> None:
    shutil.copytree(DISTRIBUTION, tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__"))
    install(tmp_path / "source", tmp_path / "site")
    assert {path.name for path in (tmp_path / "site").iterdir()} >= {"best_only.py", "best_only-1.0.dist-info"}
    assert told(tmp_path / "site", strategy="best_only", mode="first") == ["best_only", "2 1", "[]"]


@pytest.mark.parametrize(
    ("source", "got"),
    [
        ("raise OSError('no such disk')", "OSError"),
        ("SYSTEM = 3", "got a int"),
        (BEST_ONLY.replace('"best_only": BestOnly', '"raptor": BestOnly'), "that the system 'raptor' offers too"),
    ],
)
def test_broken_system_is_left_out_with_a_warning(tmp_path: Path, source: str, got: str) -> None:
    lay_out(tmp_path, "zbroken", source)
    strategy, _, warnings = told(tmp_path)
    assert strategy == "raptor"
    assert "zbroken" in warnings
    assert got in warnings
