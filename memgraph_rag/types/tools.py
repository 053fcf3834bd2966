"""A function that a language model may call: its name, what it is for, its arguments as a JSON schema.

It knows no model's wire format beyond the two that every function-calling loop takes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Tool"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function for a model that calls functions (``Memory.tools``).

    Attributes:
        description: written for the model that has to choose.
        parameters: JSON schema of the arguments, an object without other properties.
        function: takes the arguments as a mapping and returns what JSON can hold; raises ``MemgraphRagError``.
        to_text: calls ``function`` with what a model wrote, and gives what it reads of that, its errors included.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[[Mapping[str, Any]], Any] = field(repr=False)
    to_text: Callable[[object], str] = field(repr=False)

    def __call__(self, **arguments: Any) -> Any:
        """Call it; what comes back can be written as JSON.

        Raises:
            SettingsError: arguments that do not fit ``parameters``.
        """
        return self.function(arguments)

    def run(self, arguments: str | Mapping[str, Any]) -> str:
        """Call it with what the model wrote, a JSON object or its text, and return the text for the model.

        What the model can put right (arguments that do not fit, a document that is not there, a question that is
        empty) comes back as ``{"error": …}`` and does not raise; a store or a model that fails raises.
        """
        return self.to_text(arguments)

    async def arun(self, arguments: str | Mapping[str, Any]) -> str:
        """``run`` in a thread, without the event loop standing still."""
        return await asyncio.to_thread(self.run, arguments)

    def for_openai(self) -> dict[str, Any]:
        """As OpenAI's chat completions and those who speak like them take it."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self._schema()},
        }

    def for_anthropic(self) -> dict[str, Any]:
        """As Anthropic's messages take it."""
        return {"name": self.name, "description": self.description, "input_schema": self._schema()}

    def _schema(self) -> dict[str, Any]:
        """A copy that the caller may change."""
        return json.loads(json.dumps(self.parameters))
