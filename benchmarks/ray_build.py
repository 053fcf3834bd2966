"""What building on Ray costs: two actors of a cluster on this machine against one process, the same documents.

``python benchmarks/ray_build.py DOCS.jsonl --documents 200 400``, in an environment with the extra ``ray``. It counts
processor time, of this process and of all that it started, because other work may share the cores; wall-clock seconds
are told beside it. Each row opens a memory and loads the models anew, so two sizes tell what is paid once from what
each document costs. A JSON line a row.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path

from memgraph_rag import Document, Failure, Memory

TICKS = os.sysconf("SC_CLK_TCK")


class ProcessorTime:
    """Processor seconds of this process and of all that it started; the last look at each counts."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.look()
            time.sleep(0.5)

    def look(self) -> float:
        """All seconds until now."""
        parents, seconds = {}, {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text("utf-8").rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            pid = int(stat.parent.name)
            parents[pid], seconds[pid] = int(fields[1]), sum(map(int, fields[11:13])) / TICKS
        for pid in seconds:
            ancestor = pid
            while ancestor not in (0, os.getpid()) and ancestor not in self._seconds:
                ancestor = parents.get(ancestor, 0)
            if ancestor:
                self._seconds[pid] = seconds[pid]
        return sum(self._seconds.values())


def measure(processor: ProcessorTime, documents: list[Document], ray_address: str | None) -> dict[str, object]:
    """Add the documents to a new file; what it took."""
    with tempfile.TemporaryDirectory() as folder:
        began, spent, own = time.monotonic(), processor.look(), time.process_time()
        with Memory(Path(folder) / "notes.lbug") as memory:
            outcomes = list(memory.add_many(documents, ray=ray_address))
            assert not [outcome for outcome in outcomes if isinstance(outcome, Failure)]
            counts = memory.status()["counts"]
        return {
            "place": "ray" if ray_address else "process",
            "documents": len(documents),
            "processor_s": round(processor.look() - spent, 2),
            "own_s": round(time.process_time() - own, 2),
            "wall_s": round(time.monotonic() - began, 1),
            "mentions": counts["MENTIONS"],
        }


def main() -> None:
    """Print a row for the cluster's start, then one for each size and place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path)
    parser.add_argument("--documents", type=int, nargs="+", default=[200])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--actors", type=int, default=2)
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.docs.read_text("utf-8").splitlines()]
    documents = [Document(row["text"], row["doc_id"], title=row.get("title", "")) for row in rows]

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # else whatever runs beside it takes the core first
    import ray

    processor = ProcessorTime()
    began, spent = time.monotonic(), processor.look()
    ray.init(num_cpus=given.actors, object_store_memory=200 * 2**20, include_dashboard=False, log_to_driver=False)
    start = {"place": "cluster", "processor_s": processor.look() - spent, "wall_s": time.monotonic() - began}
    print(json.dumps(start), flush=True)
    measure(processor, documents[:5], None)  # imports the libraries, which actors do anew each time
    for count in given.documents:
        for _ in range(given.repeat):
            for address in (None, "auto"):
                print(json.dumps(measure(processor, documents[:count], address)), flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
