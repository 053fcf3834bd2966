"""The sample of the evaluation sets: readable, complete, small, and drawn anew the same from equal sets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import take_sample

from memgraph_rag.evaluation.dataset import closed, read_folder

MAKEFILE = (Path(__file__).parents[2] / "Makefile").read_text("utf-8")


@pytest.mark.parametrize("sampled", take_sample.SETS, ids=[sampled.name for sampled in take_sample.SETS])
def test_sample_holds_twenty_questions_with_their_evidence(sampled: take_sample.SampledSet):
    folder = read_folder(take_sample.DATA / sampled.name)
    assert len(folder.questions) == 20
    assert len(folder.with_evidence().questions) == 20
    if sampled.sources:
        assert len({question.documents for question in folder.questions}) == sampled.sources
        assert len(folder.needed().documents) == len(folder.documents)


@pytest.mark.parametrize("name", ["musique", "hotpotqa", "2wiki"])
def test_sample_can_be_asked_in_the_closed_setting(name: str):
    folder = closed(read_folder(take_sample.DATA / name))
    assert all(question.spans and question.can_be_asked for question in folder.questions)


def test_passages_of_extraction_have_their_triples():
    rows = (take_sample.DATA / "musique_tune" / "openie_gpt35.jsonl").read_text("utf-8").splitlines()
    documents = {document.key for document in read_folder(take_sample.DATA / "musique_tune").documents}
    assert {json.loads(row)["doc_id"] for row in rows} == documents


def test_sample_is_small_and_each_licence_is_noted():
    assert sum(path.stat().st_size for path in take_sample.DATA.rglob("*")) < 3_000_000
    notes = (take_sample.DATA / "README.md").read_text("utf-8")
    assert all(f"| `{path.name}` |" in notes for path in take_sample.DATA.iterdir() if path.name != "README.md")


def test_nothing_outside_the_clone_is_a_default():
    assert "../shared" not in MAKEFILE
    assert take_sample.TEXT.read_text("utf-8").count("\nCHAPTER ") == 12


def test_equal_arguments_draw_equal_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    full = tmp_path / "full"
    for name in ("corpus", "stories", "books"):
        (full / name).mkdir(parents=True)
    (full / "books" / "alice_11.txt").write_text("Alice.")
    docs = [{"doc_id": f"d{n}", "title": "", "text": f"Text {n}.", "sentences": ["Text"]} for n in range(40)]
    asked = [{"qid": f"q{n}", "question": "?", "doc_ids": [], "evidence_doc_ids": [f"d{n}"]} for n in range(10)]
    spans = []
    for n in range(20):
        evidence = {"doc_id": f"d{n % 5}", "start": 0, "end": 4}
        spans.append({"qid": f"q{n}", "question": "?", "doc_ids": [evidence["doc_id"]], "evidence_spans": [evidence]})
    for name, rows in (("corpus", asked), ("stories", spans)):
        for file, of_file in (("docs", docs), ("questions", rows)):
            (full / name / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in of_file))
    sets = (take_sample.SampledSet("corpus", distractors=3), take_sample.SampledSet("stories", sources=2))
    monkeypatch.setattr(take_sample, "SETS", sets)
    for out in ("first", "second"):
        assert take_sample.main([str(full), "--out", str(tmp_path / out), "--questions", "6"]) == 0
    files = [path.relative_to(tmp_path / "first") for path in (tmp_path / "first").rglob("*.*")]
    assert len(files) == 5
    assert all((tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes() for file in files)
    corpus, stories = (read_folder(tmp_path / "first" / name) for name in ("corpus", "stories"))
    assert (len(corpus.questions), len(corpus.documents)) == (6, 9)
    assert (len(stories.questions), len(stories.documents)) == (6, 2)
    assert "sentences" not in (tmp_path / "first" / "corpus" / "docs.jsonl").read_text()
