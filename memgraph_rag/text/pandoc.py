"""Convert a document to Markdown by pandoc, which the extra ``office`` installs.

The module knows no file. Invariants: pandoc runs in its sandbox, without files and network, in a process of its own
with limits of memory and time; no cell of a table and no title is lost.
"""

from __future__ import annotations

import subprocess
import threading
from importlib.util import find_spec
from pathlib import Path

_FILTER = Path(__file__).with_name("plain_markdown.lua")
_MEMORY_MIB = 1024


class PandocError(Exception):
    """Pandoc could not read the document, or took too long."""


def is_installed() -> bool:
    """Return whether pandoc is installed."""
    return find_spec("pypandoc") is not None


def convert_to_markdown(data: bytes, form: str, most_bytes: int, *, seconds: float) -> str:
    """Return a document as Markdown, and of a longer one only the first ``most_bytes`` + 1 bytes.

    Args:
        form: pandoc's name of the format, such as "docx" or "asciidoc".
        seconds: time after which pandoc is ended.

    Raises:
        PandocError: pandoc ended with an error, or was ended.
    """
    import pypandoc

    command = [pypandoc.get_pandoc_path(), "+RTS", f"-M{_MEMORY_MIB}M", "-RTS", "--sandbox", "--from", form]
    command += ["--lua-filter", str(_FILTER), "--to", "commonmark+pipe_tables-raw_html", "--wrap=none"]
    with subprocess.Popen(  # noqa: S603 - pandoc's own path, and no text of the user
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        writer = threading.Thread(target=_write_input, args=(process, data), daemon=True)
        timer = threading.Timer(seconds, process.kill)
        written = b""
        writer.start()
        timer.start()
        try:
            written = process.stdout.read(most_bytes + 1)
        finally:
            timer.cancel()
            if len(written) > most_bytes:
                process.kill()
            process.wait()
            writer.join()
    if process.returncode and len(written) <= most_bytes:
        raise PandocError(f"pandoc ended with status {process.returncode}")
    return written.decode("utf-8", "replace")


def _write_input(process: subprocess.Popen[bytes], data: bytes) -> None:
    """Give pandoc the document while its output is read; pandoc may end before it has read all."""
    assert process.stdin is not None
    try:
        with process.stdin as stdin:
            stdin.write(data)
    except OSError:
        return
