"""A spaCy recognizer in a process of its own, so that it and the embedder do not wait for one lock.

spaCy holds Python's lock most of the time; an embedder in another thread waits for it after each product. It knows the
recognizer by its package only. Invariants: it finds what the recognizer finds in this process; an answer is taken by
who asked for it, or by nobody; it ends with its owner, however that ends; where it cannot run, its owner is told so and
goes on without it.

    python -m memgraph_rag.models.recognizers.spacy_process en_core_web_sm
"""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from memgraph_rag.contracts import Named

__all__ = ["SpacyProcess"]

_TEXTS_A_LINE = 256

_log = logging.getLogger(__name__)


class SpacyProcess:
    """A running child that reads lines of texts and answers each with a line of the names in them.

    Args:
        package: import name of the spaCy model.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._child = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", __spec__.name, package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",  # as JSON is
        )
        weakref.finalize(self, _end, self._child)

    @classmethod
    def started(cls, package: str) -> SpacyProcess | None:
        """A process for that model; None where this program is not run by a Python that could run another."""
        if getattr(sys, "frozen", False) or not Path(sys.executable or "").name.startswith("python"):
            return None
        try:
            return cls(package)
        except OSError as error:
            _log.warning("No process for names could be started (%s); they are looked for in this one.", error)
            return None

    def recognize(self, texts: Sequence[str]) -> list[list[Named]] | None:
        """The names in each text, by start; None where the process has ended, and will not come back.

        What interrupts it, such as Ctrl-C, ends the process: an answer is still to come, and would be the next one's.
        """
        names: list[list[Named]] = []
        has_ended = True
        try:
            for start in range(0, len(texts), _TEXTS_A_LINE):
                names += self._asked(texts[start : start + _TEXTS_A_LINE])
            has_ended = False
        except (OSError, ValueError) as error:
            _log.warning("The process for names has ended (%s); they are looked for in this one.", error)
            return None
        finally:
            if has_ended:
                self._child.kill()
                _end(self._child)
        return names

    def _asked(self, texts: Sequence[str]) -> list[list[Named]]:
        asking, answering = self._child.stdin, self._child.stdout
        assert asking is not None
        assert answering is not None
        asking.write(json.dumps(texts) + "\n")
        asking.flush()
        answer = json.loads(answering.readline())
        if len(answer) != len(texts):
            raise ValueError(f"it answered {len(answer)} texts of {len(texts)}")
        return [[Named(*named) for named in of_text] for of_text in answer]


def _end(child: subprocess.Popen[str]) -> None:
    """Close the child's input, at which it ends, and do not leave it as a zombie."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    try:
        child.wait(timeout=10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _serve(package: str, asked: IO[str], answered: IO[str]) -> None:
    from memgraph_rag.models.recognizers.spacy_model import installed

    recognizer = installed(package)
    if recognizer is None:
        raise SystemExit(f"No spaCy model in the package {package}.")
    for line in asked:
        names = recognizer.recognize_here(json.loads(line))
        rows = [[[named.start, named.end, named.kind] for named in of_text] for of_text in names]
        answered.write(json.dumps(rows) + "\n")
        answered.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is its owner's; it ends when its input does
    _serve(sys.argv[1], sys.stdin, sys.stdout)
