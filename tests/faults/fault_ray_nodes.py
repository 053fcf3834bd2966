"""Building on a Ray cluster of two nodes, of which one does not see the files, or dies; for the environment with Ray.

    python tests/faults/fault_ray_nodes.py '{"address": …, "namespace": …, "cache": …}' SHARE

Both nodes are on this machine, with a core each; one has a view of its own of the file system, in which a folder is
empty. The invariants are those of ``fault_ray``; beside these, both nodes build, a file is read by the calling process
only where no actor that was given it sees it, and a build ends although a node is gone for good.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "stores"), str(HERE)]

import psutil  # noqa: E402
from fault_disk import may_mount  # noqa: E402
from fault_kills import context  # noqa: E402
from fault_ray import DOCUMENTS, PATIENCE_S, Undisturbed, building  # noqa: E402
from fault_tally import Tally  # noqa: E402
from fault_world import Place  # noqa: E402

_START = [
    sys.executable,
    "-m",
    "ray.scripts.scripts",
    "start",
    "--block",
    "--num-cpus=1",
    "--object-store-memory=100000000",
]

_OWN_VIEW = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"']
"""Runs a command that sees nothing in a folder. Only root may."""

_TRIES = 3

_SETTINGS = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(16),
    "RAY_raylet_start_wait_time_s": "45",  # this and the next: by default a busy machine is too slow
    "RAY_agent_register_timeout_ms": "120000",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "60",  # the head stays; a raylet that starts may wait for it
}


@dataclass(frozen=True)
class TwoNodes:
    """A cluster.

    Attributes:
        address: HOST:PORT, for ``add_many``.
        second: the process from which all of the second node descends; the first one is the head.
    """

    address: str
    second: subprocess.Popen[bytes]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """It and all that it started, at once, as where a machine loses its power."""
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(process.pid)
        family = [*root.children(recursive=True), root]
        for member in family:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        psutil.wait_procs(family, timeout=PATIENCE_S)
    process.wait()


@contextmanager
def two_nodes(hidden: Path | None = None) -> Iterator[TwoNodes]:
    """A cluster of this machine, of which the second node sees nothing in that folder. It is gone afterwards.

    It wants a token, as Ray's clusters do by default; whoever builds on it meanwhile has that.
    """
    context()  # so that nodes find the modules that children of this process do
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    address = f"127.0.0.1:{port}"
    with (
        patch.dict(os.environ, _SETTINGS),
        tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder,  # short: sockets
    ):
        log = Path(folder) / "started"
        head = [*_START, "--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}"]
        second = [*([*_OWN_VIEW, str(hidden)] if hidden else []), *_START, f"--address={address}"]
        processes = []
        try:
            for command in (head, second):
                processes.append(_started(command, log))
            yield TwoNodes(address, processes[1])
        finally:
            for process in reversed(processes):
                _kill(process)


def _started(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """A node that is there. It is given some tries: parts of it wait for one another, too short on a busy machine."""
    for _ in range(_TRIES):
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        while process.poll() is None:
            if "Ray runtime started" in log.read_text("utf-8"):
                return process
            time.sleep(0.2)
        _kill(process)
    raise TimeoutError(f"Expected a node of Ray, got none in {_TRIES} tries: {log.read_text('utf-8')}")


def _nodes(place: Place) -> int:
    """How many nodes built."""
    return len(list((place.cache / "nodes").glob("*")))


def unseen(place: Place, folder: Path) -> Tally:
    """A build of files that one of two nodes does not see: the graph is the one of files that this process reads."""
    folder.mkdir()
    paths = []
    for number, document in enumerate(DOCUMENTS * 2):
        paths.append(folder / f"{number:02}.txt")
        paths[-1].write_text(f"{document.text} So {number} said.", "utf-8")
    undisturbed = Undisturbed(place, paths)
    tally = Tally(tried=1)
    with two_nodes(folder) as cluster, building(place, paths, cluster.address) as builder:
        builder.listen()
    call = builder.call
    print(f"files: {len(call.actions)} added by {_nodes(place)} nodes, {len(call.read)} of {len(paths)} read here")
    findings = {
        f"the build did not finish: {call.raised} {call.failures}": not call.is_done or call.failures,
        "not both nodes built": _nodes(place) != 2,
        "the calling process read no file, or all": not 0 < len(call.read) < len(paths),
        "it read a file twice": len({*call.read}) < len(call.read),
        "another graph": not undisturbed.is_there(),
    }
    tally.lost += _reported("one node does not see the files", findings)
    undisturbed.empty()
    return tally


def deaths(place: Place, count: int, *, seed: int = 0) -> Tally:
    """The second node is killed at a random moment of so many builds, each on an empty store."""
    chance = random.Random(seed)
    tally = Tally()
    undisturbed = Undisturbed(place)
    for _ in range(count):
        tally.tried += 1
        with two_nodes() as cluster, building(place, DOCUMENTS, cluster.address) as builder:
            builder.listen(until=1 + chance.randrange(len(DOCUMENTS) // 2))
            time.sleep(0.3 * chance.random())
            _kill(cluster.second)
            builder.listen()
        call = builder.call
        findings = {
            f"the build did not finish: {call.raised} {call.failures}": not call.is_done or call.failures,
            "not both nodes built": _nodes(place) != 2,
        }
        tally.lost += _reported("a node killed", findings)
        undisturbed.examine("a node killed", call, tally)
        undisturbed.empty()
    return tally


def _reported(what: str, findings: dict[str, Any]) -> int:
    """How many of these are so; each is printed."""
    found = [text for text, is_finding in findings.items() if is_finding]
    for text in found:
        print(f"LOST: {what}: {text}", flush=True)
    return len(found)


def main() -> None:
    """Run both; the last line is the tally, as JSON."""
    given, share = json.loads(sys.argv[1]), float(sys.argv[2])
    place = Place(given["address"], given["namespace"], Path(given["cache"]))
    tally = deaths(place, max(1, round(10 * share)), seed=25)
    if may_mount():
        with tempfile.TemporaryDirectory() as folder:
            tally += unseen(place, Path(folder) / "files")
    else:
        print("files that one node does not see were not tried: only root may hide them")
    print(json.dumps(vars(tally)))


if __name__ == "__main__":
    main()
