"""Questions over many short documents, from the rows of their published files.

The module knows no files. It returns rows in the form of ``docs.jsonl`` and ``questions.jsonl``. Invariant: a paragraph
that several questions share is one document; its key depends on its title and its words only.

Sources, by their documented fields and real rows:

- HotpotQA: github.com/hotpotqa/hotpot, ``hotpot_dev_distractor_v1.json``.
- 2WikiMultiHopQA: github.com/Alab-NII/2wikimultihop, release of April 7, 2021 (``data_ids_april7``), ``dev.json``.
- MuSiQue: github.com/StonyBrookNLP/musique, ``musique_ans_v1.0_dev.jsonl`` and ``musique_full_v1.0_dev.jsonl``.
- HippoRAG 1 and 2: github.com/OSU-NLP-Group/HippoRAG, ``NAME.json`` with ``NAME_corpus.json`` beside it.
- FlashRAG: github.com/RUC-NLPIR/FlashRAG, ``test.jsonl``; retrieved documents as in LongRefiner's
  ``scripts/evaluation/sample_docs.json`` (github.com/ignorejjj/LongRefiner) or FlashRAG's ``retrieval_cache.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

Row = Mapping[str, Any]


class Documents:
    """Collects the documents of an evaluation set, each once."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def add(self, title: str, text: str, *, key: str = "") -> str:
        """Add a document unless it is there, and return its key. By default the key is a hash of title and words."""
        key = key or sha256(f"{title}\n{' '.join(text.split())}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._rows.setdefault(key, {"doc_id": key, "title": title, "text": text})
        return key

    def rows(self) -> list[Row]:
        """Return the documents that have text, in the form of ``docs.jsonl`` and in the order of adding."""
        return [row for row in self._rows.values() if row["text"].strip()]


def add_corpus(corpus: Sequence[Row] | Mapping[str, Sequence[str]], documents: Documents) -> None:
    """Add HippoRAG's corpus: a list of titles and texts, or (HotpotQA in its first release) sentences by title."""
    if isinstance(corpus, Mapping):
        for title, sentences in corpus.items():
            documents.add(title, _join(sentences, ""))
        return
    for passage in corpus:
        documents.add(passage["title"], passage["text"])


def read_hotpotqa(row: Row, documents: Documents) -> Iterator[Row]:
    """Add the paragraphs of a row of HotpotQA or 2WikiMultiHopQA to the documents, and yield its question.

    The row's supporting facts name the paragraphs of evidence by title.
    The sentences of HotpotQA begin with their white space, those of 2WikiMultiHopQA are without.
    """
    later = [sentence for _, sentences in row["context"] for sentence in sentences[1:]]
    separator = "" if 2 * sum(sentence[:1].isspace() for sentence in later) > len(later) else " "
    supporting = {title for title, _ in row.get("supporting_facts") or ()}
    paragraphs = [(title, _join(sentences, separator), title in supporting) for title, sentences in row["context"]]
    answers = [row["answer"]] if "answer" in row else []
    yield _question(row, row["_id"], paragraphs, answers, documents) | {"type": row.get("type", "")}


def _join(sentences: Sequence[str], separator: str) -> str:
    """Return a paragraph on one line: HotpotQA has no-break spaces and line ends in places."""
    return " ".join(separator.join(sentences).split())


def read_musique(row: Row, documents: Documents) -> Iterator[Row]:
    """Add the paragraphs of a row of MuSiQue or of HippoRAG's files to the documents, and yield its question.

    In the full MuSiQue an unanswerable question has the id of its answerable twin. It gets an id of its own, and no
    evidence.
    """
    listed = row["contexts" if "contexts" in row else "paragraphs"]
    is_unanswerable = row.get("answerable") is False
    paragraphs = [
        (
            each["title"],
            each["paragraph_text"] if "paragraph_text" in each else each["text"],
            bool(each.get("is_supporting")) and not is_unanswerable,
        )
        for each in listed
    ]
    qid = row.get("id", row.get("_id"))
    hops = str(qid).partition("__")
    question = _question(row, qid, paragraphs, [] if is_unanswerable else _answers(row), documents)
    question["type"] = hops[0] if hops[1] else ""
    if is_unanswerable:
        question |= {"qid": f"{qid} unanswerable", "unanswerable": True}
    yield question


def read_flashrag(row: Row, documents: Documents) -> Iterator[Row]:
    """Add the documents that were retrieved for a question of FlashRAG, and yield the question about them.

    The first line of a document's ``contents`` is its title.
    """
    keys = []
    for passage in row["retrieved"]:
        title, _, text = passage["contents"].partition("\n")
        if text.strip():
            keys.append(documents.add(title.strip('"'), text))
    yield {"qid": row["id"], "question": row["question"], "answers": row["golden_answers"], "doc_ids": keys}


def _question(
    row: Row, qid: object, paragraphs: Sequence[tuple[str, str, bool]], answers: Sequence[str], documents: Documents
) -> dict[str, Any]:
    """Return a question about all documents, with the keys of its own paragraphs and of those with the evidence."""
    keys = [(documents.add(title, text), is_evidence) for title, text, is_evidence in paragraphs if text.strip()]
    question = {
        "question": row["question"],
        "answers": list(dict.fromkeys(answers)),
        "evidence_doc_ids": [key for key, is_evidence in keys if is_evidence],
        "context_doc_ids": [key for key, _ in keys],
    }
    return question if qid is None else question | {"qid": qid}


def _answers(row: Row) -> list[str]:
    """Return the answers under the names that MuSiQue and HippoRAG's files give them; none in a test set."""
    names = (
        "answer",
        "gold_ans",
        "reference",
        "answer_aliases",
        "obj",
        "possible_answers",
        "o_wiki_title",
        "o_aliases",
    )
    values = [row[name] for name in names if name in row]
    return [answer for value in values for answer in ([value] if isinstance(value, str) else value)]
