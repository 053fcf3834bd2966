"""Made-up folders of questions, one for each kind of evidence, as fixtures: evaluation and benchmarks read the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest


def write(folder: Path, **files: list[dict]) -> Path:
    folder.mkdir()
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def paragraphs(tmp_path: Path) -> Path:
    titles = ("Ann Lee", "Tom Ray", "Oak Hill", "Red Fox", "Blue Mill")
    docs = [
        {"doc_id": f"d{number}", "title": title, "text": f"{title} is number {number} of a list."}
        for number, title in enumerate(titles)
    ]
    docs[0]["text"] = "Ann Lee lived on a hill and was a painter. " * 6 + "She married Tom Ray."
    questions = [
        {"question": "Whom did Ann Lee marry?", "doc_ids": [], "evidence_doc_ids": ["d0", "d1"]},
        {"question": "Where is Oak Hill?", "doc_ids": ["d2", "d3"], "evidence_doc_ids": ["d2"]},
        {"question": "Who wrote it?", "doc_ids": [], "evidence_doc_ids": []},
    ]
    return write(tmp_path / "paragraphs", docs=docs, questions=questions)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A conversation whose second turn has no word, and whose third has one only in the document's text."""
    said = ["Ann: Rain again?", "Tom: ", "Tom: [shares a photo of a mill]", "Ann: Lovely. " + "The mill is old. " * 9]
    starts = np.cumsum([0, *(len(line) + 1 for line in said)]).tolist()
    date = "1:56 pm on 8 May, 2023"
    turns = [
        {"turn_id": f"t{place}", "doc_id": "s1", "start": start, "end": end - 1, "speaker": line[:3], "date": date}
        for place, (line, start, end) in enumerate(zip(said, starts, starts[1:], strict=False))
    ]
    docs = [{"doc_id": "s1", "title": "Ann & Tom", "text": "\n".join(said), "date": date}]
    questions = [
        {"question": "What was on the photo?", "doc_ids": ["s1"], "evidence_turn_ids": ["t2"]},
        {"question": "Is the mill old?", "doc_ids": ["s1"], "evidence_turn_ids": ["t3"]},
    ]
    return write(tmp_path / "talk", docs=docs, questions=questions, turns=turns)


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A document with spans, options, and a question that has no answer."""
    text = "Ann Lee found a fox. It rained all day. The fox slept in the shed. Tom Ray went home. " * 3
    span = {"doc_id": "s", "start": 40, "end": 66, "text": text[40:66]}
    questions = [
        {"qid": "q1", "question": "Where did the fox sleep?", "answers": ["in the shed"]},
        {"qid": "q2", "question": "Who found a fox?", "options": ["Tom Ray", "Ann Lee"], "gold_option": 1},
        {"qid": "q3", "question": "Zebra?", "answers": [], "unanswerable": True},
    ]
    shared = {"doc_ids": ["s"], "evidence_spans": [span]}
    docs = [{"doc_id": "s", "title": "A fox", "text": text}, {"doc_id": "t", "title": "", "text": "Nobody asks."}]
    return write(tmp_path / "story", docs=docs, questions=[question | shared for question in questions])
