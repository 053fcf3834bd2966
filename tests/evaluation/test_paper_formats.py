"""Sets in the formats of their authors, in small files with made-up rows of the same fields."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from memgraph_rag.errors import DocumentError, MemgraphRagWarning
from memgraph_rag.evaluation.dataset import Folder, Question, close_folder, read_folder

HOTPOTQA = {
    "_id": "5a8b",
    "question": "Where was the painter of the mill born?",
    "answer": "Oak Hill",
    "supporting_facts": [["Blue Mill", 0], ["Ann Lee", 1]],
    "context": [
        ["Red Fox", ["A fox is red.", " It sleeps by day."]],
        ["Blue Mill", ["Ann Lee painted it.", " It is\u00a0old."]],
        ["Ann Lee", ["Ann Lee paints.", " She was born on Oak Hill."]],
        ["Empty", []],
    ],
    "type": "bridge",
    "level": "hard",
}
TWO_WIKI = {
    **{key: HOTPOTQA[key] for key in ("_id", "question", "answer", "supporting_facts")},
    "context": [["Blue Mill", ["Ann Lee painted it.", "It is old."]], ["Ann Lee", ["Ann paints.", "She was born."]]],
    "type": "compositional",
    "entity_ids": "Q1_Q2",
    "evidences": [["Blue Mill", "painter", "Ann Lee"]],
}
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Where was the painter of the mill born?",
    "paragraphs": [
        {"idx": 0, "title": "Mill", "paragraph_text": "Ann Lee painted it.", "is_supporting": True},
        {"idx": 1, "title": "Mill", "paragraph_text": "It is old.", "is_supporting": False},
        {"idx": 2, "title": "Ann Lee", "paragraph_text": "She was born on Oak Hill.", "is_supporting": True},
    ],
    "question_decomposition": [],
    "answer": "Oak Hill",
    "answer_aliases": ["the hill"],
    "answerable": True,
}
QUALITY = {
    "article_id": "52845",
    "set_unique_id": "52845_A",
    "title": "The Mill",
    "article": "The mill stood still.\n\n\n Ann smiled.",
    "questions": [
        {"question": "Who smiled?", "question_unique_id": "52845_A_1", "options": ["Tom", "Ann", "Eve", "Sam"],
         "gold_label": 2, "writer_label": 2, "difficult": 1},
        {"question": "What stood still?", "question_unique_id": "52845_A_2", "options": ["mill", "fox", "hill", "car"],
         "gold_label": 1, "writer_label": 1, "difficult": 0},
    ],
}  # fmt: skip


def answer(**given: Any) -> dict[str, Any]:
    empty = {"unanswerable": False, "extractive_spans": [], "yes_no": None, "free_form_answer": "", "evidence": []}
    return {"answer": empty | given, "annotation_id": "a", "worker_id": "w"}


QASPER = {
    "1909.00694": {
        "title": "On mills",
        "abstract": "Mills are old.",
        "full_text": [
            {"section_name": "Introduction", "paragraphs": ["Mills turn\nslowly.", ""]},
            {"section_name": None, "paragraphs": ["We count 12 mills."]},
        ],
        "qas": [
            {"question": "How many?", "question_id": "q1", "answers": [
                answer(extractive_spans=["12", "mills"], evidence=["We count 12 mills.", "FLOAT SELECTED: Table 1"]),
                answer(unanswerable=True),
                answer(free_form_answer="a dozen", evidence=["Mills turn\nslowly.", "Not in the text."]),
            ]},
            {"question": "Fast?", "question_id": "q2", "answers": [answer(yes_no=False)]},
            {"question": "Who?", "question_id": "q3", "answers": [answer(unanswerable=True)]},
        ],
        "figures_and_tables": [],
    },
    "1909.00695": {"title": "No text", "abstract": "", "full_text": [], "qas": []},
}  # fmt: skip
LONGBENCH = {
    "input": "Who paints?", "context": "Passage 1:\nAnn Lee paints.", "answers": ["Ann Lee", "Ann"], "length": 5,
    "dataset": "hotpotqa", "language": "en", "all_classes": None, "_id": "b1",
}  # fmt: skip
FLASHRAG = {"id": "test_0", "question": "who paints mills", "golden_answers": ["Ann Lee"], "metadata": {}}


def write(file: Path, *rows: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def texts(folder: Folder, keys: object) -> list[str]:
    by_key = {document.key: document for document in folder.documents}
    return [f"{by_key[key].title}: {by_key[key].text}" for key in keys]  # pyright: ignore[reportGeneralTypeIssues]


def first(folder: Folder) -> Question:
    return folder.questions[0]


def test_hotpotqa_names_evidence_by_title(tmp_path: Path):
    folder = read_folder(write(tmp_path / "hotpot_dev_distractor_v1.json", [HOTPOTQA, HOTPOTQA | {"_id": "2"}]))
    question = first(folder)
    assert (folder.name, folder.kind, len(folder.documents)) == ("hotpot_dev_distractor_v1", "document", 3)
    assert (question.id, question.answers, question.type, question.documents) == ("5a8b", ("Oak Hill",), "bridge", None)
    assert sorted(texts(folder, question.units)) == [
        "Ann Lee: Ann Lee paints. She was born on Oak Hill.",
        "Blue Mill: Ann Lee painted it. It is old.",
    ]
    assert texts(folder, question.context)[0] == "Red Fox: A fox is red. It sleeps by day."
    assert len(first(close_folder(folder)).spans) == 2


def test_2wiki_joins_sentences_by_spaces(tmp_path: Path):
    folder = read_folder(write(tmp_path / "2wiki" / "dev.json", [TWO_WIKI]).parent)
    assert folder.name == "2wiki-dev"
    assert texts(folder, first(folder).context)[0] == "Blue Mill: Ann Lee painted it. It is old."


def test_hotpotqa_test_set_has_no_answers(tmp_path: Path):
    row = {key: HOTPOTQA[key] for key in ("_id", "question", "context")}
    question = first(read_folder(write(tmp_path / "hotpot_test_fullwiki_v1.json", [row])))
    assert (question.answers, question.units, len(question.context)) == ((), frozenset(), 3)


def test_full_musique_separates_unanswerable_twin(tmp_path: Path):
    twin = MUSIQUE | {"answerable": False}
    folder = read_folder(write(tmp_path / "musique_full_v1.0_dev.jsonl", MUSIQUE, twin))
    question, unanswerable = folder.questions
    assert (question.answers, question.type) == (("Oak Hill", "the hill"), "2hop")
    assert sorted(texts(folder, question.units)) == ["Ann Lee: She was born on Oak Hill.", "Mill: Ann Lee painted it."]
    assert (unanswerable.id, unanswerable.unanswerable) == ("2hop__1_2 unanswerable", True)
    assert (unanswerable.answers, unanswerable.units) == ((), frozenset())
    assert len(folder.documents) == 3, "two paragraphs have the same title"


@pytest.mark.parametrize(
    "corpus",
    [
        [{"title": "Blue Mill", "text": "Ann Lee painted it. It is old.", "idx": 0}, {"title": "Far", "text": "Away."}],
        {"Blue Mill": ["Ann Lee painted it.", " It is\u00a0old."], "Far": ["Away."]},
    ],
)
def test_hipporag_searches_whole_corpus(tmp_path: Path, corpus: object):
    file = write(tmp_path / "hotpotqa.json", [HOTPOTQA])
    write(tmp_path / "hotpotqa_corpus.json", corpus)
    write(tmp_path / "openie_results_ner_gpt-4o-mini.json", {"docs": []})
    folder = read_folder(tmp_path)
    assert folder == read_folder(file)
    assert [document.title for document in folder.documents] == ["Blue Mill", "Far", "Red Fox", "Ann Lee"]


def test_hipporag_popqa_has_answers_under_other_names(tmp_path: Path):
    row = {
        "question": "Who painted the mill?", "obj": "Ann Lee", "o_wiki_title": "Ann Lee (painter)",
        "possible_answers": ["Ann Lee", "Ann"], "o_aliases": ["A. Lee"],
        "contexts": [{"title": "Mill", "text": "Ann Lee painted it.", "is_supporting": True}],
    }  # fmt: skip
    folder = read_folder(write(tmp_path / "popqa.json", [row]))
    assert first(folder).answers == ("Ann Lee", "Ann", "Ann Lee (painter)", "A. Lee")
    assert texts(folder, first(folder).units) == ["Mill: Ann Lee painted it."]


def test_quality_joins_both_writers_of_an_article(tmp_path: Path):
    other = QUALITY | {"set_unique_id": "52845_B", "questions": [QUALITY["questions"][0] | {"question_unique_id": "b"}]}
    folder = read_folder(write(tmp_path / "QuALITY.v1.0.1.htmlstripped.dev", QUALITY, other))
    assert folder.name == "QuALITY.v1.0.1.htmlstripped.dev"
    assert texts(folder, ["52845"]) == ["The Mill: The mill stood still.\n\n\n Ann smiled."]
    assert [(question.id, question.gold, question.type) for question in folder.questions] == [
        ("52845_A_1", 1, "hard"), ("52845_A_2", 0, "easy"), ("b", 1, "hard"),
    ]  # fmt: skip
    assert (first(folder).answers, first(folder).documents) == (("Ann",), ("52845",))


def test_qasper_counts_answers_as_its_evaluator(tmp_path: Path):
    folder = read_folder(write(tmp_path / "qasper-dev-v0.3.json", QASPER))
    (document,) = folder.documents
    assert (document.key, document.title) == ("1909.00694", "On mills")
    assert document.text == "Introduction\nMills turn slowly.\nWe count 12 mills."
    many, fast, who = folder.questions
    assert (many.answers, many.type, many.unanswerable) == (("12, mills", "a dozen"), "extractive", False)
    assert [document.text[start:end] for _, start, end in many.spans] == ["Mills turn slowly.", "We count 12 mills."]
    assert (fast.answers, fast.type, fast.spans) == (("No",), "boolean", ())
    assert (who.answers, who.type, who.unanswerable) == ((), "unanswerable", True)


@pytest.fixture
def narrativeqa(tmp_path: Path) -> Path:
    """A folder with a test story that is a web page, one that was not downloaded, and one for training."""
    documents = [("s1", "test", "movie"), ("s2", "test", "gutenberg"), ("s3", "train", "gutenberg")]
    asked = [(key, kind, f"Who is in {key}?", "Ann, a painter", "Ann") for key, kind, _ in documents]
    summaries = [(key, kind, f"Summary of {key}.") for key, kind, _ in documents]
    files: dict[str, tuple[str, list[tuple[str, ...]]]] = {
        "documents.csv": ("document_id,set,kind,wiki_title", [(*row, f"Title {row[0]}") for row in documents]),
        "qaps.csv": ("document_id,set,question,answer1,answer2", asked),
        "third_party/wikipedia/summaries.csv": ("document_id,set,summary", summaries),
    }
    for name, (header, rows) in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header.split(","), *rows])
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "s1.content").write_bytes("<html><pre>Ann &amp; Tom: caf\xe9</pre></html>".encode("cp1252"))
    (tmp_path / "tmp" / "s3.content").write_text("A story for training.")
    return tmp_path


def test_narrativeqa_reads_downloaded_stories_of_test_split(narrativeqa: Path):
    folder = read_folder(narrativeqa)
    assert folder == read_folder(narrativeqa / "qaps.csv")
    assert folder.name == narrativeqa.name
    assert texts(folder, ["s1"]) == ["Title s1: Ann & Tom: café"]
    (question,) = folder.questions
    assert (question.answers, question.documents) == (("Ann, a painter", "Ann"), ("s1",))


def test_narrativeqa_reads_summaries_by_name(narrativeqa: Path):
    folder = read_folder(narrativeqa / "third_party" / "wikipedia" / "summaries.csv")
    assert texts(folder, ["s1", "s2"]) == ["Title s1: Summary of s1.", "Title s2: Summary of s2."]


def test_narrativeqa_without_stories_says_how_to_get_them(narrativeqa: Path):
    (narrativeqa / "tmp" / "s1.content").unlink()
    with pytest.raises(DocumentError, match=r"bring the stories by download_stories\.sh, or name summaries\.csv"):
        read_folder(narrativeqa)


def test_longbench_asks_about_its_context(tmp_path: Path):
    rows = [
        LONGBENCH,
        LONGBENCH | {"_id": "b2", "dataset": "qasper", "answers": ["Unanswerable"]},
        LONGBENCH | {"_id": "b3", "dataset": "trec", "answers": ["Food"], "all_classes": ["City", "Food"]},
        LONGBENCH | {"_id": "b4", "dataset": "gov_report", "input": ""},
    ]
    folder = read_folder(write(tmp_path / "mixed.jsonl", *rows))
    asked, unanswerable, classified, summary = folder.questions
    assert [document.text for document in folder.documents] == ["Passage 1:\nAnn Lee paints."]
    assert (asked.id, asked.answers, asked.type) == ("b1", ("Ann Lee", "Ann"), "hotpotqa")
    assert asked.documents == (folder.documents[0].key,)
    assert (unanswerable.unanswerable, unanswerable.answers) == (True, ())
    assert (classified.options, classified.gold) == (("City", "Food"), 1)
    assert summary.text == "Summarize the report on one page."


def test_flashrag_searches_what_was_retrieved(tmp_path: Path):
    file = write(tmp_path / "popqa" / "test.jsonl", FLASHRAG, FLASHRAG | {"id": "test_1", "question": "what else"})
    passage = {"id": "7", "title": "Mill", "contents": "Mill\nAnn Lee painted it.", "doc_size": 5}
    write(file.with_name("docs.json"), {"who paints mills": [passage, passage | {"contents": '"Fox"\nIt is red.'}]})
    with pytest.warns(MemgraphRagWarning, match="1 of 2 questions"):
        folder = read_folder(file.parent)
    assert (folder.name, len(folder.questions)) == ("popqa-test", 1)
    assert texts(folder, first(folder).documents) == ["Mill: Ann Lee painted it.", "Fox: It is red."]
    assert first(folder).answers == ("Ann Lee",)
    file.with_name("docs.json").unlink()
    with pytest.raises(DocumentError, match=r"the documents retrieved for the questions of .*, got none"):
        read_folder(file)


def test_folder_prefers_dev_to_test(tmp_path: Path):
    for split in ("train", "dev", "test"):
        write(tmp_path / f"musique_ans_v1.0_{split}.jsonl", MUSIQUE)
    assert read_folder(tmp_path).name == "musique_ans_v1.0_dev"
    write(tmp_path / "musique_full_v1.0_dev.jsonl", MUSIQUE)
    with pytest.raises(DocumentError, match=r"Expected one file .*musique_full_v1\.0_dev\.jsonl.*Name the file"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"question": "Who?"}', r"or a set as it is published \(HotpotQA.*got rows with the fields \['question'\]"),
        ("[3]", r"got rows with the fields \[\]"),
        ("", "got none. Complete the file"),
        ("[{", "Expected a published set of questions"),
        (f"{json.dumps(MUSIQUE)}\n{{", "got an error in line 2"),
        (json.dumps([MUSIQUE, {"question": "Who?"}]), "fields of MuSiQue in row 2 of .*, got KeyError: 'paragraphs'"),
        (json.dumps([MUSIQUE, 3]), "in row 2 of .*, got"),
        (json.dumps(QUALITY | {"article": "<p>A mill.</p>"}), "htmlstripped"),
        (json.dumps(QUALITY | {"questions": [{"question": "Who?", "options": []}]}), "KeyError: 'gold_label'"),
        (json.dumps(LONGBENCH | {"input": "", "dataset": "lcc"}), "fields of LongBench in row 1 of .*'lcc'"),
    ],
)
def test_broken_file_is_refused_with_its_row(tmp_path: Path, text: str, expected: str):
    (tmp_path / "dev.json").write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=expected):
        read_folder(tmp_path / "dev.json")


def test_broken_corpus_is_refused(tmp_path: Path):
    file = write(tmp_path / "musique.json", [MUSIQUE])
    write(tmp_path / "musique_corpus.json", [{"name": "Mill"}])
    with pytest.raises(DocumentError, match=r"Expected the documents of MuSiQue next to .*KeyError: 'title'"):
        read_folder(file)
