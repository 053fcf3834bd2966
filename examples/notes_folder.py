"""Add a folder of notes and search it, by words, names, project and time, without a language model.

    python examples/notes_folder.py [FOLDER] [--store notes.lbug]

Shows ``add_many`` of a folder with what it left out, metadata, ``search`` with ``where``, ``since`` and
``min_relevance``, and the names by which a result was found. Without FOLDER the notes are ``examples/notes``: Markdown,
plain text and a CSV file. Takes about ten seconds, most of it for loading the embedder and spaCy; of notes of your own
about 40 passages of 100 words are added a second.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memgraph_rag import Evidence, Failure, Memory
from memgraph_rag.text.folders import Folder

NOTES = Path(__file__).with_name("notes")


def main(arguments: Sequence[str] | None = None, **memory_options: Any) -> None:
    """Add the folder and search it; ``memory_options`` are further arguments of ``Memory``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=NOTES)
    parser.add_argument("--store", default="notes.lbug")
    options = parser.parse_args(arguments)

    with Memory(options.store, layers=("entities",), **memory_options) as memory:
        folder = Folder(options.folder)
        for outcome in memory.add_many(folder):
            if isinstance(outcome, Failure):
                print(f"not added: {outcome.source}: {outcome.error}")
            else:
                print(f"{outcome.action.value}: {outcome.key}")
        for path, reason in folder.left_out.items():
            print(f"left out: {path} ({reason})")

        # Metadata are given document by document. "date" or "time" is what since and until compare with.
        for name, day in (("bridge-meeting.md", "2026-03-02"), ("bridge-phone-call.txt", "2026-03-19")):
            if (options.folder / name).is_file():
                memory.add(options.folder / name, metadata={"project": "footbridge", "date": day})

        show("Who pays for the foundations?", memory.search("Who pays for the foundations?", k=2))
        news = memory.search("larch", k=2, where={"project": "footbridge"}, since="2026-03-10")
        show("larch, of the footbridge, since 10 March", news)


def show(title: str, results: Sequence[Evidence]) -> None:
    """Print results; ``relevance`` says how near one is, the score only orders them."""
    print(f"\n? {title}")
    for result in results:
        relevance = "" if result.relevance is None else f"{result.relevance:.2f} "
        names = ", ".join(carrier.entity for carrier in result.path)
        print(f"  {relevance}{Path(result.document_key).name}: {' '.join(result.text.split())[:90]}")
        if names:
            print(f"       by {names}")


if __name__ == "__main__":
    main()
