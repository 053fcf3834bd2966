"""Bars of transformers: none of our loading, the host's as before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers.utils import logging

from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel
from memgraph_rag.models.files.loading_bars import hide_loading_bars


@pytest.fixture(autouse=True)
def bars_are_on() -> Iterator[None]:
    """As in a host application that has set nothing."""
    was_on = logging.is_progress_bar_enabled()
    logging.enable_progress_bar()
    yield
    if not was_on:
        logging.disable_progress_bar()


@pytest.mark.parametrize("kind", [TransformersModel, PlainModel])
def test_loading_weights_draws_no_bar(kind: Any, checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kind(checkpoint, dtype="float32", device="cpu").network is not None
    assert capsys.readouterr().err == ""


def test_bars_of_the_host_are_drawn_with_ours(capsys: pytest.CaptureFixture[str]) -> None:
    def draw() -> None:
        list(logging.tqdm(range(2), desc="host"))

    with hide_loading_bars():
        draw()
        assert capsys.readouterr().err == ""
        thread = threading.Thread(target=draw)
        thread.start()
        thread.join()
        assert "host" in capsys.readouterr().err
    draw()
    assert "host" in capsys.readouterr().err


def test_the_hosts_hook_stays() -> None:
    calls: list[str] = []

    def hook(factory: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        calls.append(kwargs["desc"])
        return factory(*args, **{**kwargs, "disable": True})

    before = logging.set_tqdm_hook(hook)
    try:
        with hide_loading_bars(), hide_loading_bars():
            list(logging.tqdm(range(1), desc="ours"))
        list(logging.tqdm(range(1), desc="host"))
        assert calls == ["host"]
        assert logging.set_tqdm_hook(hook) is hook
    finally:
        logging.set_tqdm_hook(before)
