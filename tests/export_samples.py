"""Small exports of other programs, in the shapes in which the programs write them, with what each must yield."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _node(name: str, parent: str | None, role: str, text: str, at: float | None, **more: Any) -> dict[str, Any]:
    message = {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        **more,
    }
    return {"id": name, "message": message, "parent": parent, "children": []}


def chatgpt(folder: Path) -> Path:
    """A conversation with an answer that was regenerated, a hidden instruction, a tool, thoughts and a text file."""
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": ["s"]},
        _node("s", "root", "system", "", None, metadata={"is_visually_hidden_from_conversation": True}),
        _node(
            "q", "s", "user", "Which boat has Ann?", 1714557600.25, metadata={"attachments": [{"name": "boats.txt"}]}
        ),
        _node("old", "q", "assistant", "A blue canoe.", 1714557610.0),
        _node("t", "q", "assistant", "", 1714557611.0, content={"content_type": "thoughts", "thoughts": []}),
        _node("call", "t", "assistant", "search('boat')", 1714557612.0, recipient="browser"),
        _node("tool", "call", "tool", "found", 1714557613.0),
        _node("new", "tool", "assistant", "A red kayak.", 1714557620.0),
    ]
    conversation = {
        "title": "Boats",
        "create_time": 1714557600.25,
        "update_time": 1714557620.0,
        "mapping": {node["id"]: node for node in nodes},
        "current_node": "new",
        "conversation_id": "6632-aa",
        "id": "6632-aa",
    }
    path = folder / "chatgpt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([conversation]))
        archive.writestr("file-9XyZ-boats.txt", "unused")
        archive.writestr("files/boats.txt", "Ann: kayak, red")
        archive.writestr("user.json", "{}")
    return path


def claude(folder: Path) -> Path:
    conversation = {
        "uuid": "c1-uuid",
        "name": "Bread",
        "created_at": "2024-05-01T10:00:00.000000Z",
        "updated_at": "2024-05-01T10:01:00.000000Z",
        "account": {"uuid": "a1"},
        "chat_messages": [
            {
                "uuid": "m1",
                "text": "Read my recipe.",
                "content": [{"type": "text", "text": "Read my recipe."}],
                "sender": "human",
                "created_at": "2024-05-01T10:00:00.000000Z",
                "attachments": [{"file_name": "rye.txt", "file_type": "txt", "extracted_content": "500 g rye"}],
                "files": [{"file_name": "rye.txt"}],
            },
            {
                "uuid": "m2",
                "text": "It rises twice.",
                "content": [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "It rises twice."}],
                "sender": "assistant",
                "created_at": "2024-05-01T10:01:00.000000Z",
                "attachments": [],
                "files": [],
            },
        ],
    }
    return _json(folder / "conversations.json", [conversation])


def gemini(folder: Path) -> Path:
    entries = [
        {
            "header": "Gemini Apps",
            "title": "Prompted Name a tall tree",
            "time": "2024-05-01T10:00:00.000Z",
            "products": ["Gemini Apps"],
            "activityControls": ["Gemini Apps Activity"],
            "safeHtmlItem": [{"html": "<p>The <b>redwood</b>.</p>"}],
        },
        {"header": "Gemini Apps", "title": "Used an Assistant feature", "time": "2024-05-01T10:05:00.000Z"},
        {"header": "YouTube", "title": "Watched a film", "time": "2024-05-01T11:00:00.000Z", "products": ["YouTube"]},
    ]
    path = folder / "Takeout" / "My Activity" / "Gemini Apps" / "MyActivity.json"
    path.parent.mkdir(parents=True)
    _json(path, entries)
    return folder / "Takeout"


def slack(folder: Path) -> Path:
    people = [
        {"id": "U1", "name": "ann", "profile": {"display_name": "Ann", "real_name": "Ann Lee"}},
        {"id": "U2", "name": "bob"},
    ]
    may = [
        {
            "type": "message",
            "user": "U1",
            "text": "Ship <@U2> &amp; rest on <https://a.b|the page>?",
            "ts": "1714557600.000100",
            "thread_ts": "1714557600.000100",
        },
        {"type": "message", "subtype": "channel_join", "user": "U2", "text": "joined", "ts": "1714557601.000100"},
        {"type": "message", "user": "U2", "text": "Lunch is at noon.", "ts": "1714557700.000100"},
    ]
    june = [
        {
            "type": "message",
            "user": "U2",
            "text": "Shipped.",
            "ts": "1717236000.000100",
            "thread_ts": "1714557600.000100",
        }
    ]
    path = folder / "slack.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", json.dumps(people))
        archive.writestr("channels.json", json.dumps([{"id": "C1", "name": "ships", "members": ["U1", "U2"]}]))
        archive.writestr("dms.json", json.dumps([{"id": "D1", "members": ["U1", "U2"]}]))
        archive.writestr("ships/2024-05-01.json", json.dumps(may))
        archive.writestr("ships/2024-06-01.json", json.dumps(june))
    return path


def discord(folder: Path) -> Path:
    def message(name: str, time: str, text: str, kind: str = "Default") -> dict[str, Any]:
        author = {"id": "5", "name": "ann", "discriminator": "0", "nickname": "Ann", "isBot": False}
        return {"id": name, "type": kind, "timestamp": time, "content": text, "author": author, "attachments": []}

    export = {
        "guild": {"id": "1", "name": "Boats"},
        "channel": {"id": "2", "type": "GuildTextChat", "category": "Text", "name": "general", "topic": None},
        "dateRange": {"after": None, "before": None},
        "messages": [
            message("10", "2024-05-01T10:00:00+00:00", "The kayak is red."),
            message("11", "2024-05-01T10:01:00+00:00", "Pinned a message.", "ChannelPinnedMessage"),
            message("12", "2024-06-01T10:00:00+00:00", "It sank."),
        ],
        "messageCount": 3,
    }
    return _json(folder / "Boats - general [2].json", export)


def telegram(folder: Path) -> Path:
    chat = {
        "name": "Bob",
        "type": "personal_chat",
        "id": 77,
        "messages": [
            {"id": 1, "type": "service", "date": "2024-05-01T09:00:00", "action": "phone_call", "text": ""},
            {
                "id": 2,
                "type": "message",
                "date": "2024-05-01T12:00:00",
                "date_unixtime": "1714557600",
                "from": "Bob",
                "from_id": "user5",
                "text": ["Look at ", {"type": "link", "text": "https://a.b"}, "!"],
            },
            {
                "id": 3,
                "type": "message",
                "date": "2024-05-01T12:01:00",
                "date_unixtime": "1714557660",
                "from": "Bob",
                "from_id": "user5",
                "forwarded_from": "Tom",
                "text": "I live in Rome.",
            },
        ],
    }
    return _json(folder / "result.json", {"about": "…", "chats": {"about": "…", "list": [chat]}})


def whatsapp(folder: Path) -> Path:
    lines = [
        "[31.05.24, 09:59:00] Kayak club: \u200eMessages and calls are end-to-end encrypted.",
        "[31.05.24, 10:00:00] Ann: The kayak is red.",
        "It has two seats.",
        "\u200e[01.06.24, 10:01:00] Bob: \u200e<attached: 00000012-list.txt>",
        "[01.06.24, 10:02:00] Bob: \u200e<Media omitted>",
    ]
    path = folder / "WhatsApp Chat - Kayak club.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_chat.txt", "\r\n".join(lines))
        archive.writestr("00000012-list.txt", "paddle, vest")
    return path


def mail(folder: Path) -> Path:
    mails = [
        "From ann@a.b Wed May  1 10:00:00 2024",
        "From: Ann Lee <ann@a.b>",
        "Subject: The kayak",
        "Message-ID: <1@a.b>",
        "Date: Wed, 01 May 2024 12:00:00 +0200",
        "",
        "It is red.",
        ">From here you see it.",
        "",
        "From bob@a.b Wed May  1 11:00:00 2024",
        "From: =?utf-8?q?Bob_M=C3=BCller?= <bob@a.b>",
        "Subject: Re: The kayak",
        "Message-ID: <2@a.b>",
        "In-Reply-To: <1@a.b>",
        "Date: Wed, 01 May 2024 11:00:00 +0000",
        "Content-Type: text/html; charset=utf-8",
        "",
        "<p>I <i>like</i> red.</p>",
        "",
    ]
    path = folder / "inbox.mbox"
    path.write_bytes("\n".join(mails).encode())
    return path


def _json(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), "utf-8")
    return path


SAMPLES: dict[str, tuple[Callable[[Path], Path], dict[str, tuple[str, str]]]] = {
    "chatgpt": (
        chatgpt,
        {
            "chatgpt/6632-aa": (
                "Boats",
                "user (2024-05-01T10:00:00+00:00): Which boat has Ann?\n\n[boats.txt]\nAnn: kayak, red\n\n"
                "assistant (2024-05-01T10:00:20+00:00): A red kayak.",
            )
        },
    ),
    "claude": (
        claude,
        {
            "claude/c1-uuid": (
                "Bread",
                "user (2024-05-01T10:00:00.000000Z): Read my recipe.\n\n[rye.txt]\n500 g rye\n\n"
                "assistant (2024-05-01T10:01:00.000000Z): It rises twice.",
            )
        },
    ),
    "gemini": (
        gemini,
        {
            "gemini/2024-05-01": (
                "Gemini, 2024-05-01",
                "user (2024-05-01T10:00:00.000Z): Name a tall tree\n\n"
                "assistant (2024-05-01T10:00:00.000Z): The redwood.",
            )
        },
    ),
    "slack": (
        slack,
        {
            "slack/C1/2024-05": (
                "#ships",
                "Ann (2024-05-01T10:00:00+00:00): Ship @bob & rest on the page (https://a.b)?\n\n"
                "bob (2024-06-01T10:00:00+00:00): Shipped.\n\nbob (2024-05-01T10:01:40+00:00): Lunch is at noon.",
            )
        },
    ),
    "discord": (
        discord,
        {
            "discord/2/2024-05": ("Boats / general", "Ann (2024-05-01T10:00:00+00:00): The kayak is red."),
            "discord/2/2024-06": ("Boats / general", "Ann (2024-06-01T10:00:00+00:00): It sank."),
        },
    ),
    "telegram": (
        telegram,
        {
            "telegram/77/2024-05": (
                "Bob",
                "Bob (2024-05-01T10:00:00+00:00): Look at https://a.b!\n\n"
                "Tom (2024-05-01T10:01:00+00:00): I live in Rome.",
            )
        },
    ),
    "whatsapp": (
        whatsapp,
        {
            "whatsapp/WhatsApp Chat - Kayak club/2024-05": (
                "WhatsApp Chat - Kayak club",
                "Ann (2024-05-31T10:00:00): The kayak is red.\nIt has two seats.",
            ),
            "whatsapp/WhatsApp Chat - Kayak club/2024-06": (
                "WhatsApp Chat - Kayak club",
                "Bob (2024-06-01T10:01:00): <attached: 00000012-list.txt>\n\n[00000012-list.txt]\npaddle, vest",
            ),
        },
    ),
    "mail": (
        mail,
        {
            "mail/1@a.b": (
                "The kayak",
                "Ann Lee (2024-05-01T10:00:00+00:00): It is red.\nFrom here you see it.\n\n"
                "Bob Müller (2024-05-01T11:00:00+00:00): I like red.",
            )
        },
    ),
}
"""For each format a function that writes a sample into a folder, and title and text of each document by its key."""
