"""Count, mask or refuse keys, passwords and card numbers before a text is stored: the setting ``redact``.

Each way in passes here: documents in ``ingest``, and turns in ``session``. Invariants: with "mask" no secret that is
found reaches the store or a model; all offsets stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.ingestion.sources import Loaded
from memgraph_rag.text.loading import make_text_key
from memgraph_rag.text.secrets import find_secrets, mask_secrets
from memgraph_rag.types import Failure, Message, text_hash

Redact = Literal["off", "mark", "mask", "refuse"]
"""How secrets are treated: "off" stores them, "mark" also counts them, "mask" stores stars, "refuse" raises."""


class _Redaction:
    """Looks at texts, and counts what was found.

    Attributes:
        notes: the number of secrets by kind, for a receipt.
    """

    def __init__(self, how: Redact) -> None:
        self._how = how
        self.notes = Counter[str]()

    def apply(self, text: str) -> str:
        """Count the secrets of a text, and return the text as it may be stored."""
        secrets = find_secrets(text)
        verb = "masked" if self._how == "mask" else "secret"
        self.notes.update(f"{verb}: {secret.kind}" for secret in secrets)
        return mask_secrets(text, secrets) if self._how == "mask" else text

    def check(self, name: str) -> None:
        """Raise ``DocumentError`` if secrets were found and the setting is "refuse"."""
        if self._how == "refuse" and self.notes:
            kinds = ", ".join(note.partition(": ")[2] for note in self.notes)
            raise DocumentError(
                f'Expected a text without secrets, got {kinds} in {name}. Take them out, or pass redact="mask".',
                kinds=kinds,
            )


def redact_document(item: Loaded, how: Redact) -> tuple[Loaded | Failure, Mapping[str, int]]:
    """Return the document as it may be stored, and the number of its secrets by kind, for the receipt.

    Secrets are keys, passwords and card numbers in the text, the title and the texts of the metadata. ``how`` decides:
    with "mask" stars replace them, with "refuse" the document becomes a ``Failure``.
    """
    redaction, document = _Redaction(how), item.document
    metadata = {
        name: redaction.apply(value) if isinstance(value, str) else value for name, value in document.metadata.items()
    }
    text, title = redaction.apply(document.text), redaction.apply(document.title)
    try:
        redaction.check(show(document.key))
    except DocumentError as error:
        return Failure(item.key, error), {}
    if how == "mask" and redaction.notes:
        masked = replace(document, text=text, title=title, metadata=metadata)
        if item.has_hash:  # of the text with its secrets, which could be guessed by it
            masked = replace(masked, key=make_text_key(masked, metadata))
        item = replace(item, document=masked, text_sha256=text_hash(text))
    return item, redaction.notes


def redact_messages(
    messages: Sequence[Message | Mapping[str, Any]], how: Redact
) -> tuple[Sequence[Message | Mapping[str, Any]], Mapping[str, int]]:
    """Return the messages as they may be stored, and the number of their secrets by kind.

    An item that is not a message stays as it is: a later check refuses it.

    Raises:
        DocumentError: ``how`` is "refuse", and a message has a secret.
    """
    if how == "off" or isinstance(messages, (str, bytes, Message, Mapping)) or not isinstance(messages, Sequence):
        return messages, {}
    redaction = _Redaction(how)
    redacted = [_redact_message(message, redaction) for message in messages]
    redaction.check("the messages")
    return redacted, redaction.notes


def _redact_message(message: Any, redaction: _Redaction) -> Any:
    if isinstance(message, Message) and isinstance(message.content, str):
        return replace(message, content=redaction.apply(message.content))
    if isinstance(message, Mapping) and isinstance(content := message.get("content"), str):
        return {**message, "content": redaction.apply(content)}
    return message
