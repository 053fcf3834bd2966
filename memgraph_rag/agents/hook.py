"""The command that a client calls for an event: ``python hook.py FOLDER CLIENT EVENT``, with the event on its input.

It passes the event to the local server and prints the answer. It is run as a file, so it imports nothing of this
package, and of Python only what starts in milliseconds. Invariants: the exit status is 0, and standard output holds an
answer of the server or nothing; what goes wrong is a line of ``FOLDER/hooks.log``; nothing is sent unless a server
holds the folder's lock, because another program may have the port of one that was killed. Without a server it starts
one: only the begin of a session waits for it. An event that stores and that no server took is kept in
``FOLDER/pending`` for it.
"""

from __future__ import annotations

import os
import sys
import time
from _socket import AF_INET, SOCK_STREAM, socket  # ``socket`` and ``json`` import ``enum`` and ``re``: 8 ms

TYPE_CHECKING = False  # ``typing`` is slow, too
if TYPE_CHECKING:
    from subprocess import Popen

LOCK = "server.lock"
"""The file that the running server locks."""
PENDING = "pending"
"""The folder of events that are not stored yet."""
CURSOR_TURNS = {"beforeSubmitPrompt": ("user", "prompt"), "afterAgentResponse": ("assistant", "text")}
"""The role and the field of the turn that an event of Cursor holds itself."""
STORING = ("Stop", "SessionEnd", "PreCompact", "stop", "sessionEnd", "preCompact", *CURSOR_TURNS)
"""Events after which turns are stored; the second spelling is Cursor's."""

_STARTING = ("SessionStart", "sessionStart")
_ANSWER_S = 2.0  # for an answer, but at the begin of a session
_START_S = 20.0  # for a server that starts, and for a brief; the settings of a client allow 30
_MOST_LOG = 1_000_000  # bytes


def main(arguments: list[str]) -> None:
    """Answer one event. Every error becomes a line in the log."""
    folder = arguments[0] if arguments else ""
    try:
        folder, client, event = arguments
        body = sys.stdin.buffer.read()
        sys.stdout.write(_answer(folder, client, event, body))
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - the outermost edge: a hook must not break its client
        _log(folder, f"{' '.join(arguments[1:])}: {type(error).__name__}: {error}")


def _answer(folder: str, client: str, event: str, body: bytes) -> str:
    path = f"/hook/{client}/{event}"
    patience_s = _START_S if event in _STARTING else _ANSWER_S
    try:
        return ask_server(folder, path, body, timeout_s=patience_s)
    except (OSError, ValueError) as error:
        if event in STORING:
            import json

            keep_event(folder, client, event, json.loads(body or b"{}"))
        if not isinstance(error, (FileNotFoundError, ConnectionError)):  # a busy server finds the event later
            raise
        server = start_server(folder)  # it does not run, or its file is of one that was killed
    if event not in _STARTING:
        return ""
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        time.sleep(0.1)
        if server.poll():  # not 0, as of a second server
            raise ChildProcessError("the server did not start: read server.log")
        try:
            return ask_server(folder, path, body, timeout_s=patience_s)
        except (FileNotFoundError, ConnectionError):
            continue
    raise TimeoutError(f"no server answered within {_START_S:.0f} s")


def read_address(folder: str) -> tuple[int, str]:
    """Return the port and the secret of the running server, from its file in a folder.

    Raises:
        FileNotFoundError: there is no server, or its file is damaged.
    """
    if not _is_running(folder):
        raise FileNotFoundError("Expected a running server, got none. Wait for the next server.")
    with open(os.path.join(folder, "server.json"), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - pathlib is slow
        text = file.read()
    try:
        port = text.partition('"port":')[2].partition(",")[0]
        secret = text.partition('"secret":')[2].split('"')[1]
        return int(port), secret
    except (IndexError, ValueError) as error:
        raise FileNotFoundError("Expected port and secret, got another file. Wait for the next server.") from error


def _is_running(folder: str) -> bool:
    """Return whether a server holds the folder's lock; True also where there are no such locks, as on Windows."""
    try:
        import fcntl

        descriptor = os.open(os.path.join(folder, LOCK), os.O_RDONLY)  # noqa: PTH118
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def ask_server(folder: str, path: str, body: bytes, *, timeout_s: float = _ANSWER_S) -> str:
    """Send a request with a body to a path of the folder's server, and return the text of its answer.

    Raises:
        FileNotFoundError, ConnectionError: no server runs.
        TimeoutError: the server did not answer in time.
        ValueError: the answer is a refusal or no answer of HTTP.
    """
    port, secret = read_address(folder)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    connection = socket(AF_INET, SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        connection.connect(("127.0.0.1", port))
        connection.sendall(head.encode() + body)
        received = bytearray()
        while part := connection.recv(65536):
            received += part
    finally:
        connection.close()
    answered, _, text = bytes(received).partition(b"\r\n\r\n")
    if b" 200 " not in answered.partition(b"\r\n")[0]:
        raise ValueError(f"Expected an answer, got {answered[:80]!a}.")
    return text.decode()


def start_server(folder: str) -> Popen[bytes]:
    """Start the folder's server in the background, and return its process. A second server ends at once, status 0."""
    import subprocess

    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    with open(os.path.join(folder, "server.log"), "ab") as log:  # noqa: PTH118, PTH123
        return subprocess.Popen(  # noqa: S603 - this Python, this package
            [sys.executable, "-m", "memgraph_rag", "agent", "serve", "--folder", folder],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=folder,  # a project's folder may hold modules and settings of its own
        )


def keep_event(folder: str, client: str, event: str, given: object) -> None:
    """Keep an event that stores, with what the client gave, in a file of the folder, which only its owner can read."""
    import json

    pending = os.path.join(folder, PENDING)  # noqa: PTH118
    os.makedirs(pending, mode=0o700, exist_ok=True)  # noqa: PTH103
    path = os.path.join(pending, f"{time.time_ns()}-{os.getpid()}.json")  # noqa: PTH118
    descriptor = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"client": client, "event": event, "input": given}, file)
        os.replace(f"{path}.part", path)  # noqa: PTH105
    except OSError:  # of a full disk: the words that were written must not stay
        os.unlink(f"{path}.part")  # noqa: PTH108
        raise


def _log(folder: str, text: str) -> None:
    """Append a line to the log; a log that grew long is begun anew."""
    try:
        path = os.path.join(folder, "hooks.log")  # noqa: PTH118
        is_long = os.path.exists(path) and os.path.getsize(path) > _MOST_LOG  # noqa: PTH110, PTH202
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_long else os.O_APPEND)
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {' '.join(text.split())}\n")
    except OSError:
        pass  # there is nowhere left to tell it


if __name__ == "__main__":
    main(sys.argv[1:])
