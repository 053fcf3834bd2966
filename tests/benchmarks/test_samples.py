"""The sample of the evaluation sets: readable, complete and small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import samples

from memgraph_rag.evaluation.dataset import close_folder, read_folder

MAKEFILE = (Path(__file__).parents[2] / "Makefile").read_text("utf-8")


CORPORA = ("musique", "hotpotqa", "2wiki", "2wiki_hipporag", "musique_tune")


@pytest.mark.parametrize("name", [*CORPORA, "qasper", "quality", "fairytaleqa"])
def test_sample_holds_twenty_questions_with_their_evidence(name: str):
    folder = read_folder(samples.DATA / name)
    assert len(folder.questions) == 20
    assert len(samples.keep_with_evidence(folder).questions) == 20
    if name not in CORPORA:
        assert len({question.documents for question in folder.questions}) == 4
        assert len(folder.keep_searched_documents().documents) == len(folder.documents)


@pytest.mark.parametrize("name", ["musique", "hotpotqa", "2wiki"])
def test_sample_can_be_asked_in_the_closed_setting(name: str):
    folder = close_folder(read_folder(samples.DATA / name))
    assert all(question.spans and question.can_be_asked for question in folder.questions)


def test_passages_of_extraction_have_their_triples():
    rows = (samples.DATA / "musique_tune" / "openie_gpt35.jsonl").read_text("utf-8").splitlines()
    documents = {document.key for document in read_folder(samples.DATA / "musique_tune").documents}
    assert {json.loads(row)["doc_id"] for row in rows} == documents


def test_sample_is_small_and_each_licence_is_noted():
    assert sum(path.stat().st_size for path in samples.DATA.rglob("*")) < 3_000_000
    notes = (samples.DATA / "README.md").read_text("utf-8")
    assert all(f"| `{path.name}` |" in notes for path in samples.DATA.iterdir() if path.name != "README.md")


def test_defaults_name_nothing_outside_the_clone():
    assert "../shared" not in MAKEFILE
    assert samples.TEXT.read_text("utf-8").count("\nCHAPTER ") == 12
