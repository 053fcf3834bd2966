"""Tries a Ladybug file in a process of its own: can the engine read all of it without a crash?

The module knows no schema: it uses the names of tables and columns that the engine lists, so these statements cannot be
in files. Invariant: the trial opens the file for reading only and changes nothing. A crash of the engine ends only the
trial's process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError

TIMEOUT_S = 600.0

_TRIAL = """
import sys
sys.path[:] = sys.argv[2:]
import ladybug

def rows(text):
    with connection.execute(text) as result:
        return list(result.rows_as_dict())

with ladybug.Database(sys.argv[1], read_only=True) as database, ladybug.Connection(database) as connection:
    for table in rows("CALL show_tables() RETURN name, type"):
        name = table["name"]
        match = f"MATCH (n:`{name}`)" if table["type"] == "NODE" else f"MATCH ()-[n:`{name}`]->()"
        for column in rows(f"CALL table_info('{name}') RETURN name"):
            rows(f"{match} RETURN count(DISTINCT n.`{column['name']}`)")
"""


def try_file(path: Path, *, timeout_s: float = TIMEOUT_S) -> None:
    """Check that Ladybug does not crash on a file: read every column of it in another process.

    If no process can be started, nothing is checked.

    Raises:
        StoreError: the engine crashed on the file, or did not finish. An error that the engine reports is not raised
            here: opening the file in this process reports it.
    """
    if not sys.executable or getattr(sys, "frozen", False):  # there is no interpreter to start
        return
    command = [sys.executable, "-I", "-c", _TRIAL, str(path), *sys.path]
    try:
        trial = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)  # noqa: S603 - our program
    except subprocess.TimeoutExpired as exc:
        raise _make_damaged_error(path, f"no end within {timeout_s:g} s") from exc
    except OSError:  # no process can be started; the file may be intact
        return
    if trial.returncode not in (0, 1):
        raise _make_damaged_error(path, f"a crash (exit status {trial.returncode})")


def _make_damaged_error(path: Path, outcome: str) -> StoreError:
    return StoreError(
        f"Expected a file that Ladybug can read, got {outcome}: {show(path)} is damaged. Restore it from a copy, or "
        "import an export of it into a new file.",
        path=str(path),
    )
