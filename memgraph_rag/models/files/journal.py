"""Finished model work of a build that is not stored yet, on disk. After a crash or Ctrl-C, a retry reads it from there.

The module knows prompts and generations, but no documents and no store. Invariants: an entry exists completely or not
at all; an entry that cannot be read counts as missing; the folder never grows over its limit; work that is stored in a
graph is removed; an owner never finds or clears the entries of another owner.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from memgraph_rag.private_files import write_private
from memgraph_rag.types import Generation, Prompt, Usage

_FORM = 2  # the version of an entry; entries of other versions are not found
_DIGEST = 32  # bytes of SHA-256 at the end of an entry
_MOST_BYTES = 256 * 2**20  # ten times the size for *War and Peace*
_MOST_SECONDS = 7 * 24 * 3600.0  # an entry waits so long for a retry


class Journal:
    """A folder that keeps finished generations of a model, by ``journal_key``, until the graph holds their work.

    If the disk is full or cannot be written, the journal stores nothing and raises nothing. After pickling, it uses the
    same folder in another process.

    Args:
        folder: made at the first entry, readable only by its user; all owners share it and its limit.
        owner: the owner of the entries, in letters and digits; the empty name owns all entries.
    """

    def __init__(self, folder: Path, *, owner: str = "") -> None:
        self._folder = folder
        self._prefix = f"{owner}-" if owner else ""
        self._owner = owner
        self._lock = threading.Lock()
        self._used: set[str] = set()

    def __reduce__(self) -> tuple[Callable[..., Journal], tuple[Path]]:
        return partial(Journal, owner=self._owner), (self._folder,)

    def find(self, key: str) -> Generation | None:
        """Return the generation for a key; None if it is missing or damaged. The next ``settle`` removes the entry."""
        try:
            whole = self._path(key).read_bytes()
        except OSError:
            return None
        payload, digest = whole[:-_DIGEST], whole[-_DIGEST:]
        if hashlib.sha256(payload).digest() != digest:  # numpy and zipfile raise many errors for damaged files
            return None
        with np.load(io.BytesIO(payload), allow_pickle=False) as entry:
            fields = json.loads(str(entry["told"]))
            generation = Generation(
                fields["text"],
                entry["offsets"],
                entry.get("attention"),
                fields["finish"],
                Usage(**fields["usage"]),
                was_kept=True,
            )
        with self._lock:
            self._used.add(key)
        return generation

    def find_all(self, keys: Sequence[str]) -> dict[int, Generation]:
        """Return the stored generations, by the index of their key in ``keys``; missing keys are left out."""
        generations = ((place, self.find(key)) for place, key in enumerate(keys))
        return {place: generation for place, generation in generations if generation is not None}

    def keep(self, key: str, generation: Generation) -> None:
        """Store a generation under a key; it replaces an earlier one. The next ``settle`` removes it.

        If the folder cannot be written, nothing is stored. The first call removes old entries of all owners, and the
        oldest of those that exceed the limit of the folder.
        """
        fields = {"text": generation.text, "finish": generation.finish, "usage": asdict(generation.usage)}
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {"offsets": generation.offsets}
        if generation.attention is not None:
            arrays["attention"] = generation.attention
        np.savez(buffer, told=json.dumps(fields), **arrays)
        try:
            if not self._is_ready:
                return
            write_private(self._path(key), buffer.getvalue() + hashlib.sha256(buffer.getvalue()).digest())
        except OSError:
            return
        with self._lock:
            self._used.add(key)

    def settle(self) -> None:
        """Remove the entries that this object has stored or found since the last call: their work is in the graph."""
        with self._lock:
            settled, self._used = self._used, set()
        for key in settled:
            self._path(key).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove all entries of this owner, also those of other processes. The empty owner removes all entries."""
        for path in self._entries():
            if path.name.removeprefix(".").startswith(self._prefix):
                path.unlink(missing_ok=True)

    @cached_property
    def _is_ready(self) -> bool:
        """Whether the folder can be written to. The first reading removes entries that are too old or too many."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        room = _MOST_BYTES
        for path in sorted(self._entries(), key=lambda path: -path.stat().st_mtime):
            status = path.stat()
            room -= status.st_size
            if room < 0 or time.time() - status.st_mtime > _MOST_SECONDS:
                path.unlink(missing_ok=True)
        return os.access(self._folder, os.W_OK)

    def _entries(self) -> list[Path]:
        return [path for path in self._folder.glob("*") if path.suffix in (".npz", ".part")]

    def _path(self, key: str) -> Path:
        return self._folder / f"{self._prefix}{key}.npz"


def journal_key(
    model: str,
    prompt: Prompt,
    max_tokens: int,
    stop: Callable[..., object] | None,
    schema: Mapping[str, Any] | None = None,
) -> str:
    """Return the key of a generation: a hash of the model, the prompt, ``max_tokens``, ``stop`` and the schema.

    Of ``stop``, only its module and qualified name count, so that two closures of one function are equal.
    """
    end = f"{stop.__module__}.{stop.__qualname__}" if stop is not None else ""
    request = json.dumps([_FORM, model, prompt.instruction, prompt.inputs, prompt.task, max_tokens, end, schema])
    return hashlib.sha256(request.encode()).hexdigest()
