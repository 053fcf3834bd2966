"""Ctrl-C while a server writes: the program ends at once, and what was finished is kept."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from endpoint_faults import Fault

from memgraph_rag.models.files.journal import Journal

SILENCE = 60.0
PROGRAM = """
import signal
import sys
from pathlib import Path
from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.models.endpoints.client import Endpoint
from memgraph_rag.models.endpoints.model import EndpointModel
from memgraph_rag.models.files.journal import Journal
from memgraph_rag.types import Prompt

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
url, journal = sys.argv[1:]
model = EndpointModel(
    Endpoint(Address(url, "small"), key=lambda: "a-key-that-nobody-may-see", seconds=300), requests=2,
    journal=Journal(Path(journal)),
)
prompts = [Prompt("Reply with one word.", (f"Number {number}.",)) for number in range(6)]
model.generate(prompts, max_tokens=4, progress=lambda _, done, __: print(done, flush=True))
"""


def test_ctrl_c_keeps_finished_replies(proxy, tmp_path: Path) -> None:
    proxy.faults += [Fault(), Fault()]  # these pass: the list of models, and the first prompt
    proxy.always = Fault(silence_s=SILENCE)
    journal = tmp_path / "journal"
    command = [sys.executable, "-c", PROGRAM, proxy.url, str(journal)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert [program.stdout.readline() for _ in range(2)] == ["0\n", "1\n"]
        time.sleep(0.5)  # the next two are being waited for
        program.send_signal(signal.SIGINT)
        interrupted = time.monotonic()
        _, error = program.communicate(timeout=SILENCE)
    assert time.monotonic() - interrupted < SILENCE / 2
    assert error.rstrip().endswith("KeyboardInterrupt")
    assert len(Journal(journal)._entries()) == 1
