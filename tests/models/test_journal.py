"""What a build has finished is not done again."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np
import pytest
from architectures import write_checkpoint

from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.files import journal as journal_module
from memgraph_rag.models.files.journal import Journal, journal_key
from memgraph_rag.types import Generation, Prompt, Usage

PROMPTS = [
    Prompt("Write a list of summary points.", (f"Number {number} ran home.", "It rained.")) for number in range(4)
]
MOST = 6


def generation(text: str = "One.") -> Generation:
    return Generation(
        text, np.array([[0, 4]], np.int64), np.array([[0.25, 0.5]], np.float32), "end", Usage(5, 1, 1, 0.5)
    )


def same(reply: Generation, other: Generation) -> bool:
    return (
        replace(reply, offsets=None, attention=None) == replace(other, offsets=None, attention=None)
        and np.array_equal(reply.offsets, other.offsets)
        and np.array_equal(reply.attention, other.attention)
        and reply.attention.dtype == other.attention.dtype
    )


def test_owner_sees_only_its_own_entries(tmp_path):
    mine, theirs = Journal(tmp_path, owner="me"), Journal(tmp_path, owner="they")
    mine.keep("a", generation("Mine."))
    theirs.keep("a", generation("Theirs."))
    assert mine.find("b") is None
    mine.clear()
    kept = theirs.find("a")
    assert mine.find("a") is None
    assert kept is not None
    assert kept.text == "Theirs."


def test_settled_journal_is_gone_for_other_processes(tmp_path):
    Journal(tmp_path / "journal").keep("a", generation("Ünique 🐇\nline"))
    later = Journal(tmp_path / "journal")
    assert later.find("b") is None
    kept = later.find("a")
    assert kept is not None
    assert same(kept, replace(generation("Ünique 🐇\nline"), was_kept=True))
    later.settle()
    assert Journal(tmp_path / "journal").find("a") is None
    assert list((tmp_path / "journal").iterdir()) == []


def test_settling_keeps_entries_of_other_builds(tmp_path):
    Journal(tmp_path).keep("theirs", generation())
    mine = Journal(tmp_path)
    mine.keep("mine", generation())
    mine.settle()
    assert mine.find("mine") is None
    assert mine.find("theirs") is not None


def test_task_and_schema_are_part_of_key():
    asked = [
        journal_key("m", Prompt("a", ("b",), task), 9, None, schema)
        for task in ("", "c")
        for schema in (None, {"type": "object"}, {"type": "array"})
    ]
    assert len(set(asked)) == len(asked)
    assert journal_key("m", PROMPTS[0], 9, None) == journal_key("m", PROMPTS[0], 9, None, None)


def test_journal_is_readable_by_its_user_only(tmp_path):
    Journal(tmp_path / "journal").keep("a", generation())
    assert (tmp_path / "journal").stat().st_mode & 0o077 == 0
    assert (tmp_path / "journal" / "a.npz").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 torn", b"not an archive"])
def test_damaged_entry_is_not_found(tmp_path, damage):
    kept = Journal(tmp_path)
    kept.keep("a", generation())
    (tmp_path / "a.npz").write_bytes(damage)
    assert Journal(tmp_path).find("a") is None


def test_entry_with_flipped_bit_is_not_found(tmp_path):
    kept = Journal(tmp_path)
    kept.keep("a", generation())
    whole = (tmp_path / "a.npz").read_bytes()
    for place in range(len(whole)):
        (tmp_path / "a.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 8]) + whole[place + 1 :])
        assert kept.find("a") is None


def test_journal_without_a_folder_keeps_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    kept = Journal(tmp_path / "file" / "journal")
    kept.keep("a", generation())
    assert kept.find("a") is None
    kept.clear()


def test_journal_removes_old_and_excess_entries(tmp_path, monkeypatch):
    first = Journal(tmp_path)
    for name in ("old", "middle", "new"):
        first.keep(name, generation())
    now = time.time()
    os.utime(tmp_path / "old.npz", (now - 8 * 24 * 3600,) * 2)
    os.utime(tmp_path / "middle.npz", (now - 60,) * 2)
    Journal(tmp_path).keep("more", generation())
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["middle", "more", "new"]
    monkeypatch.setattr(journal_module, "_MOST_BYTES", (tmp_path / "new.npz").stat().st_size * 2)
    Journal(tmp_path).keep("last", generation())
    assert "middle" not in {path.stem for path in tmp_path.iterdir()}


def test_key_differs_for_each_argument():
    prompt = PROMPTS[0]
    keys = {
        journal_key("m", prompt, 5, None),
        journal_key("n", prompt, 5, None),
        journal_key("m", prompt, 6, None),
        journal_key("m", prompt, 5, same),
        journal_key("m", replace(prompt, instruction="Else."), 5, None),
        journal_key("m", replace(prompt, inputs=("Number 0 ran home.It rained.",)), 5, None),
    }
    assert len(keys) == 6
    assert journal_key("m", PROMPTS[0], 5, None) == journal_key("m", replace(prompt), 5, None)


def test_interrupted_build_continues_from_its_journal(tmp_path, monkeypatch):
    weights = write_checkpoint("qwen2", tmp_path / "weights")
    kept = tmp_path / "journal"

    def told(_: str, done: int, __: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    expected = TransformersModel(weights, dtype="float32", device="cpu").generate(PROMPTS, max_tokens=MOST)
    first = TransformersModel(weights, dtype="float32", device="cpu", journal=Journal(kept))
    with pytest.raises(KeyboardInterrupt):
        first.generate(PROMPTS, max_tokens=MOST, progress=told)
    assert len(list(kept.iterdir())) == 2

    again = TransformersModel(weights, dtype="float32", device="cpu", journal=Journal(kept))
    counts: list[int] = []
    written = again.generate(PROMPTS, max_tokens=MOST, progress=lambda _, done, __: counts.append(done))
    assert counts == [2, 3, 4]
    for reply, other in zip(written, expected, strict=True):
        assert reply.text == other.text
        np.testing.assert_allclose(reply.attention, other.attention, rtol=1e-4)

    finished = TransformersModel(weights, dtype="float32", device="cpu", journal=Journal(kept))
    monkeypatch.setattr(finished, "_load", lambda: pytest.fail("all is known: no weights are needed"))
    assert [reply.text for reply in finished.generate(PROMPTS, max_tokens=MOST)] == [reply.text for reply in expected]


def test_generation_without_attention_is_stored(tmp_path):
    Journal(tmp_path).keep("a", replace(generation("One."), attention=None))
    kept = Journal(tmp_path).find("a")
    assert (kept.text, kept.attention) == ("One.", None)
