"""Secrets are found in many forms, and ordinary text has none."""

from __future__ import annotations

import json
import random
import re
import string
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memories import fakes
from tables import table

from memgraph_rag.errors import DocumentError
from memgraph_rag.memory import Memory
from memgraph_rag.text.secrets import find_secrets, mask_secrets
from memgraph_rag.types import Failure, Receipt

DATA = Path(__file__).parents[2] / "benchmarks" / "data"
LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
Planted = tuple[str, str, str]  # what is before the secret, the secret, and what follows


class Forge:
    """Makes secrets of many kinds that no service issued."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def some(self, length: int, characters: str = LETTERS) -> str:
        return "".join(self._random.choice(characters) for _ in range(length))

    def card(self) -> str:
        prefix, length = self._random.choice([("4", 16), ("53", 16), ("37", 15), ("6011", 16)])
        digits = prefix + self.some(length - len(prefix) - 1, string.digits)
        doubled = [int(digit) * (1 + (index % 2 == 0)) for index, digit in enumerate(digits[::-1])]
        number = digits + str(-sum(each - 9 * (each > 9) for each in doubled) % 10)
        return number if self._random.random() < 0.5 else re.sub(r"(\d{4})(?=\d)", r"\1 ", number)

    def iban(self) -> str:
        country, length = self._random.choice([("DE", 22), ("FR", 27), ("AT", 20), ("GB", 22)])
        account = (self.some(4, string.ascii_uppercase) if country == "GB" else "") + self.some(
            length - 4 - 4 * (country == "GB"), string.digits
        )
        check = 98 - int("".join(str(int(each, 36)) for each in f"{account}{country}00")) % 97
        number = f"{country}{check:02}{account}"
        return number if self._random.random() < 0.5 else re.sub(r"(\w{4})(?=\w)", r"\1 ", number)

    def json_token(self) -> str:
        parts = [
            urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
            for part in ({"alg": "HS256"}, {"sub": self.some(9)})
        ]
        return ".".join([*parts, self.some(43)])

    def kinds(self) -> dict[str, Callable[[], Planted]]:
        some = self.some
        key = "\n".join(some(64, f"{LETTERS}+/") for _ in range(6))
        return {
            "AWS id": lambda: ("", f"AKIA{some(16, UPPER)}", ""),
            "AWS secret": lambda: ("aws_secret_access_key = ", some(40, f"{LETTERS}+/"), ""),
            "GitHub": lambda: ("", f"ghp_{some(36)}", ""),
            "GitLab": lambda: ("", f"glpat-{some(20)}", ""),
            "Slack": lambda: ("", f"xoxb-{some(12, string.digits)}-{some(24)}", ""),
            "Slack hook": lambda: ("https://hooks.slack.com/services/", f"T{some(8, UPPER)}/B{some(8)}/{some(24)}", ""),
            "Stripe": lambda: ("", f"sk_live_{some(24)}", ""),
            "OpenAI": lambda: ("", f"sk-proj-{some(48)}", ""),
            "Anthropic": lambda: ("", f"sk-ant-api03-{some(80)}", ""),
            "Google": lambda: ("", f"AIza{some(35)}", ""),
            "npm": lambda: ("", f"npm_{some(36)}", ""),
            "SendGrid": lambda: ("", f"SG.{some(22)}.{some(43)}", ""),
            "Telegram": lambda: ("", f"{some(9, '123456789')}:AA{some(33)}", ""),
            "Hugging Face": lambda: ("", f"hf_{some(34)}", ""),
            "JSON web token": lambda: ("", self.json_token(), ""),
            "private key": lambda: ("-----BEGIN RSA PRIVATE KEY-----", f"\n{key}\n", "-----END RSA PRIVATE KEY-----"),
            "address": lambda: ("postgres://app:", some(12), "@db.example.org/app"),
            "card": lambda: ("", self.card(), ""),
            "account": lambda: ("", self.iban(), ""),
            "password": lambda: self._random.choice(
                [("password: ", some(10), ""), ("my password is ", f"{some(8)}!", ""), ('"password": "', some(12), '"')]
            ),
        }  # fmt: skip


FRAMES = (
    "Please use {} for the new server.",
    "{}",
    "Hi Ann, here it is: {} - tell nobody.",
    "I wrote {} down.",
    "set\n{}\nnow",
)


def test_95_of_100_planted_secrets_are_found() -> None:
    forge, missed = Forge(seed=61), []
    for kind, make in forge.kinds().items():
        for number in range(10):
            before, secret, after = make()
            text = FRAMES[number % len(FRAMES)].format(f"{before}{secret}{after}")
            start = text.index(before + secret) + len(before)
            hits = find_secrets(text)
            if not any(hit.start <= start + 1 and start + len(secret) - 1 <= hit.end for hit in hits):
                missed.append((kind, text))
    assert len(missed) <= 10, missed


def test_ordinary_sentences_are_not_marked() -> None:
    """At most one of 1,000: 2,000 sentences of the samples of the benchmarks."""
    text = "\n".join(path.read_text("utf-8") for path in sorted(DATA.rglob("*.txt"))[:20])
    sentences = [each for each in re.split(r"(?<=[.!?])\s+|\\n", text) if len(each) > 20][:2_000]
    assert len(sentences) >= 1_000
    assert sum(bool(find_secrets(each)) for each in sentences) <= len(sentences) // 1_000


@table(
    "text",
    [
        "The number 4111 1111 1111 1112 has a wrong check digit.",
        "DE89 3704 0044 0532 0130 01 has a wrong check digit.",
        "password = os.environ['PASSWORD']",
        "The password is required to continue.",
        "api_key=api_key, token: str, secret=get_secret()",
        "password: ${PASSWORD}",
        "sk-learn-contrib-package-for-everybody",
        "https://example.org:8080/path@home",
    ],
)
def test_similar_text_is_no_secret(text: str) -> None:
    assert find_secrets(text) == []


def test_mask_keeps_length_and_white_space() -> None:
    text = "Pay with 4111 1111 1111 1111 now."
    assert mask_secrets(text, find_secrets(text)) == "Pay with **** **** **** **** now."


def open_memory(redact: str) -> Memory:
    return Memory(":memory:", **fakes(), redact=redact)


CARD = "Ann pays with 4111 1111 1111 1111 for the red fox."
MASKED = "Ann pays with **** **** **** **** for the red fox."


@table(
    "redact, stored, notes",
    [("off", CARD, {}), ("mark", CARD, {"secret: card number": 1}), ("mask", MASKED, {"masked: card number": 1})],
)
def test_document_and_turn_are_redacted_alike(redact: str, stored: str, notes: dict[str, int]) -> None:
    with open_memory(redact) as memory:
        first, again = memory.add(CARD, key="a"), memory.add(CARD, key="a")
        turns = memory.session(user="ann", session="1").add([{"role": "user", "content": CARD}])
        texts = [each.segment.text for each in memory.search("red fox", k=9)]
    assert (first.notes, again.notes, again.action.value) == (notes, {}, "unchanged")
    assert turns.notes == notes
    assert stored in texts
    assert f"user: {stored}" in [text.strip() for text in texts]


def test_unchanged_document_is_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_memory("mark") as memory:
        memory.add(CARD, key="a")
        monkeypatch.setattr("memgraph_rag.ingestion.redaction.find_secrets", None)
        assert memory.add(CARD, key="a").action.value == "unchanged"


def test_refused_secret_leaves_the_others() -> None:
    with open_memory("refuse") as memory:
        outcomes = list(memory.add_many([CARD, "It rained."]))
        with pytest.raises(DocumentError, match="without secrets, got card number"):
            memory.session(user="ann", session="1").add([{"role": "user", "content": CARD}])
        assert [type(outcome) for outcome in outcomes] == [Failure, Receipt]
        assert len(memory.documents()) == 1


@pytest.mark.parametrize("make", [str, lambda text: [{"role": "ann", "content": text}]])
@pytest.mark.parametrize("metadata", [None, {"user": "ann"}])
def test_key_of_masked_text_does_not_tell_the_secret(make: Any, metadata: Any) -> None:
    """A hash of the text with its secret could be compared with hashes of guesses."""
    with open_memory("mask") as memory:
        texts = (CARD, CARD.replace("4111 1111 1111 1111", "4012 8888 8888 1881"), CARD)
        keys = [memory.add(make(text), metadata=metadata).key for text in texts]
        assert keys == [memory.documents()[0].key] * 3
        assert memory.add(make(CARD), key="mine", metadata=metadata).key == "mine"


def test_mask_reaches_title_and_metadata() -> None:
    with open_memory("mask") as memory:
        memory.add("It rained.", key="a", title=CARD, metadata={"note": CARD, "day": 3})
        (record,) = memory.documents()
    assert (record.title, record.metadata) == (MASKED, {"note": MASKED, "day": 3})
