"""Whether a reply is JSON that follows a schema, for models that write elsewhere.

It knows no tokenizer and no server. The work is ``llguidance``'s, byte by byte. Invariant: what passes here is what
``grammar.py`` could have had written, whatever its white space: properties stand in the schema's order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from llguidance import LLMatcher, LLTokenizer

from memgraph_rag.errors import ModelError

__all__ = ["JsonCheck", "bare_json"]


class JsonCheck:
    """One schema.

    Raises:
        ModelError: it is no JSON Schema, or asks for what cannot be checked.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._matcher = LLMatcher(_bytes(), LLMatcher.grammar_from_json_schema(json.dumps(schema)))
        if self._matcher.is_error():
            raise ModelError(
                f"Expected a JSON Schema that can be checked, got one that is refused: {self._matcher.get_error()}",
                schema=json.dumps(schema),
            )

    def follows(self, text: str) -> bool:
        """Whether a text is one whole value of the schema."""
        matcher, letters = self._matcher.deep_copy(), list(text.strip().encode("utf-8", "replace"))
        fits = matcher.validate_tokens(letters) == len(letters)
        return fits and matcher.consume_tokens(letters) and matcher.is_accepting()


def bare_json(text: str) -> str:
    """What a reply holds from its first brace to its last: models put fences and remarks around.

    >>> bare_json('Sure! ```json {"names": []} ```')
    '{"names": []}'
    >>> bare_json('{"names": ["Ann')
    '{"names": ["Ann'
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        return text
    return text[start : end + 1] if end > start and not text[end + 1 :].strip().strip("`") else text[start:]


@cache
def _bytes() -> LLTokenizer:
    return LLTokenizer("byte")
