"""The password is in no log, no message, no representation, no query and no variable of a traceback."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fault_world import Place, open_journaled
from memories import options
from pydantic import SecretStr

from memgraph_rag import Memory
from memgraph_rag.errors import StoreAccessDenied, StoreUnavailable
from memgraph_rag.stores import open_store

SECRET = "a-secret-that-nobody-may-see"

on_a_server = pytest.mark.parametrize("engine", ["neo4j-2026"], indirect=True)


def shown(error: BaseException) -> str:
    """All that a tool could show of an error: messages, causes, and the variables of every frame of ours."""
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    here = Path(__file__).name
    return "\n".join(part for part in report.format() if here not in part) + repr(vars(error))


def test_unavailable_server_leaves_no_password_in_logs(caplog: pytest.LogCaptureFixture) -> None:
    secret = SecretStr(SECRET)
    with caplog.at_level(logging.DEBUG), pytest.raises(StoreUnavailable) as caught:
        open_store("bolt://127.0.0.1:1", namespace="n", user="neo4j", password=secret, connect_timeout_s=0.2)
    assert SECRET not in shown(caught.value)
    assert SECRET not in caplog.text


def test_settings_show_no_password(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", neo4j={"password": SECRET}, **options()) as memory:
        settings = memory.settings
        for text in (
            repr(memory),
            repr(settings),
            str(settings),
            repr(settings.model_dump()),
            settings.model_dump_json(),
        ):
            assert SECRET not in text
        assert SECRET not in repr(memory.status())


@on_a_server
def test_wrong_password_is_not_shown(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    secret = SecretStr(SECRET)
    address: dict[str, Any] = {**place.address, "password": secret}
    with caplog.at_level(logging.DEBUG), pytest.raises(StoreAccessDenied) as caught:
        open_store(**address, namespace="n")
    assert SECRET not in shown(caught.value)
    assert SECRET not in caplog.text


@on_a_server
def test_right_password_is_in_no_log_and_no_query(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    password = place.address["password"]
    hidden = replace(place, address={**place.address, "password": SecretStr(password)})
    with caplog.at_level(logging.DEBUG):
        memory, _ = open_journaled(hidden)
        with memory:
            memory.add("Ann ran.", key="ann")
            assert password not in repr(memory._parts.store)
            assert password not in repr(vars(memory))
            running = memory._parts.store._connection.read(  # type: ignore[attr-defined]
                "look", lambda execute: execute("SHOW TRANSACTIONS YIELD metaData, currentQuery, username", {})
            )
            memory.forget("ann")
    assert password not in repr(running)
    assert {"app": "memgraph_rag", "op": "look"} in [row["metaData"] for row in running]
    assert password not in caplog.text
