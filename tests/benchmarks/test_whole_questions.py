"""The benchmark of questions about a whole: its questions, its measures, and a run over made-up folders with fakes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import corpus_questions
import numpy as np
import pytest
import whole_questions
from answer_coverage import Coverage, nearest_threshold

from memgraph_rag import Document
from memgraph_rag.errors import DocumentError
from memgraph_rag.evaluation.dataset import read_folder
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import Matrix

KINDS = ("comedy", "horror", "drama")


def write_folder(folder: Path, docs: Sequence[object], questions: Sequence[object]) -> Path:
    folder.mkdir()
    for name, rows in (("docs", docs), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


@pytest.fixture
def films(tmp_path: Path) -> Path:
    docs = [
        {
            "doc_id": f"d{place}",
            "title": f"Film {place}",
            "text": f"Film {place} is a {1970 + place} American {KINDS[place % 3]} film by Tom{place}.",
        }
        for place in range(30)
    ]
    return write_folder(tmp_path / "films", docs, [{"question": "Who?", "doc_ids": []}])


@pytest.fixture
def meetings(tmp_path: Path) -> Path:
    docs, questions = [], []
    for number, word in enumerate(["budget", "window"]):
        text = f"Ann spoke of the {word} with Ben for long. Ben liked the {word} and told Ann so."
        docs.append({"doc_id": f"m{number}", "title": f"Meeting {number}", "text": text})
        span = {"doc_id": f"m{number}", "start": 0, "end": len(text), "text": text}
        about = {"doc_ids": [f"m{number}"], "answers": [f"Ann spoke of the {word} with Ben for long."]}
        questions += [
            {"qid": f"m{number}-g0", "question": "Summarize the meeting", "type": "general", **about},
            {"qid": f"m{number}-s0", "question": f"What of the {word}?", "evidence_spans": [span], **about},
        ]
    return write_folder(tmp_path / "meetings", docs, questions)


def run(*arguments: object) -> int:
    names = FakeRecognizer(dict.fromkeys(["Ann", "Ben", *(f"Tom{place}" for place in range(30))], "NAME"))
    fakes = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": names}
    return whole_questions.main([str(argument) for argument in arguments], **fakes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bo (12 May 1928 – 16 June 2016) was a Danish poet.", ("poet", (), ("Danish",), 0, 1920)),
        ("Bo (May 2, 1928 – 2016) was a poet.", ("poet", (), (), 0, 1920)),
        ("The siege (1346–47) was a long siege in 1346.", ("siege", ("long",), (), 0, 0)),
        ("M is a 1931 German thriller film.", ("film", ("thriller",), ("German",), 1930, 0)),
    ],
)
def test_definitions_are_read_from_first_sentences(text: str, expected: tuple[object, ...]) -> None:
    definition = corpus_questions.definition_of(text)
    assert definition is not None
    assert (
        definition.noun, definition.kinds, definition.origins, definition.decade, definition.birth
    ) == expected  # fmt: skip


def test_texts_without_a_definition_give_none() -> None:
    assert corpus_questions.definition_of("It rained all day.") is None
    assert corpus_questions.definition_of("The house was a newly built one, and is licensed.") is None


def test_questions_follow_from_the_articles(films: Path) -> None:
    questions = corpus_questions.questions_about(read_folder(films).documents)

    assert [question.form for question in questions] == ["kinds", "decades", "titles"]
    kinds, decades, titles = questions
    assert kinds.text == "What kinds of films do these articles describe?"
    assert set(kinds.items) == {frozenset({kind}) for kind in KINDS}
    assert [min(years) for years in decades.items] == ["1970", "1980", "1990"]
    assert len(titles.items) == 30


def test_items_count_beside_their_class_or_as_whole_titles(films: Path) -> None:
    kinds, decades, titles = corpus_questions.questions_about(read_folder(films).documents)

    assert corpus_questions.share_known(kinds, "A comedy film. Horror is all around.") == pytest.approx(1 / 3)
    assert corpus_questions.share_known(decades, "Two films of 1979 and 1991.") == pytest.approx(2 / 3)
    assert corpus_questions.share_known(titles, "film 2, Film 13") == pytest.approx(2 / 30)
    assert corpus_questions.share_known(titles, "") == 0


def test_questions_do_not_depend_on_the_order_of_classes() -> None:
    articles = [Document(f"X{n} is an Irish {noun}.", key=f"{n}{noun}") for n in range(6) for noun in ("poet", "band")]
    assert corpus_questions.questions_about(articles) == [], "one item is too few"


class Angles:
    """Embeds a sentence by the number in it, as an angle in degrees."""

    name = "angles"
    dimension = 2

    def embed(self, texts: Sequence[str]) -> Matrix:
        angles = np.radians([float("".join(filter(str.isdigit, text)) or 0) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def test_sentences_are_covered_above_the_threshold() -> None:
    share = Coverage(Angles(), 0.9).of(["The first sentence of it is 0. The second sentence of it is 60."])

    assert share("What was read says 10 in this sentence.") == 0.5
    assert share("What was read says 10 in this sentence. It says 50 in that other sentence.") == 1.0
    assert share("") == 0.0


def test_the_threshold_parts_own_evidence_from_anothers(meetings: Path) -> None:
    threshold = nearest_threshold(read_folder(meetings), FakeEmbedder())

    assert (threshold.own, threshold.other, threshold.pairs) == (1.0, 0.0, 2)
    assert 0 < threshold.value < 1


def test_a_threshold_needs_evidence_in_two_texts(meetings: Path, films: Path) -> None:
    folder = read_folder(meetings)
    for other in (read_folder(films), type(folder)(folder.name, "span", folder.documents, folder.questions[:2], {})):
        with pytest.raises(DocumentError, match="Expected"):
            nearest_threshold(other, FakeEmbedder())


def test_a_run_compares_ways_of_reading_with_top_k(films: Path, meetings: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "whole.json"

    assert run("--corpus", films, "--texts", meetings, "--threshold-from", meetings, "--json", path) == 0

    tables = json.loads(path.read_text("utf-8"))
    assert list(tables["corpus"]) == [way.name for way in whole_questions.OF_CORPUS]
    assert tables["corpus"]["top-k"]["4000"]["share"]["value"] == 100.0, "all thirty articles fit"
    assert tables["corpus"]["top-k"]["4000"]["less_top_k"]["value"] == 0.0
    assert tables["corpus"]["overviews"]["4000"]["share"]["value"] > 0
    assert tables["corpus"]["overviews"]["n"] == 3
    assert tables["meetings"]["overviews"]["1000"]["share"]["value"] == 100.0, "a report of the very sentences"
    assert tables["meetings"]["overviews"]["n"] == 2
    assert "3 questions about 30 articles" in capsys.readouterr().out


def test_a_second_family_of_questions_is_chosen_by_name(films: Path, capsys) -> None:
    assert run("--corpus", films, "--family", "topics") == 0
    assert "6 questions about 30 articles" in capsys.readouterr().out


def test_articles_without_definitions_are_refused(meetings: Path, capsys) -> None:
    assert run("--corpus", meetings) == 1
    assert "Expected articles that define" in capsys.readouterr().err


def test_long_texts_need_a_threshold(meetings: Path) -> None:
    with pytest.raises(SystemExit):
        run("--texts", meetings)
