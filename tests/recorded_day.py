"""A day of three sessions of Claude Code, played through the hooks as the client calls them: JSON on standard input."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

__all__ = ["CLAUDE_SETTINGS", "CLAUDE_STATE", "DAY", "Player"]

CLAUDE_STATE = """{
  "numStartups": 12,
  "mcpServers": {
    "github": {"type": "http", "url": "https://api.example.com/mcp"}
  },
  "projects": {"/src/shop": {"allowedTools": []}}
}"""

CLAUDE_SETTINGS = """{
  // mine
  "permissions": {"allow": ["Bash(ls:*)"]},
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "notify-send done"}]} // tell me
    ],
    /* later */
  },
}
"""

DAY = [
    [
        (
            "We need a database for the shop. Let's use SQLite instead of Postgres.",
            "SQLite it is. I created db.py with the schema.",
        ),
        (
            "Always run ruff before a commit. I still need to add an index on orders.",
            "Understood: ruff first. The index is not there yet.",
        ),
    ],
    [
        (
            "The checkout page is slow when a customer has many orders.",
            "The query scans all orders of a customer.",
        ),
        ("We decided to cache prices for ten minutes in Redis.", "I added a cache in prices.py."),
    ],
    [
        ("Which database did we choose for the shop?", "SQLite, as decided this morning."),
    ],
]
"""(prompt, reply) of each session."""


@dataclass
class Player:
    """A client that keeps a log of each session and calls the hooks of its settings.

    Attributes:
        times: seconds of each call of a hook, by event.
    """

    home: Path
    folder: Path
    environment: dict[str, str]
    began: datetime = datetime(2026, 11, 27, 8, 0, tzinfo=timezone.utc)
    times: list[tuple[str, float]] = field(default_factory=list)

    def play(self, number: int, turns: list[tuple[str, str]]) -> list[str]:
        """Play a session and return what its hooks printed: at the start, then for each prompt."""
        session_id = f"{number:08d}-1111-4222-8333-444455556666"
        log = self.home / ".claude" / "projects" / "-src-shop" / f"{session_id}.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        common = {"session_id": session_id, "transcript_path": str(log), "cwd": str(self.folder)}
        printed = [self.call("SessionStart", {**common, "source": "startup", "model": "claude-opus-4-5"})]
        moment = self.began + timedelta(hours=2 * number)
        for place, (prompt, reply) in enumerate(turns):
            printed.append(self.call("UserPromptSubmit", {**common, "permission_mode": "default", "prompt": prompt}))
            for kind, words in (("user", prompt), ("assistant", reply)):
                moment += timedelta(minutes=1)
                self._write(log, kind, f"{session_id}-{place}-{kind}", words, moment)
            self.call("Stop", {**common, "permission_mode": "default", "stop_hook_active": False})
        self.call("PreCompact", {**common, "trigger": "auto", "custom_instructions": ""})
        self.call("SessionEnd", {**common, "reason": "prompt_input_exit"})
        return printed

    def call(self, event: str, given: dict[str, Any]) -> str:
        """Run the hook that the settings name for an event, and return its output."""
        commands = [hook["command"] for group in self._hooks()[event] for hook in group["hooks"]]
        (command,) = (command for command in commands if "hook.py" in command)
        began = time.perf_counter()
        done = subprocess.run(
            shlex.split(command),
            input=json.dumps({"hook_event_name": event, **given}),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        self.times.append((event, time.perf_counter() - began))
        assert done.stderr == ""
        return done.stdout

    def _hooks(self) -> dict[str, Any]:
        import json5

        return json5.loads((self.home / ".claude" / "settings.json").read_text("utf-8"))["hooks"]

    def _write(self, log: Path, kind: str, uuid: str, words: str, moment: datetime) -> None:
        content = words if kind == "user" else [{"type": "text", "text": words}]
        record = {
            "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": str(self.folder),
            "sessionId": log.stem, "version": "2.1.0", "gitBranch": "main", "type": kind, "uuid": uuid,
            "message": {"role": kind, "content": content}, "timestamp": moment.isoformat().replace("+00:00", "Z"),
        }  # fmt: skip
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
