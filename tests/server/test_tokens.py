"""Tokens: what is kept of them, whom they let in, and what becomes of a damaged folder."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest

from memgraph_rag.errors import SettingsError
from memgraph_rag.server.tokens import TokenFolder


@pytest.fixture
def folder(tmp_path: Path) -> TokenFolder:
    return TokenFolder(tmp_path / "tokens")


def test_token_leads_to_its_namespace_and_no_other_does(folder: TokenFolder) -> None:
    ann, tom = folder.make("ann", label="Ann's laptop"), folder.make("tom")
    assert ann != tom
    grants = [folder.find(token) for token in (ann, tom)]
    assert [grant.namespace for grant in grants if grant] == ["ann", "tom"]
    for wrong in ("", "mgr_", ann[:-1], f"{ann} ", ann.upper(), "../../etc/passwd", "\udc80", "x" * 100_000):
        assert folder.find(wrong) is None


def test_only_a_hash_is_kept_and_only_its_user_may_read_it(folder: TokenFolder) -> None:
    token = folder.make("ann")
    (path,) = folder.folder.iterdir()
    assert token not in path.read_text() + path.name
    assert token.removeprefix("mgr_") not in path.read_text() + path.name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.folder.stat().st_mode) == 0o700


def test_revoked_token_is_refused(folder: TokenFolder) -> None:
    ann, tom = folder.make("ann"), folder.make("tom")
    revoked = folder.revoke(folder.grants()[0].id)
    tokens = {"ann": ann, "tom": tom}
    assert folder.find(tokens.pop(revoked.namespace)) is None
    assert folder.find(*tokens.values()) is not None
    with pytest.raises(SettingsError, match=f"Expected the id of a token .*, got '{revoked.id}'"):
        folder.revoke(revoked.id)
    with pytest.raises(SettingsError):
        folder.revoke("*")
    assert len(folder.grants()) == 1


def test_token_expires(folder: TokenFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    token = folder.make("ann", days=2)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 1.9 * 86_400)
    assert folder.find(token) is not None
    monkeypatch.setattr(time, "time", lambda: now + 2.1 * 86_400)
    assert folder.find(token) is None
    assert [grant.is_expired for grant in folder.grants()] == [True]


@pytest.mark.parametrize(("namespace", "days"), [("", None), ("n" * 257, None), ("ann", 0), ("ann", 36_501)])
def test_token_that_cannot_work_is_refused(folder: TokenFolder, namespace: str, days: int | None) -> None:
    with pytest.raises(SettingsError, match="Expected"):
        folder.make(namespace, days=days)
    assert folder.grants() == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"id": "a"}', json.dumps({"namespace": "tom", "admin": True}).encode()],
)
def test_damaged_token_is_refused_listed_and_revoked(folder: TokenFolder, content: bytes) -> None:
    check_damaged(folder, folder.make("ann"), content)


@pytest.mark.parametrize(
    "change",
    [{"namespace": ["ann"]}, {"expires_at": True}, {"expires_at": 345_600_000_000 * 1000}, {"created_at": -1}],
)
def test_token_file_with_impossible_values_is_refused(folder: TokenFolder, change: dict[str, object]) -> None:
    token = folder.make("ann", days=1)
    (path,) = folder.folder.iterdir()
    check_damaged(folder, token, json.dumps(json.loads(path.read_text()) | change).encode())


def test_file_of_another_program_is_no_token(folder: TokenFolder) -> None:
    folder.make("ann")
    (folder.folder / "*.json").write_text("{}")
    assert [grant.namespace for grant in folder.grants()] == ["ann"]


def check_damaged(folder: TokenFolder, token: str, content: bytes) -> None:
    """Assert that a token whose file has this content lets nobody in, and can be listed and revoked."""
    (path,) = folder.folder.iterdir()
    path.write_bytes(content)
    assert folder.find(token) is None
    (grant,) = folder.grants()
    assert (grant.is_damaged, grant.namespace) == (True, "")
    assert folder.revoke(grant.id) == grant
    assert folder.grants() == []
