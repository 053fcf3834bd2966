"""The download of a Neo4j: once, and by one process at a time."""

from __future__ import annotations

import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memgraph_rag.stores.neo4j import distribution as neo4j_distribution
from memgraph_rag.stores.neo4j.distribution import fetch


class Maven:
    """Stands for Maven Central: makes the jar of a version slowly, and notes how many downloads run at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.downloads: list[str] = []
        self.most_at_once = 0
        self._running = threading.Semaphore(0)

    def download(self, version: str, _progress: object) -> tuple[Path, ...]:
        self._running.release()
        self.most_at_once = max(self.most_at_once, self._running._value)
        time.sleep(0.05)
        jar = self.folder / f"neo4j-{version}.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr(neo4j_distribution._ENTRY_POINTS, "org.neo4j.Main\n")
        self.downloads.append(version)
        self._running.acquire()
        return (jar,)


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    maven = Maven(tmp_path)
    monkeypatch.setattr(neo4j_distribution, "_download", maven.download)
    monkeypatch.setattr(neo4j_distribution, "user_cache_path", lambda _: tmp_path / "cache")
    return maven


def test_downloads_wait_for_one_another(maven: Maven) -> None:
    versions = ["2026.08.1", "5.26.30", "2026.08.1", "5.26.30"]
    with ThreadPoolExecutor(len(versions)) as callers:
        distributions = list(callers.map(fetch, versions))
    assert maven.most_at_once == 1
    assert sorted(maven.downloads) == ["2026.08.1", "5.26.30"], "each version once"
    assert [(fetched.version, fetched.entry_point) for fetched in distributions] == [
        (name, "org.neo4j.Main") for name in versions
    ]


def test_jar_that_is_cut_short_is_downloaded_again(maven: Maven) -> None:
    (jar,) = fetch("5.26.30").jars
    jar.write_bytes(jar.read_bytes()[:20])
    fetch("5.26.30")
    fetch("5.26.30")
    assert maven.downloads == ["5.26.30", "5.26.30"]
