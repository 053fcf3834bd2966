"""Turn a user's source into a ``Document``: text with a key.

The module knows no model and no store. Invariants: a str is always text, a Path always a file; every store can hold a
document's text (NUL and lone surrogates become U+FFFD one for one, so that offsets stay); a str is otherwise unchanged,
so that offsets in the document are offsets in the str; turns, if there are any, cover the text without gaps; all other
fields of a document are short; every error of a parser becomes a ``DocumentError``.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, MemgraphRagWarning, convert_errors
from memgraph_rag.lexical import timestamps
from memgraph_rag.lexical.code import find_program_language
from memgraph_rag.lexical.markdown import has_marks
from memgraph_rag.text.chat import MAX_SPEAKER, render
from memgraph_rag.text.files import MARKDOWN_SUFFIXES, MAX_BYTES, read
from memgraph_rag.text.markup import front_matter
from memgraph_rag.text.paths import default_key, expand_home, may_be_path, names_file, spellings
from memgraph_rag.types import Document, Message, MetadataValue, Turn, as_line, get_owner, is_storable, make_storable

Source = str | Path | Document | Sequence[Message | Mapping[str, Any]]
"""A source to add: text, a file, a document, or chat messages."""

ReadFile = Callable[[Path], tuple[str, str]]
"""Read a file and return its text and its title, which may be empty."""

MAX_KEY = 512
"""Most characters of a key."""

MAX_TITLE = 1_000
"""Most characters of a title."""

MAX_METADATA = 65_536
"""Most bytes of a document's metadata, as JSON."""

MAX_SOURCE = 32_767
"""Most characters of a document's source: the longest path of any system."""

_READING = 1  # raise it when Markdown or programs are cut or read in another way
_MOST_BITS = 1_024  # of a whole number in metadata
_LONGEST_PATH = 256  # characters of a str that is checked for a path, with a line end
_MOST_OF_A_TITLE = 300  # characters of a title from a file: broken pages have titles of megabytes

_HINTS = {
    bytes: "Decode it first, or pass the Path of the file.",
    bytearray: "Decode it first, or pass the Path of the file.",
    Message: "Put the message in a list.",
    dict: 'Pass text, or a list of messages: [{"role": "user", "content": "…"}].',
}


def load(
    source: Source,
    *,
    key: str | None = None,
    title: str | None = None,
    metadata: Mapping[str, MetadataValue | date] | None = None,
    read_file: ReadFile = read,
) -> Document:
    """Return the source as a document.

    A given key, title or metadata replaces that of a Document. Given metadata are added to the fields of a Markdown
    file's front matter, and replace fields of the same name. NUL and lone surrogates become U+FFFD. A str that names a
    file is text, with a warning.

    Args:
        source: a str is text; a Path is a file with text, Markdown, HTML or PDF; a Document is used as it is; chat
            messages (``Message``, or mappings with role, content and optional time) become one text with turns.
        key: 1 to 512 characters. By default a file's path as given; for text and chat a hash of the content and of the
            user and session in the metadata. A memory keeps the key under which it first stored a file.
        title: up to 1,000 characters. By default the title found in the file, else the file's stem; empty for text and
            chat.
        metadata: values of type str, int, float (finite) or bool; a date or a datetime becomes a str, as ISO 8601. 64
            KiB of JSON in all.
        read_file: replaces the reader of files, for a file that was read elsewhere.

    Raises:
        DocumentError: the source cannot be read as text, is empty or above ``MAX_BYTES``, or an argument is invalid.
            The cause is the parser's error.

    >>> load("Ada wrote the first program.").key
    'text-6210c29d8285'
    """
    with convert_errors(_make_reading_error):
        document = _read_source(source, read_file)
        if key is not None:
            document = replace(document, key=key)
        if title is not None:
            document = replace(document, title=title)
        if metadata is not None:
            fields = document.metadata if isinstance(source, Path) else {}
            document = replace(document, metadata={**fields, **metadata} if isinstance(metadata, Mapping) else metadata)
        checked = _check_document(document)
        has_key = key is not None or isinstance(source, (Path, Document))
        return checked if has_key else replace(checked, key=make_text_key(document, checked.metadata))


def _make_reading_error(exc: Exception) -> DocumentError:
    return DocumentError(
        f"Expected a source that can be read, got the error {type(exc).__name__} ({as_line(str(exc))[:120]}). "
        "Save it again as text (UTF-8)."
    )


def _read_source(source: Source, read_file: ReadFile) -> Document:
    """Return the source as a document that is not yet checked; the key of a text or chat is only its kind."""
    if isinstance(source, Document):
        return source
    if isinstance(source, Path):
        text, title = read_file(expand_home(source))
        title = title[:_MOST_OF_A_TITLE] or source.stem
        fields = front_matter(text) if source.suffix.lower() in MARKDOWN_SUFFIXES else {}
        return Document(text, default_key(source), title, spellings(source)[0], _check_metadata(fields))
    if isinstance(source, str):
        _warn_of_path(source)
        return Document(source, "text")
    if isinstance(source, Sequence) and not isinstance(source, (bytes, bytearray, memoryview)):
        text, turns = render(source)
        return Document(text, "chat", turns=turns)
    hint = _HINTS.get(type(source), "Pass one of these.")
    raise DocumentError(
        "Expected text (str), a file (Path), a Document or a list of chat messages, "
        f"got {type(source).__name__}. {hint}"
    )


def _warn_of_path(text: str) -> None:
    """Warn if a str that is stored as text names a file or a folder."""
    name = text.strip() if len(text) <= _LONGEST_PATH else ""
    if may_be_path(name) and names_file(Path(name)):
        warnings.warn(
            f"Expected text, got a str that names a file: {show(name)}. It was taken as text; to add the file, pass "
            f"Path({show(name)}).",
            MemgraphRagWarning,
            stacklevel=2,
        )


def make_text_key(document: Document, metadata: Mapping[str, MetadataValue]) -> str:
    """Return the default key of a text or chat, a hash; equal texts of two users get different keys."""
    owner = get_owner(metadata)
    text = document.text if owner == (None, None) else json.dumps([document.text, *owner])
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{'chat' if document.turns else 'text'}-{digest[:12]}"


def _check_document(document: Document) -> Document:
    """Return the document with storable fields.

    Raises:
        DocumentError: a field has a wrong type, is too long or is empty.
    """
    for name in ("text", "title", "source"):
        value = getattr(document, name)
        if not isinstance(value, str):
            raise DocumentError(f"Expected the {name} of a document as a str, got {type(value).__name__}.")
    _check_key(document.key)
    for name, most in (("title", MAX_TITLE), ("source", MAX_SOURCE)):
        if len(getattr(document, name)) > most:
            raise DocumentError(
                f"Expected a {name} of at most {most:,} characters, got {len(getattr(document, name)):,} in "
                f"{show(document.key)}. Shorten it.",
                key=document.key,
                limit=most,
            )
    if not document.text.strip():
        raise DocumentError(
            f"Expected text, got none: {show(document.key)} is empty or only white space.", key=document.key
        )
    size = len(document.text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise DocumentError(
            f"Expected at most {MAX_BYTES:,} bytes of text, got {size:,} in {show(document.key)}. Cut it into parts.",
            key=document.key,
            limit=MAX_BYTES,
        )
    return replace(
        document,
        text=make_storable(document.text),
        key=make_storable(document.key),  # unchanged, except that a subclass of str becomes a str
        title=make_storable(document.title),
        source=make_storable(document.source),
        metadata=_check_metadata(document.metadata),
        turns=tuple(_check_turns(document.turns, len(document.text))),
        reading=_READING
        if not document.turns and (find_program_language(document.title) or has_marks(document.text))
        else 0,
    )


def _check_turns(turns: Sequence[Turn], length: int) -> Iterator[Turn]:
    """Yield the turns with storable speakers and normalised times.

    Raises:
        DocumentError: the turns do not cover ``length`` characters without gaps, or a field is invalid.
    """
    if not isinstance(turns, (tuple, list)):
        raise DocumentError(f"Expected the turns of a document as a tuple of Turn, got {type(turns).__name__}.")
    at = 0
    for index, turn in enumerate(turns):
        _check_fields(index, turn)
        if turn.start != at or not at <= turn.end <= length:
            raise DocumentError(
                f"Expected turn {index} to start at {at} and to end within the {length} characters of the text, "
                f"got [{turn.start}, {turn.end}). Let each turn start where the one before ends, the first at 0.",
                index=index,
            )
        moment = timestamps.read(turn.time)
        if turn.time and not moment:
            raise DocumentError(
                f"Expected the time of turn {index} as ISO 8601, got {show(turn.time)}. "
                'Write it as "2024-05-01T10:00", or leave it empty.',
                index=index,
            )
        at = turn.end
        yield replace(turn, speaker=make_storable(turn.speaker), time=moment)
    if turns and at != length:
        raise DocumentError(
            f"Expected the last turn to end where the text does, at {length}, got {at}. "
            "Give what follows to the last turn, or to one of its own."
        )


def _check_fields(index: int, turn: object) -> None:
    if not isinstance(turn, Turn):
        raise DocumentError(f"Expected turn {index} as a Turn, got {type(turn).__name__}.", index=index)
    for name, kind in (("start", int), ("end", int), ("speaker", str), ("time", str)):
        value = getattr(turn, name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DocumentError(
                f"Expected the {name} of turn {index} as {kind.__name__}, got {type(value).__name__}. Convert it.",
                index=index,
            )
    if len(turn.speaker) > MAX_SPEAKER:
        raise DocumentError(
            f"Expected a role (the speaker of turn {index}) of at most {MAX_SPEAKER} characters, "
            f"got {len(turn.speaker):,}. Put what is said into the content.",
            index=index,
            limit=MAX_SPEAKER,
        )


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise DocumentError(f"Expected a key as a str, got {type(key).__name__}.", key=key)
    if not key.strip() or len(key) > MAX_KEY:
        got = f"{len(key)} characters" if key.strip() else "an empty one"
        raise DocumentError(f"Expected a key of 1 to {MAX_KEY} characters, got {got}. Pass another by key=….", key=key)
    if not is_storable(key):
        raise DocumentError(
            f"Expected a key that can be stored, got NUL or a lone surrogate in {show(key)}. Pass another by key=….",
            key=key,
        )


def _check_metadata(metadata: Mapping[str, MetadataValue | date]) -> dict[str, MetadataValue]:
    """Return a storable copy of the metadata; raise ``DocumentError`` for a key or value that cannot be stored."""
    if not isinstance(metadata, Mapping):
        raise DocumentError(f"Expected metadata as a mapping, got {type(metadata).__name__}.")
    checked: dict[str, MetadataValue] = {}
    for name, value in metadata.items():
        if not isinstance(name, str) or not name:
            raise DocumentError(f"Expected the keys of metadata as non-empty str, got {show(name)}.")
        checked[make_storable(name)] = _check_value(name, value)
    size = len(json.dumps(checked).encode())
    if size > MAX_METADATA:
        raise DocumentError(
            f"Expected metadata of at most {MAX_METADATA:,} bytes as JSON, got {size:,}. "
            "Put long text into the document.",
            limit=MAX_METADATA,
        )
    return checked


def _check_value(name: str, value: object) -> MetadataValue:
    """Return one value of metadata in its stored form."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return make_storable(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and value.bit_length() <= _MOST_BITS:
        return value
    raise DocumentError(
        f"Expected metadata[{show(name)}] as str, int (up to {_MOST_BITS:,} bits), finite float, bool, date or "
        f"datetime, got {show(value)}. Leave it out, or write it as a str.",
        name=name,
    )
