"""A spaCy recognizer in a separate process, so that it and the embedder do not wait for the same lock.

spaCy holds Python's lock most of the time; an embedder in another thread would wait for it after each product. The
module knows the recognizer only by its package. Invariants: the process finds the same names as the recognizer in this
process. Only the caller that asked takes an answer. The process ends with its owner, however the owner ends, and after
half an hour without a call. It imports modules from where its owner does, never from the folder that it runs in, which
may be anybody's project. If the process cannot run, ``recognize`` returns None, and the owner finds names itself.
"""

from __future__ import annotations

import json
import logging
import re
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import requires
from pathlib import Path
from typing import IO

from memgraph_rag.contracts import Named

_PROGRAM = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner; this process ends with its input
package, *sys.path = sys.argv[1:]
from {__name__} import serve
serve(package, sys.stdin, sys.stdout)
"""
_TEXTS_A_LINE = 256
_IDLE_S = 1_800

_log = logging.getLogger(__name__)


class SpacyProcess:
    """A running child process that reads lines of texts and answers each line with the names in them.

    Args:
        package: import name of the spaCy model.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._child = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-I", "-c", _PROGRAM, package, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",  # as JSON is
        )
        weakref.finalize(self, _end_child, self._child)

    @classmethod
    def start(cls, package: str) -> SpacyProcess | None:
        """Return a process for a model; None if the interpreter cannot run another process, or it does not start.

        The process is not asked yet, so that a missing model shows at the first ``recognize``.
        """
        if getattr(sys, "frozen", False) or not Path(sys.executable or "").name.startswith("python"):
            return None
        try:
            return cls(package)
        except OSError as error:
            _log.warning("The process that finds names could not start (%s); this process finds them.", error)
            return None

    @property
    def has_ended(self) -> bool:
        """Whether the child process has ended, as it does after half an hour, or belongs to this process's parent."""
        return self._child.poll() is not None

    def recognize(self, texts: Sequence[str]) -> list[list[Named]] | None:
        """Return the names in each text, by start; None if the process has ended or gave a wrong answer, which ends it.

        An interruption, such as Ctrl-C, ends the process. Otherwise the next call would read the answer of this call.
        """
        names: list[list[Named]] = []
        has_ended = True
        try:
            for start in range(0, len(texts), _TEXTS_A_LINE):
                names += self._ask(texts[start : start + _TEXTS_A_LINE])
            has_ended = False
        except (OSError, ValueError) as error:
            _log.warning("The process that finds names has ended (%s); this process finds them.", error)
            return None
        finally:
            if has_ended:
                self._child.kill()
                _end_child(self._child)
        return names

    def _ask(self, texts: Sequence[str]) -> list[list[Named]]:
        asking, answering = self._child.stdin, self._child.stdout
        assert asking is not None
        assert answering is not None
        asking.write(json.dumps(texts) + "\n")
        asking.flush()
        answer = json.loads(answering.readline())
        if len(answer) != len(texts):
            raise ValueError(f"it answered {len(answer)} texts of {len(texts)}")
        return [[Named(*named) for named in rows] for rows in answer]


def _end_child(child: subprocess.Popen[str]) -> None:
    """Close the child's input, which ends the child, and wait for it, so that no zombie remains."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    try:
        child.wait(timeout=10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def serve(package: str, requests: IO[str], answers: IO[str]) -> None:
    """Answer each line of texts, a JSON list, with a line of the names in them, until there are no more lines.

    Raises:
        SystemExit: no spaCy model is in the package.
    """
    from memgraph_rag.models.recognizers.spacy_model import find_installed

    if not re.search("torch|transformers", " ".join(requires(package) or ())):
        # spaCy would import PyTorch, which takes 2 s and 500 MB, and which only models of transformers need.
        sys.modules["torch"] = None  # type: ignore[assignment]
    recognizer = find_installed(package)
    if recognizer is None:
        raise SystemExit(f"No spaCy model in the package {package}.")
    _end_after(_IDLE_S)
    for line in requests:
        _end_after(0)
        names = recognizer.recognize_here(json.loads(line))
        rows = [[[named.start, named.end, named.kind] for named in text_names] for text_names in names]
        answers.write(json.dumps(rows) + "\n")
        answers.flush()
        _end_after(_IDLE_S)


def _end_after(seconds: int) -> None:
    """End this process after some seconds; 0 means no more. On Windows nothing happens, so the process stays idle."""
    if sys.platform != "win32":
        signal.alarm(seconds)
