"""Two processes that search one file: the pages of its index are in memory once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import shared_index

from memgraph_rag import Memory
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer

FAKES = {"embedder": FakeEmbedder(), "recognizer": FakeRecognizer(), "model": FakeLanguageModel()}

SMAPS = """\
7f00-7f10 r--p 00000000 08:01 42                         /notes/my file.lbug.index-0123456789abcdef
Rss:                1024 kB
Pss:                 512 kB
VmFlags: rd mr mw me
7f10-7f20 r--p 00000000 08:01 43                         /notes/my file.lbug
Rss:                  64 kB
7f20-7f30 rw-p 00000000 00:00 0
Rss:                   4 kB
7f30-7f40 r--p 00001000 08:01 42                         /notes/my file.lbug.index-0123456789abcdef
Rss:                   8 kB
"""


def test_only_mappings_of_the_index_are_summed():
    kib = shared_index.mapped(SMAPS.splitlines(), "/notes/my file.lbug.index-")
    assert kib == {"Rss": 1032, "Pss": 512}


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells what processes share")
def test_two_processes_share_the_pages_of_the_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "notes.lbug"
    with Memory(file, segment_tokens=20, **FAKES) as memory:  # type: ignore[arg-type]
        for number in range(4):
            memory.add(" ".join(f"Fox {number} slept in hole {hole}." for hole in range(1500)), key=f"{number}")
        assert memory.status()["counts"]["Segment"] > 2_000  # from where an index is kept

    assert shared_index.main([str(file), "--searches", "2"], **FAKES) == 0

    table = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[3:]]
    opened, alone, both = (dict(zip(shared_index.COLUMNS, row, strict=True)) for row in (table[2], *table[3:]))
    assert (opened["processes"], alone["processes"], both["processes"]) == ("opened", "1", "2")
    kinds = ("Rss", "Pss", "shared", "private")
    rss, *others = (float(alone[f"index: {kind}"]) for kind in kinds)
    assert rss > 1
    assert others == [rss, 0, rss]
    assert [float(both[f"index: {kind}"]) for kind in kinds] == [rss, pytest.approx(rss / 2, abs=0.1), rss, 0]
