"""What is built can be used: wheel, wheel from the sdist, and editable install all hold the same."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

import pytest

import memgraph_rag
from memgraph_rag.stores.shared import queries

CHECKOUT = Path(memgraph_rag.__file__).parent.parent

pytestmark = pytest.mark.skipif(not (CHECKOUT / "pyproject.toml").is_file(), reason="not run from a checkout")


def build(source: Path, kind: str, into: Path) -> Path:
    """A wheel or sdist of a source tree, by the build backend itself: needs no network."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(into)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked sdist."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(CHECKOUT, "sdist", folder / "built")) as archive:
        for member in archive.getmembers():
            assert not member.name.startswith(("/", ".."))
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        archive.extractall(folder / "unpacked")
    (unpacked,) = (folder / "unpacked").iterdir()
    return unpacked


@pytest.fixture(scope="module", params=["checkout", "sdist"])
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    source = CHECKOUT if request.param == "checkout" else request.getfixturevalue("sdist")
    with zipfile.ZipFile(build(source, "wheel", tmp_path_factory.mktemp("wheel") / "built")) as opened:
        yield opened


def files_under(folder: Path, pattern: str) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob(pattern))}


def test_a_wheel_holds_every_module_statement_and_example(wheel: zipfile.ZipFile) -> None:
    held = {name: wheel.read(name) for name in wheel.namelist() if name.startswith("memgraph_rag/")}
    expected = {f"memgraph_rag/{name}": data for name, data in files_under(CHECKOUT / "memgraph_rag", "*.py").items()}
    for kind in ("*.json", "*.toml", "*.pyi"):  # calibrations, the tables of the papers, the lazy names of rooms
        files = files_under(CHECKOUT / "memgraph_rag", kind)
        assert files
        expected |= {f"memgraph_rag/{name}": data for name, data in files.items()}
    expected |= {f"memgraph_rag/{name}": data for name, data in files_under(CHECKOUT / "memgraph_rag", "*.md").items()}
    assets = {
        name: data
        for kind in ("*.js", "*.css", "*.html", "*.lua")
        for name, data in files_under(CHECKOUT / "memgraph_rag", kind).items()
    }
    assert {Path(name).name for name in assets} > {"docs.css", "main.js", "console.css", "cytoscape.min.js"}
    expected |= {f"memgraph_rag/{name}": data for name, data in assets.items()}
    statements = files_under(CHECKOUT / "cypher", "*.cypher")
    assert statements
    expected |= {f"memgraph_rag/_cypher/{name}": data for name, data in statements.items()}
    expected["memgraph_rag/py.typed"] = b""
    expected["memgraph_rag/_examples/peter_rabbit.txt"] = (CHECKOUT / "examples" / "peter_rabbit.txt").read_bytes()
    assert held == expected


def test_wheel_holds_the_package_alone(wheel: zipfile.ZipFile) -> None:
    top = {name.split("/")[0] for name in wheel.namelist()}
    assert top == {"memgraph_rag", f"memgraph_rag-{memgraph_rag.__version__}.dist-info"}


def test_a_wheel_names_license_python_and_command(wheel: zipfile.ZipFile) -> None:
    info = f"memgraph_rag-{memgraph_rag.__version__}.dist-info"
    metadata = HeaderParser().parsestr(wheel.read(f"{info}/METADATA").decode())
    assert (metadata["License-Expression"], metadata["Requires-Python"]) == ("Apache-2.0", ">=3.10")
    extras = {"dev", "evaluation", "neo4j-local", "offline-models", "offline-models-small", "stanza"}
    assert extras <= set(metadata.get_all("Provides-Extra") or ())
    assert "memgraph-rag = memgraph_rag.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert f"{info}/licenses/LICENSE" in wheel.namelist()


def test_an_unpacked_wheel_finds_its_statements_and_its_example(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    program = (
        "import sys; sys.path.insert(0, 'site')\n"
        "from pathlib import Path\n"
        "import memgraph_rag\n"
        "from memgraph_rag.stores.shared import queries\n"
        "assert Path(memgraph_rag.__file__).resolve().parent.parent.name == 'site', memgraph_rag.__file__\n"
        "print(queries.folder())\n"
        "print(*(max(queries.migrations(dialect)) for dialect in queries.DIALECTS))\n"
        "print(queries.statement('read/list_documents', 'ladybug').text)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    folder, versions, *text = done.stdout.splitlines()
    assert Path(folder) == tmp_path / "site" / "memgraph_rag" / "_cypher"
    assert versions.split() == [str(max(queries.migrations(dialect))) for dialect in queries.DIALECTS]
    assert "\n".join(text).strip() == queries.statement("read/list_documents", "ladybug").text.strip()


def test_a_checkout_finds_its_statements_beside_the_package() -> None:
    assert queries.folder() == CHECKOUT / "cypher"
    for dialect in queries.DIALECTS:
        assert queries.migrations(dialect)


def test_the_sdist_holds_tests_examples_and_statements(sdist: Path) -> None:
    for folder, pattern in (("tests", "test_*.py"), ("examples", "*.txt"), ("cypher", "*.cypher")):
        assert files_under(sdist / folder, pattern) == files_under(CHECKOUT / folder, pattern)
    assert {"README.md", "LICENSE", "pyproject.toml", "PKG-INFO"} <= {path.name for path in sdist.iterdir()}
