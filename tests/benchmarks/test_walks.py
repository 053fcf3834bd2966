"""The benchmark of strategies: a whole run over a made-up folder with fakes, and numbers that are kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import abstention
import pytest
import walks
from hand_made import Known
from numbers_of_models import Numbers

from memgraph_rag.evaluation import metrics
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer

TEXTS = ["Ann found a fox.", "It rained.", "Tom slept.", "The fox ran."]


@pytest.fixture
def paragraphs(tmp_path: Path) -> Path:
    folder = tmp_path / "paragraphs"
    folder.mkdir()
    docs = [{"doc_id": f"d{place}", "title": "", "text": text} for place, text in enumerate(TEXTS)]
    questions = [
        {"question": "Who found a fox?", "doc_ids": [], "evidence_doc_ids": ["d0", "d3"]},
        {"question": "Who slept?", "doc_ids": [], "evidence_doc_ids": ["d2"]},
    ]
    for name, rows in (("docs", docs), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def run(*arguments: object) -> int:
    return walks.main(
        [str(argument) for argument in arguments],
        model=FakeLanguageModel(),
        embedder=FakeEmbedder(),
        recognizer=FakeRecognizer(),
    )


def test_a_run_prints_and_writes_every_strategy_beside_search(paragraphs: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "walks.json"
    options = ("--strategies", "walk", "qrmem", "pecan", "--json", path, "--numbers", tmp_path / "numbers.jsonl")
    assert run(paragraphs, *options) == 0
    table = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| paragraphs")]
    assert [row[1] for row in table] == ["search", "walk", "qrmem", "pecan"]
    rows = json.loads(path.read_text("utf-8"))
    by_name = {(row["strategy"], row["metric"]): row for row in rows}
    assert by_name["search", "recall@5"]["value"] == 100.0
    assert by_name["walk", "recall@5"]["less_search"]["value"] <= 0.0
    assert by_name["walk", "recall@2"]["n"] == 2
    assert by_name["walk", "recall@2"]["tokens"] > 0
    first = (tmp_path / "numbers.jsonl").read_text("utf-8")
    assert run(paragraphs, *options) == 0
    assert json.loads(path.read_text("utf-8"))[2]["tokens"] == rows[2]["tokens"]
    assert (tmp_path / "numbers.jsonl").read_text("utf-8") == first, "the model was not run again"


def test_folders_without_documents_as_evidence_are_refused(tmp_path: Path, paragraphs: Path, capsys) -> None:
    assert run(tmp_path) == 1
    assert run(paragraphs, "--limit", "1") == 1
    assert "Expected at least 2 questions" in capsys.readouterr().err


def test_kept_numbers_are_those_of_the_model_whatever_was_taken_back(tmp_path: Path) -> None:
    model = FakeLanguageModel()

    def tell(session, order: Sequence[int]) -> list[float]:
        return [
            number
            for place in order
            for number in (float(session.append([TEXTS[place]])[0]), session.probability_of_yes())
        ]

    numbers = Numbers(tmp_path / "numbers.jsonl", model, None)
    with numbers.open_session("Who found the fox?") as kept, model.open_session("Who found the fox?") as plain:
        tell(kept, [0, 1, 2])
        kept.take_back(2)
        tell(plain, [0])
        assert tell(kept, [3, 1]) == pytest.approx(tell(plain, [3, 1]))
        assert kept.reply("Which fox ran?", max_tokens=9) == plain.reply("Which fox ran?", max_tokens=9)
    made = numbers.made
    with model.open_session("Who found the fox?") as plain:
        expected = tell(plain, [0, 3, 1])
    again = Numbers(tmp_path / "numbers.jsonl", model, None)
    with again.open_session("Who found the fox?") as kept:
        assert tell(kept, [0, 3, 1]) == pytest.approx(expected)
        assert kept.reply("Which fox ran?", max_tokens=9)
    assert (made > 0, again.made) == (True, 0)


def test_the_share_of_pairs_in_order_is_counted_by_hand() -> None:
    assert metrics.auc([3, 1], [2, 0]).value == 0.75
    assert metrics.auc([1, 1], [1, 1])[:] == (0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="at least 2"):
        metrics.auc([1], [0])


def test_abstention_reads_each_question_with_and_without_its_evidence(paragraphs: Path, capsys) -> None:
    embedder = FakeEmbedder(256)
    embedder.unrelated_below = 0.01
    given = {"model": FakeLanguageModel(), "embedder": embedder, "recognizer": FakeRecognizer()}
    for arguments, cells in (
        ([], "| 1.000 [1.000, 1.000] | 1.000 [1.000, 1.000] |"),  # the fake's Yes is a share of words
        (["--without-model"], "|  |  |"),
    ):
        assert abstention.main([str(paragraphs), *arguments], **given) == 0
        (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| paragraphs")]
        assert row.startswith("| paragraphs (2 of 2) | 1.000 [1.000, 1.000] |")
        assert cells in row


def test_numbers_of_an_uncalibrated_session_are_kept_apart(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "numbers.jsonl", FakeLanguageModel(), Known())
    for ignores, passes in ((False, 1), (True, 2), (True, 2), (False, 2)):
        with numbers.open_session("Who found the fox?") as session:
            if ignores:
                session.ignore_calibration()
            session.append([TEXTS[0]])
            assert session.judge("Is it red?") == session.judge("Is it red?")
        assert numbers.made == passes
