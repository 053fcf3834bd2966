"""A check that a reply is JSON that follows a schema, for models on a server.

The module does not know a tokenizer or a server. ``llguidance`` does the work, byte by byte. Invariant: a text passes
only if ``grammar.py`` could have written it, apart from its blanks: the properties are in the order of the schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from llguidance import LLMatcher, LLTokenizer

from memgraph_rag.errors import ModelError


class JsonCheck:
    """A check whether texts are JSON that follows one schema.

    Raises:
        ModelError: the schema is not a JSON Schema, or llguidance does not support it.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._matcher = LLMatcher(_open_byte_tokenizer(), LLMatcher.grammar_from_json_schema(json.dumps(schema)))
        if self._matcher.is_error():
            raise ModelError(
                "Expected a JSON Schema that llguidance supports, got an error for the schema: "
                f"{self._matcher.get_error()} Remove the keyword that the error names.",
                schema=json.dumps(schema),
            )

    def follows(self, text: str) -> bool:
        """Return whether a text is exactly one value that follows the schema, with the properties in its order."""
        matcher, letters = self._matcher.deep_copy(), list(text.strip().encode("utf-8", "replace"))
        fits = matcher.validate_tokens(letters) == len(letters)
        return fits and matcher.consume_tokens(letters) and matcher.is_accepting()


def extract_json(text: str) -> str:
    """Return the reply from its first brace on, without a code fence after its last brace.

    A remark after the last brace stays. A text without an opening brace is returned whole.

    >>> extract_json('Sure! ```json {"names": []} ```')
    '{"names": []}'
    >>> extract_json('{"names": ["Ann')
    '{"names": ["Ann'
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        return text
    return text[start : end + 1] if end > start and not text[end + 1 :].strip().strip("`") else text[start:]


@cache
def _open_byte_tokenizer() -> LLTokenizer:
    return LLTokenizer("byte")
