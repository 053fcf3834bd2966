"""Questions about one long document each, from the rows of their published files.

The module returns rows in the form of ``docs.jsonl`` and ``questions.jsonl``. Invariant: a question names the one
document that it is about.

Sources, by their documented fields and real rows:

- QuALITY: github.com/nyu-mll/quality, ``QuALITY.v1.0.1.htmlstripped.dev``.
- Qasper: allenai.org/data/qasper, ``qasper-dev-v0.3.json``; text and answers as in the official reader and evaluator
  (github.com/allenai/qasper-led-baseline).
- NarrativeQA: github.com/google-deepmind/narrativeqa, ``documents.csv``, ``qaps.csv``, and ``tmp/ID.content`` or
  ``third_party/wikipedia/summaries.csv``.
- LongBench: github.com/THUDM/LongBench, the first version, one file of JSON lines for each task.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from memgraph_rag.evaluation.paragraph_sets import Documents, Row

_SPLIT = "test"  # of NarrativeQA
_INVISIBLE = re.compile(r"<(script|style)\b.*?</\1>|<[^<>]*>", re.I | re.S)
_NO_TEXT = "FLOAT SELECTED"  # evidence of Qasper in a table or a figure
_REQUESTS = {
    "gov_report": "Summarize the report on one page.",
    "multi_news": "Summarize all the news on one page.",
    "vcsum": "请总结会议的内容。",
    "passage_count": "How many different paragraphs are there, if each is counted once?",
}
"""What LongBench asks in the tasks whose ``input`` is empty."""


def read_quality(row: Row, documents: Documents) -> Iterator[Row]:
    """Add a QuALITY article to the documents, and yield a writer's questions about it, of the type "hard" or "easy"."""
    if "</p>" in row["article"]:
        raise ValueError("HTML as the article: read the file with htmlstripped in its name")
    key = documents.add(row["title"], row["article"], key=str(row["article_id"]))
    for number, asked in enumerate(row["questions"]):
        gold = asked["gold_label"] - 1
        yield {
            "qid": asked.get("question_unique_id", f"{row['set_unique_id']}_{number}"),
            "question": asked["question"],
            "options": asked["options"],
            "gold_option": gold,
            "answers": [asked["options"][gold]],
            "type": "hard" if asked.get("difficult") else "easy",
            "doc_ids": [key],
        }


def read_qasper(row: Row, documents: Documents) -> Iterator[Row]:
    """Add a paper of Qasper to the documents, its section names and paragraphs on a line each, and yield its questions.

    A question is unanswerable if all annotators say so; else the answers of the others count. The evidence is the
    paragraphs that any annotator names; tables and figures have no text.
    """
    lines = [line for section in row["full_text"] for line in (section["section_name"], *section["paragraphs"])]
    text = "\n".join(filter(None, map(_one_line, lines)))
    if not text:
        return
    key = documents.add(row["title"], text, key=row["paper_id"])
    for asked in row["qas"]:
        given = [each["answer"] for each in asked["answers"]]
        answers = dict(map(_qasper_answer, (answer for answer in given if not answer["unanswerable"])))
        named = [_one_line(line) for answer in given for line in answer["evidence"] if _NO_TEXT not in line]
        places = sorted({(text.find(line), len(line)) for line in named if line and line in text})
        is_unanswerable = bool(given) and not answers
        yield {
            "qid": asked["question_id"],
            "question": asked["question"],
            "answers": list(answers),
            "type": "unanswerable" if is_unanswerable else next(iter(answers.values()), ""),
            "unanswerable": is_unanswerable,
            "evidence_spans": [{"doc_id": key, "start": start, "end": start + size} for start, size in places],
            "doc_ids": [key],
        }


def _one_line(text: str | None) -> str:
    return (text or "").replace("\n", " ").strip()


def _qasper_answer(answer: Row) -> tuple[str, str]:
    """Return an answer and its kind, as Qasper's evaluator reads them."""
    if answer["extractive_spans"]:
        return ", ".join(answer["extractive_spans"]), "extractive"
    if answer["free_form_answer"]:
        return answer["free_form_answer"], "abstractive"
    return ("Yes" if answer["yes_no"] else "No"), "boolean"


def narrativeqa_rows(file: Path) -> list[Row]:
    """Return the rows of ``qaps.csv`` of the test split, each with the title and text of its document.

    Questions about a document that is missing or empty are left out.

    Args:
        file: ``qaps.csv`` for the stories that ``download_stories.sh`` brought, or ``summaries.csv``.
    """
    is_summary = file.name == "summaries.csv"
    home = file.parents[2] if is_summary else file.parent
    summaries = {row["document_id"]: row["summary"] for row in _csv(file)} if is_summary else {}
    titles = {row["document_id"]: row["wiki_title"] for row in _csv(home / "documents.csv")}
    texts: dict[str, str] = {}
    rows: list[Row] = []
    for number, row in enumerate(_csv(home / "qaps.csv")):
        key = row["document_id"]
        if row["set"] != _SPLIT:
            continue
        if key not in texts:
            texts[key] = summaries.get(key, "") if is_summary else _strip_tags(home / "tmp" / f"{key}.content")
        if texts[key].strip():
            rows.append({**row, "qid": f"{key}-{number}", "title": titles[key], "text": texts[key]})
    return rows


def read_narrativeqa(row: Row, documents: Documents) -> Iterator[Row]:
    """Add a story of NarrativeQA, or its summary, to the documents, and yield a question about it with both answers."""
    key = documents.add(row["title"], row["text"], key=row["document_id"])
    answers = list(dict.fromkeys((row["answer1"], row["answer2"])))
    yield {"qid": row["qid"], "question": row["question"], "answers": answers, "doc_ids": [key]}


def _csv(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _strip_tags(story: Path) -> str:
    """Return a story as it was downloaded, empty if it was not; scripts of films are web pages, and lose their tags."""
    data = story.read_bytes() if story.is_file() else b""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return unescape(_INVISIBLE.sub("", text)) if "<html" in text.lower() or "<pre" in text.lower() else text


def read_longbench(row: Row, documents: Documents) -> Iterator[Row]:
    """Add a LongBench context to the documents, and yield its question; the classes of a classification are options.

    A question of Qasper whose only answer is "unanswerable" is unanswerable.
    """
    answers, classes = row["answers"], row.get("all_classes") or []
    is_unanswerable = {answer.strip(" .").casefold() for answer in answers} == {"unanswerable"}
    question = {
        "qid": row["_id"],
        "question": row["input"].strip() or _REQUESTS[row["dataset"]],
        "answers": [] if is_unanswerable else answers,
        "unanswerable": is_unanswerable,
        "type": row["dataset"],
        "doc_ids": [documents.add("", row["context"])],
    }
    if answers and answers[0] in classes:
        question |= {"options": classes, "gold_option": classes.index(answers[0])}
    yield question
