"""A function that a language model may call: its name, its description, and its arguments as a JSON schema.

The module knows the formats of two APIs for function calling (OpenAI, Anthropic), and no other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """A function for a model that supports function calling (``Memory.tools``).

    Attributes:
        description: written for the model that chooses a function.
        parameters: JSON schema of the arguments, an object without additional properties.
        function: takes the arguments as a mapping and returns a value that JSON can hold; raises ``MemgraphRagError``.
        to_text: calls ``function`` with the model's arguments, and returns the text for the model, errors included.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[[Mapping[str, Any]], Any] = field(repr=False)
    to_text: Callable[[object], str] = field(repr=False)

    def __call__(self, **arguments: Any) -> Any:
        """Call the function and return its result, which can be written as JSON.

        Raises:
            SettingsError: the arguments do not match ``parameters``.
        """
        return self.function(arguments)

    def run(self, arguments: str | Mapping[str, Any]) -> str:
        """Call the function with the model's arguments, a JSON object or its text, and return the text for the model.

        An error that the model can correct (arguments that do not match, an unknown document, an empty question) is
        returned as ``{"error": …}``. An error of the store or of a model is raised.
        """
        return self.to_text(arguments)

    async def arun(self, arguments: str | Mapping[str, Any]) -> str:
        """Run ``run`` in a thread, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.run, arguments)

    def for_openai(self) -> dict[str, Any]:
        """Return the tool in the format of OpenAI's chat completions API."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self._schema()},
        }

    def for_anthropic(self) -> dict[str, Any]:
        """Return the tool in the format of Anthropic's messages API."""
        return {"name": self.name, "description": self.description, "input_schema": self._schema()}

    def _schema(self) -> dict[str, Any]:
        """Return a copy of the schema, which the caller may change."""
        return json.loads(json.dumps(self.parameters))
