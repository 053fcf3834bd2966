"""Folders of evaluation data as they are read, cut and closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tables import table

from memgraph_rag.errors import DocumentError
from memgraph_rag.evaluation import dataset
from memgraph_rag.text.loading import load


def test_turns_follow_the_messages_not_the_offsets_of_the_folder(talk: Path):
    folder = dataset.read_folder(talk)
    (document,) = folder.documents
    assert [turn.time for turn in document.turns] == ["2023-05-08T13:56:00"] * 3
    said = {turn_id: document.text[start:] for start, turn_id in folder.turns["s1"]}
    assert list(said) == ["t0", "t2", "t3"], "the turn without a word is left out"
    assert said["t2"].startswith("Tom (2023-05-08T13:56): [shares a photo of a mill]\n\nAnn")


@table(
    ("text", "iso"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56"),
        ("12:09 am on 13 September, 2023", "2023-09-13T00:09"),
        ("2022/09/01 (Thu) 08:09", "2022-09-01T08:09"),
        ("some day", None),
    ],
)
def test_time_of_a_conversation_becomes_iso(text: str, iso: str | None):
    assert dataset.read_time(text) == iso


def test_a_limit_takes_questions_at_even_distances():
    questions = [dataset.Question(str(number), str(number)) for number in range(10)]
    folder = dataset.Folder("ten", "document", [], questions, {})
    assert [question.text for question in folder.sample_questions(4).questions] == ["0", "2", "5", "7"]
    assert folder.sample_questions(None) is folder.sample_questions(10) is folder


def test_a_conversation_is_rendered_as_the_library_renders_chat_messages(talk: Path):
    (document,) = dataset.read_folder(talk).documents
    said = [document.text[turn.start : turn.end].removesuffix("\n\n").partition(": ")[2] for turn in document.turns]
    messages = [
        {"role": turn.speaker, "content": words, "time": "2023-05-08T13:56"}
        for turn, words in zip(document.turns, said, strict=True)
    ]
    same = load(messages, key=document.key, title=document.title)
    assert (same.text, same.turns) == (document.text, document.turns)


def test_questions_without_evidence_are_kept_for_asking_only(paragraphs: Path):
    folder = dataset.read_folder(paragraphs)
    assert len(folder.questions) == 3
    assert sum(question.has_evidence for question in folder.questions) == 2
    assert not any(question.can_be_asked for question in folder.questions)


def test_a_folder_can_be_cut_to_few_documents(story: Path):
    folder = dataset.read_folder(story)
    assert [document.key for document in folder.keep_searched_documents().documents] == ["s"]
    assert folder.keep_first_documents(1).questions == folder.questions
    assert dataset.read_folder(story).keep_first_documents(None) == folder


def test_the_closed_setting_makes_a_document_of_each_questions_paragraphs(paragraphs: Path):
    rows = [json.loads(line) for line in (paragraphs / "questions.jsonl").read_text().splitlines()]
    rows[0] |= {"context_doc_ids": ["d4", "d1", "d0"], "qid": "first"}
    rows[1] |= {"qid": "second"}
    (paragraphs / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:2]))
    folder = dataset.close_folder(dataset.read_folder(paragraphs))
    assert (folder.name, folder.kind) == ("paragraphs closed", "span")
    text = {document.key: document.text for document in folder.documents}["first"]
    first, second = folder.questions
    assert first.documents == ("first",)
    assert sorted(text[start:end].split("\n")[0] for _, start, end in first.spans) == ["Ann Lee", "Tom Ray"]
    assert text.startswith("Blue Mill\nBlue Mill is number 4")
    assert second.documents == ("d2", "d3"), "it had documents of its own"
    rows[0].pop("context_doc_ids")
    (paragraphs / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:1]))
    with pytest.raises(DocumentError, match="context_doc_ids"):
        dataset.close_folder(dataset.read_folder(paragraphs))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"evidence_doc_ids": ["gone"]}, "got none with the id 'gone'"),
        ({"doc_ids": ["gone"]}, "got none with the id 'gone'"),
        ({"evidence_doc_ids": 3}, "TypeError"),
        ({"evidence_doc_ids": "gone"}, "a list of texts as 'evidence_doc_ids'"),
        ({"doc_ids": "gone"}, "a list of texts as 'doc_ids'"),
        ({"options": "a or b"}, "a list of texts as 'options'"),
        ({"context_doc_ids": {"gone": 1}}, "a list of texts as 'context_doc_ids'"),
        ({"answers": [["leg"]]}, "a list of texts as 'answers'"),
    ],
)
def test_questions_about_what_is_not_there_are_refused(paragraphs: Path, changes: dict, expected: str):
    row = json.loads((paragraphs / "questions.jsonl").read_text().splitlines()[0])
    (paragraphs / "questions.jsonl").write_text(json.dumps(row | changes))
    with pytest.raises(DocumentError, match=expected):
        dataset.read_folder(paragraphs)


@pytest.mark.parametrize(
    ("answers", "expected"), [("leg", ("leg",)), (["leg", 3], ("leg", "3")), ([], ()), (None, ()), ("", ())]
)
def test_single_answer_is_read_like_a_list_of_one(paragraphs: Path, answers: object, expected: tuple[str, ...]):
    row = json.loads((paragraphs / "questions.jsonl").read_text().splitlines()[0])
    (paragraphs / "questions.jsonl").write_text(json.dumps(row | {"answers": answers}))
    assert dataset.read_folder(paragraphs).questions[0].answers == expected


def test_files_that_are_missing_or_no_json_are_refused(tmp_path: Path, paragraphs: Path):
    with pytest.raises(DocumentError, match=r"Expected docs\.jsonl and questions\.jsonl, or a set as it is published"):
        dataset.read_folder(tmp_path)
    (paragraphs / "docs.jsonl").write_text("{")
    with pytest.raises(DocumentError, match=r"one JSON object a line in .*docs\.jsonl"):
        dataset.read_folder(paragraphs)
