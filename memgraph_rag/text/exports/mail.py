"""Read mail: an mbox, one ``.eml`` file, or a folder or archive of them. A thread is one document.

Invariants: a mail that names the mails before it (``References``, ``In-Reply-To``) is in the document of the first of
them; lines that a reply quotes from its own thread are left out. Source: RFC 5322; Python's ``email`` parses the mails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timezone
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parseaddr
from pathlib import Path, PurePosixPath

from memgraph_rag.errors import DocumentError
from memgraph_rag.text.exports.conversations import append_attachments, chat_document, make_message, read_all
from memgraph_rag.text.exports.export_files import ExportFiles
from memgraph_rag.text.markup import read_html
from memgraph_rag.types import Document, Failure, Message

_BEGIN = re.compile(rb"^From .*\r?\n", re.MULTILINE)  # of a mail in an mbox
_ID = re.compile(r"<([^<>\s]+)>")
_QUOTED = re.compile(r"^>.*\n?", re.MULTILINE)
_REPLY = re.compile(r"(?:(?:re|aw|fwd?|wg|sv|tr)\s*:\s*)+", re.IGNORECASE)
_SUFFIXES = (".eml", ".mbox")
_MOST_HEADER = 2_000  # characters: to parse a header takes the square of its length


@dataclass(frozen=True, slots=True)
class _Mail:
    id: str
    ancestors: tuple[str, ...]
    subject: str
    message: Message | None


class _ShortHeaders(policy.EmailPolicy):
    """Python's policy of mails, with the first characters of each header."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Return the name of a header and the beginning of its value."""
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_MOST_HEADER]


def _names(files: ExportFiles) -> list[str]:
    named = [name for name in files.names if name.lower().endswith(_SUFFIXES) or PurePosixPath(name).name == "mbox"]
    is_mbox = len(files.names) == 1 and files.head(files.names[0]).startswith(b"From ")  # Thunderbird's have no suffix
    return named or (files.names if is_mbox else [])


def matches(files: ExportFiles) -> bool:
    """Return whether the files are mails."""
    return bool(_names(files))


def read(files: ExportFiles) -> Iterator[Document | Failure]:
    """Yield a document for each thread of mails, and a ``Failure`` for each mail that cannot be read."""
    threads: dict[str, list[_Mail]] = {}
    roots: dict[str, str] = {}
    for name in _names(files):
        for number, raw in enumerate(_split(files.read(name))):
            try:
                mail = _parse(raw)
            except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:  # of ``email``
                problem = DocumentError(
                    f"Expected a mail, got one with broken headers: {type(error).__name__}. Save it again."
                )
                problem.__cause__ = error
                yield Failure(f"{name} mail {number}", problem)
                continue
            known = next((roots[item] for item in (*mail.ancestors, mail.id) if item in roots), None)
            root = known or (mail.ancestors[0] if mail.ancestors else mail.id)
            roots.update(dict.fromkeys((mail.id, *mail.ancestors), root))
            threads.setdefault(root, []).append(mail)
    yield from read_all(threads.items(), lambda item: _convert(*item), "mail thread")


def _split(data: bytes) -> Iterator[bytes]:
    """Yield the mails of an mbox; a single mail as it is."""
    starts = [
        match
        for match in _BEGIN.finditer(data)
        if not match.start() or data[max(match.start() - 4, 0) : match.start()].endswith((b"\n\n", b"\r\n\r\n"))
    ]
    if not starts or starts[0].start():
        yield data
        return
    for begin, end in zip(starts, [*(match.start() for match in starts[1:]), len(data)], strict=True):
        yield data[begin.end() : end].replace(b"\n>From ", b"\nFrom ")


def _parse(raw: bytes) -> _Mail:
    mail = message_from_bytes(raw, policy=_ShortHeaders())
    assert isinstance(mail, EmailMessage)
    sender = str(mail.get("From", ""))
    name, address = parseaddr(sender)
    ids = _ID.findall(f"{mail.get('References', '')} {mail.get('In-Reply-To', '')}")
    own = _ID.findall(str(mail.get("Message-ID", "")))
    subject = str(mail.get("Subject", ""))
    date = getattr(mail.get("Date"), "datetime", None)
    moment = (
        None if date is None else (date.astimezone(timezone.utc) if date.tzinfo else date).isoformat(timespec="seconds")
    )
    text = append_attachments(_body(mail), list(_attachments(mail)))
    own_id = own[0] if own else f"{moment or 'undated'} {address} {subject}"
    return _Mail(own_id, tuple(dict.fromkeys(ids)), subject, make_message(name or address, text, moment))


def _body(mail: EmailMessage) -> str:
    part = mail.get_body(("plain", "html"))
    if part is None:
        return ""
    text = _content(part)
    if part.get_content_subtype() != "html" or not text.strip():
        return text
    try:
        return read_html(text, Path("mail"))[0]
    except DocumentError:
        return ""


def _attachments(mail: EmailMessage) -> Iterator[tuple[str, str]]:
    for part in mail.iter_attachments():
        if part.get_content_maintype() == "text":
            yield part.get_filename() or "attachment", _content(part)


def _content(part: MIMEPart) -> str:
    try:
        content = part.get_content()
    except (LookupError, ValueError, AttributeError):  # an unknown encoding
        content = (part.get_payload(decode=True) or b"").decode("utf-8", "replace")  # pyright: ignore[reportAttributeAccessIssue]
    return content.replace("\r\n", "\n") if isinstance(content, str) else ""


def _convert(root: str, mails: list[_Mail]) -> Iterator[Document]:
    mails = sorted(mails, key=lambda mail: (mail.message.time or "") if mail.message else "")
    ids = {mail.id for mail in mails}
    messages: dict[str, Message | None] = {}
    for mail in mails:
        message = mail.message
        if message is not None and ids.intersection(mail.ancestors):
            message = make_message(message.role, _QUOTED.sub("", message.content), message.time)
        messages.setdefault(mail.id, message)  # a mail may lie in two folders
    title = next((subject for mail in mails if (subject := _REPLY.sub("", mail.subject))), "")
    yield from chat_document("mail", root, title, messages.values())
