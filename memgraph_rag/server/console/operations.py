"""The operations of the REST API in addition to the seven tools: what the console needs, for any program.

They know ``Memory`` and the context of a call, as the tools do, and no page. Invariants: a call reaches the namespace
of its token; a file is sent by its content, never named by a path; the operations of the owner exist only on a server
that was started for its owner (``memgraph-rag ui``).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from inspect import getdoc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, StrictInt

from memgraph_rag.errors import DocumentError
from memgraph_rag.server.console.readings import list_questions, read_around, read_document, read_question
from memgraph_rag.server.console.results import (
    Checks,
    FailureList,
    Found,
    FoundPassage,
    Graph,
    KeptQuestions,
    Statements,
    Tokens,
    WalkedQuestion,
    WholeDocument,
)
from memgraph_rag.server.results import Remembered
from memgraph_rag.server.services import Call, Owner, find_services
from memgraph_rag.server.tools import Metadata, Mode, Names, Session, ToolEntry, User, hints, scope_fields, store

if TYPE_CHECKING:
    from memgraph_rag import Memory

_MOST_NEIGHBOURS = 500
_MOST_STATEMENTS = 5_000
_MOST_ON_MAP = 200_000
_MOST_FILE_NAME = 60  # characters, of at most four bytes each
_UNSAFE = re.compile(r"[^\w .-]")  # in the name of a file that is written

Since = Annotated[str, Field(description="Only what was said from this day or time on.")]
Until = Annotated[str, Field(description="Only what was said before this day or time.")]
At = Annotated[str, Field(description="Only what was said until this day or time. Do not combine with until.")]
Where = Annotated[Metadata | None, Field(description="Only documents whose metadata have all these values.")]


def search(
    *,
    call: Call,
    query: Annotated[str, Field(description="A question, a sentence or some words.")],
    k: Annotated[int, Field(description="The largest number of passages.", ge=1, le=100)] = 10,
    mode: Mode = "graph",
    documents: Names = None,
    user: User = "",
    session: Session = "",
    where: Where = None,
    since: Since = "",
    until: Until = "",
    at: At = "",
) -> Found:
    """Search as recall does, and return with each passage its score, its rank in each list and the share of names."""
    scope = scope_fields(documents=documents, user=user, session=session, where=where, since=since, until=until, at=at)
    evidence = _memory(call).search(query, k=k, mode=mode, **scope)
    return Found(passages=[FoundPassage.model_validate(item.as_dict()) for item in evidence])


def document(*, call: Call, name: Annotated[str, Field(description="The key or id of a document.")]) -> WholeDocument:
    """Return a document with its text, and the segments, outline, points, names and relations in it."""
    return read_document(_memory(call), name)


def around(
    *,
    call: Call,
    name: Annotated[str, Field(description="A key, a name, the text of a kept question, or an id.")],
    kind: Annotated[
        Literal["document", "entity", "question", "overview"] | None,
        Field(description="The kind of the thing, if things of several kinds have this name."),
    ] = None,
    most: Annotated[StrictInt, Field(description="The most neighbours of each kind.", ge=1, le=_MOST_NEIGHBOURS)] = 40,
) -> Graph:
    """Return the neighbourhood of a thing with the ids of its nodes, so that a program can walk on from any of them."""
    return read_around(_memory(call).around(name, kind=kind, most=most))


def whole_map(
    *,
    call: Call,
    most: Annotated[StrictInt, Field(description="The most nodes.", ge=1, le=_MOST_ON_MAP)] = 20_000,
) -> bytes:
    """Return the map of the memory as bytes: the length of a JSON object, the object, and three arrays.

    All numbers have 32 bits and are little-endian; the length and the edges are unsigned integers, the others floats.
    The object has ``version``, ``documents`` (how many of the nodes are documents; the others are names), ``names`` (of
    the nodes, in order), ``edges`` (their number) and ``left_out``; blanks fill it up to a multiple of four bytes. The
    arrays are the places of the nodes (two numbers each), their sizes, and the edges (the places of both ends in
    ``names``).
    """
    drawn = _memory(call).map(most=most)
    about = {name: getattr(drawn, name) for name in ("version", "documents", "names", "left_out")}
    about["edges"] = len(drawn.edges)
    head = json.dumps(about).encode()
    head += b" " * (-len(head) % 4)
    arrays = (drawn.positions.astype("<f4"), drawn.sizes.astype("<f4"), drawn.edges.astype("<u4"))
    return b"".join((len(head).to_bytes(4, "little"), head, *(array.tobytes() for array in arrays)))


def statements(
    *,
    call: Call,
    user: User = "",
    session: Session = "",
    since: Since = "",
    until: Until = "",
    at: At = "",
    limit: Annotated[StrictInt, Field(description="The most statements.", ge=1, le=_MOST_STATEMENTS)] = 1_000,
) -> Statements:
    """Return the statements of people about themselves, and whether they still hold. The layer facts finds them."""
    scope = scope_fields(user=user, session=session, since=since, until=until, at=at)
    found = _memory(call).scoped(**scope).statements()
    left_out = max(0, len(found) - limit)
    return Statements(statements=found[:limit], left_out=left_out)


def questions(*, call: Call) -> KeptQuestions:
    """Return the kept questions, newest first."""
    return list_questions(_memory(call))


def question(
    *, call: Call, name: Annotated[str, Field(description="The id or text of a kept question.")]
) -> WalkedQuestion:
    """Return a kept question with its answer and all that was read for it, in order."""
    return read_question(_memory(call), name)


def add_file(
    *,
    call: Call,
    name: Annotated[str, Field(description="The file's name. Its ending says how to read it: .txt, .md, .html, .pdf.")],
    content: Annotated[str, Field(description="The bytes of the file, in base 64.")],
    key: Annotated[str, Field(description="A name for the document. Default: the file's name.")] = "",
    metadata: Where = None,
) -> Remembered:
    """Store a file, read by its ending, under its name. The same key again replaces the document.

    Raises:
        DocumentError: the content is no base 64, or the file cannot be read as text.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / (_UNSAFE.sub("_", Path(name).name)[-_MOST_FILE_NAME:].strip(". ") or "file")
        file.write_bytes(_decode(content))
        try:
            return store(call, file, key=key or name, metadata=metadata)
        except DocumentError as error:  # the caller knows no path of this machine
            raise DocumentError(str(error).replace(str(file), file.name)) from error


def _decode(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DocumentError(f"Expected the bytes of a file in base 64, got other text ({error}). Encode it.") from error


def failures(*, call: Call) -> FailureList:
    """Return the last calls over REST that failed by the server's fault since its start, newest first."""
    services = find_services(call)
    return FailureList(failures=services.failures.list_failures(services.caller_namespace()))


def checks(*, call: Call) -> Checks:
    """Run the checks of memgraph-rag doctor. It takes seconds."""
    return Checks(checks=[*_owner(call).examine()])


def tokens(*, call: Call) -> Tokens:
    """Return the tokens of this machine's servers, without their secrets."""
    return _list_tokens(_owner(call))


def make_token(
    *,
    call: Call,
    namespace: Annotated[str, Field(description="The only namespace that the token reaches.")],
    label: Annotated[str, Field(description="A note for the owner.")] = "",
    days: Annotated[int | None, Field(description="The days until the token expires. Default: never.")] = None,
) -> Tokens:
    """Create a token, and return its secret with the list of all tokens."""
    owner = _owner(call)
    secret = owner.tokens.make(namespace, label=label, days=days)
    return _list_tokens(owner, made=secret)


def revoke_token(*, call: Call, id: Annotated[str, Field(description="The id of a token.")]) -> Tokens:  # noqa: A002
    """Revoke a token, and return the list of the others. Servers refuse it from the next request on."""
    owner = _owner(call)
    owner.tokens.revoke(id)
    return _list_tokens(owner)


def _list_tokens(owner: Owner, *, made: str = "") -> Tokens:
    return Tokens(tokens=owner.tokens.grants(), made=made)


def _owner(call: Call) -> Owner:
    owner = find_services(call).owner
    assert owner is not None  # the operations exist only with one
    return owner


def _memory(call: Call) -> Memory:
    return find_services(call).memory


def _entry(function: Callable[..., Any], title: str, **effects: bool) -> ToolEntry:
    """Return an operation that is described by its docstring."""
    return ToolEntry(function, title, (getdoc(function) or "").partition("\n\nRaises")[0], hints(**effects))


OPERATIONS = (
    _entry(search, "Search", reads=True),
    _entry(document, "Document", reads=True),
    _entry(around, "Around", reads=True),
    _entry(whole_map, "Map", reads=True),
    _entry(statements, "Statements", reads=True),
    _entry(failures, "Failures", reads=True),
    _entry(questions, "Kept questions", reads=True),
    _entry(add_file, "Add a file", destroys=True),
    _entry(question, "A kept question", reads=True),
)
"""The operations of each server over HTTP in addition to the tools, in the order of its description."""

OWNER_OPERATIONS = (
    _entry(checks, "Checks", reads=True),
    _entry(tokens, "Tokens", reads=True),
    _entry(make_token, "Create a token", repeats=False),
    _entry(revoke_token, "Revoke a token", destroys=True, repeats=False),
)
"""The further operations of a server for its owner alone."""
