"""The long form of the fault tests: what ``make fault-tests`` runs, for about half a day.

    python tests/faults/long.py [--share 1.0] [--only kills …] [--engines ladybug neo4j-5.26 neo4j-2026]
        [--fuzz-seconds 600] [--fuzzers files …]

``--share 0.05`` does a twentieth of everything. Each part tells what it found; the last line sums up:
``faults: N tried, N lost, N left over, N leaked``. Exit status 1 where anything was lost, left over or leaked.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "stores"), str(HERE)]  # tests/conftest.py first
sys.path.append(str(HERE.parent / "integrations"))

from conftest import Servers  # noqa: E402
from fault_bulk import MOMENTS, kill_imports  # noqa: E402
from fault_calls import kill_calls  # noqa: E402
from fault_connections import breaks, gone, interrupted  # noqa: E402
from fault_crowd import crowd  # noqa: E402
from fault_disk import full, limits, may_mount  # noqa: E402
from fault_fuzz import FUZZERS  # noqa: E402
from fault_growth import growths, works  # noqa: E402
from fault_kills import kills  # noqa: E402
from fault_leaders import changed_leaders  # noqa: E402
from fault_load import loaded  # noqa: E402
from fault_migrations_neo4j import migrations  # noqa: E402
from fault_model_files import MODEL_FUZZERS  # noqa: E402
from fault_servers import found_new, paused, restarted, stopped  # noqa: E402
from fault_tally import Tally  # noqa: E402
from fault_world import Place  # noqa: E402
from past_the_store import run_cypher  # noqa: E402
from run import environment, requirements  # noqa: E402

ENGINES = ("ladybug", "neo4j-5.26", "neo4j-2026")


@dataclass(frozen=True)
class Part:
    """One kind of fault, on the engines that can have it."""

    name: str
    engines: tuple[str, ...]
    run: Callable[[Place, float], Tally]


def many(count: int, share: float) -> int:
    return max(1, round(count * share))


SERVERS = ENGINES[1:]
_FUZZERS = FUZZERS | MODEL_FUZZERS

PARTS = (
    Part("kills", ENGINES, lambda place, share: kills(place, many(200, share), seed=11)),
    Part("ctrl-c", ENGINES, lambda place, share: kills(place, many(100, share), seed=12, blow=signal.SIGINT)),
    Part("calls", ENGINES, lambda place, share: kill_calls(place, many(300, share), seed=17)),
    Part("migrations", ENGINES, migrations),
    Part("disk", ENGINES[:1], lambda place, share: _disks(place, share)),
    Part("connections", SERVERS, lambda place, share: breaks(place, many(300, share), seed=13)),
    Part("gone", SERVERS, lambda place, _: gone(place, deadline_s=70.0) + interrupted(place, seconds=10.0)),
    Part("leaders", SERVERS, lambda place, share: changed_leaders(place, many(200, share), seed=16)),
    Part("crowd", ENGINES, lambda place, share: _crowd(place, max(3.0, 300 * share))),
    Part("ray", ENGINES, lambda place, share: _on_ray("fault_ray", "kills", _written(place), str(share))),
    Part("ray-nodes", ENGINES, lambda place, share: _on_ray("fault_ray_nodes", _written(place), str(share))),
    Part("ray-disk", ENGINES[:1], lambda place, share: _on_ray("fault_ray", "disk", _written(place), str(share))),
)

OF_A_SERVER: dict[str, Callable[[str, float], Tally]] = {
    "found-new": lambda line, _: found_new(line),
    "paused": lambda line, _: paused(line),
    "stopped": lambda line, _: stopped(line),
    "restarted": lambda line, share: restarted(line, blows=[signal.SIGKILL, signal.SIGTERM] * many(5, share)),
    "bulk": lambda line, share: kill_imports(line, list(MOMENTS), random_kills=many(30, share), seed=18),
    "load": lambda line, share: loaded(line, seconds=max(20.0, 600 * share)),
    "ray-restarted": lambda line, share: _on_ray("fault_ray", "restarted", line, str(share)),
}
"""What is done to a server of its own, by release line and share."""


def _disks(place: Place, share: float) -> Tally:
    tally = limits(place, many(100, share), seed=14)
    if may_mount():
        tally += full(place, Path(place.address["address"]).parent / "disk", many(100, share), seed=15)
    else:
        print("a full file system was not tried: only root may make one")
    return tally


def _crowd(place: Place, seconds: float) -> Tally:
    processes = 8 if "user" in place.address else 1
    return crowd(place, writers=8, readers=8, seconds=seconds, processes=processes)


def _written(place: Place) -> str:
    """The place, for another process."""
    address = place.address | {"address": str(place.address["address"])}
    return json.dumps({"address": address, "namespace": place.namespace, "cache": str(place.cache)})


def _on_ray(script: str, *arguments: str) -> Tally:
    """What a script tries in the environment that has Ray; its last line is the tally."""
    command = [str(environment("ray", requirements("ray"))), str(HERE / f"{script}.py"), *arguments]
    variables = os.environ | {"PYTHONPATH": str(HERE.parents[1])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as child:
        last = ""
        for last in child.stdout or ():
            if not last.startswith("{"):
                print(last, end="", flush=True)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return Tally(**json.loads(last))


@contextmanager
def place_of(engine: str, servers: Servers) -> Iterator[Place]:
    """A namespace of its own on that engine, and nothing of it afterwards."""
    namespace = f"faults-{uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory() as folder:
        if engine == "ladybug":
            yield Place({"address": Path(folder) / "notes.lbug"}, namespace, Path(folder) / "cache")
            return
        server = servers[engine.removeprefix("neo4j-")]
        address = {"address": server.uri, "user": server.user, "password": server.password}
        yield Place(address, namespace, Path(folder) / "cache")
        run_cypher(address, "MATCH (n) WHERE n.namespace = $namespace DETACH DELETE n", namespace=namespace)


SUITES = tuple(
    HERE / f"test_{name}.py"
    for name in ("sequences", "namespaces", "whole", "hostile", "archive", "forgotten", "overviews")
)
"""What pytest runs in the short form too."""


def suites(share: float, engines: Sequence[str]) -> Tally:
    """What pytest runs in the short form too, with more examples: sequences, namespaces, hostile text.

    In a process of its own: pytest will not load behind the fuzzers' hypothesis.
    """
    more = {"FAULT_SHARE": str(max(1.0, 30 * share)), "FAULT_ENGINES": " ".join(engines)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "told.xml"
        options = ["-q", "--timeout=7200", f"--junitxml={file}"]
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *map(str, SUITES)], env=os.environ | more, check=False
        )
        count = ElementTree.parse(file).getroot()[0].attrib
    if not int(count["tests"]):
        raise AssertionError("no suite ran")
    return Tally(tried=int(count["tests"]), lost=int(count["failures"]) + int(count["errors"]))


def fuzz(name: str, seconds: float) -> Tally:
    """One fuzzer; a crash comes out with the example that made it."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it says of each broken file that it is broken
    return Tally(tried=_FUZZERS[name].run(seconds))


def growth(name: str, seconds: float) -> Tally:
    """One kind of work on inputs that double; each that grows too fast is lost."""
    with tempfile.TemporaryDirectory() as folder:
        tried, grown = growths(name, works(Path(folder))[name], seconds=seconds)
    for each in grown:
        print(each)
    return Tally(tried=tried, lost=len(grown))


def main() -> int:
    """Run the parts and sum up."""
    names = [part.name for part in PARTS] + [*OF_A_SERVER, "fuzz", "growth", "suites"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="how much of everything")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--fuzz-seconds", type=float, default=600.0, help="for each fuzzer, times the share")
    parser.add_argument("--fuzzers", nargs="+", choices=_FUZZERS, default=list(_FUZZERS))
    given = parser.parse_args()
    total = Tally()
    servers = Servers()

    def add(name: str, engine: str, run: Callable[[], Tally]) -> None:
        nonlocal total
        began = time.monotonic()
        try:
            tally = run()
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding, and the other parts run all the same
            traceback.print_exc()
            tally = Tally(tried=1, lost=1)
        print(f"{name}, {engine}: {tally} ({time.monotonic() - began:.0f} s)", flush=True)
        total += tally

    try:
        for part in (part for part in PARTS if part.name in given.only):
            for engine in (engine for engine in part.engines if engine in given.engines):
                with place_of(engine, servers) as place:
                    add(part.name, engine, lambda part=part, place=place: part.run(place, given.share))
    finally:
        servers.close()
    for name, run in OF_A_SERVER.items():
        for engine in (engine for engine in SERVERS if engine in given.engines and name in given.only):
            add(name, engine, lambda run=run, engine=engine: run(engine.removeprefix("neo4j-"), given.share))
    if "fuzz" in given.only:
        for name in given.fuzzers:
            add("fuzz", name, lambda name=name: fuzz(name, given.fuzz_seconds * given.share))
    if "growth" in given.only:
        for name in works(Path()):
            add("growth", name, lambda name=name: growth(name, given.fuzz_seconds * given.share))
    if "suites" in given.only:
        add("suites", ", ".join(given.engines), lambda: suites(given.share, given.engines))
    print(f"faults: {total}")
    return not total.is_clean


if __name__ == "__main__":
    sys.exit(main())
