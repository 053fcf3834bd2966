"""Sets of questions in the formats in which their authors publish them.

The module finds a set's file, recognises its format by the fields of the first row, and returns it in the library's own
format. ``paragraph_sets`` and ``long_text_sets`` read the rows. Invariant: a file is read completely or not at all; an
error names the file and the row.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, MemgraphRagWarning
from memgraph_rag.evaluation.long_text_sets import (
    narrativeqa_rows,
    read_longbench,
    read_narrativeqa,
    read_qasper,
    read_quality,
)
from memgraph_rag.evaluation.paragraph_sets import (
    Documents,
    Row,
    add_corpus,
    read_flashrag,
    read_hotpotqa,
    read_musique,
)


class PaperSet(NamedTuple):
    """A published evaluation set, converted to rows in the form of ``docs.jsonl`` and ``questions.jsonl``."""

    name: str
    documents: list[Row]
    questions: list[Row]


class _Format(NamedTuple):
    name: str
    fields: frozenset[str]
    """Fields that each row has, and that no row of another format has together."""
    read: Callable[[Row, Documents], Iterator[Row]]


_FORMATS = (
    _Format("HotpotQA, 2WikiMultiHopQA", frozenset({"question", "context"}), read_hotpotqa),
    _Format("MuSiQue", frozenset({"question", "paragraphs"}), read_musique),
    _Format("HippoRAG", frozenset({"question", "contexts"}), read_musique),
    _Format("FlashRAG (NaturalQuestions, PopQA, TriviaQA)", frozenset({"question", "golden_answers"}), read_flashrag),
    _Format("QuALITY", frozenset({"article", "questions"}), read_quality),
    _Format("Qasper", frozenset({"full_text", "qas"}), read_qasper),
    _Format("NarrativeQA", frozenset({"question", "answer1", "answer2"}), read_narrativeqa),
    _Format("LongBench", frozenset({"input", "context", "answers"}), read_longbench),
)

_SUFFIXES = {".json", ".jsonl", ".dev", ".test", ".train"}
_SPLITS = (("dev", "valid", "validation"), ("test",), ())
"""The files of a folder in the order of preference, by a word of their names; () is any other file."""


def read_paper_set(path: Path) -> PaperSet:
    """Read a published evaluation set, such as HotpotQA or QuALITY, in the format of its authors, and convert it.

    In a folder, the file with "dev" or "valid" in its name is read, else the one with "test", else the only one.

    Args:
        path: the set's file, or its folder.

    Raises:
        DocumentError: there is no such file, or several; its format is unknown; a row is incomplete.
    """
    file = _find_file(path)
    rows = _read_rows(file)
    fields = {*rows[0]} if isinstance(rows[0], dict) else set()
    form = next((form for form in _FORMATS if form.fields <= fields), None)
    if form is None:
        raise _make_unknown_set_error(path, f"rows with the fields {show(sorted(fields))}")
    documents, questions = Documents(), []
    corpus = file.with_name(f"{file.stem}_corpus.json")
    try:
        if corpus.is_file():
            add_corpus(json.loads(corpus.read_text("utf-8")), documents)
        if form.read is read_flashrag:
            rows = _attach_retrieved(rows, file)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DocumentError(
            f"Expected the documents of {form.name} next to {show(file)}, got {type(error).__name__}: {show(error)}. "
            "Mend the file.", path=file,
        ) from error  # fmt: skip
    for number, row in enumerate(rows, 1):
        try:
            questions += form.read(row, documents)
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise DocumentError(
                f"Expected the fields of {form.name} in row {number} of {show(file)}, got {type(error).__name__}: "
                f"{show(error)}. Mend the row, or name another file: test sets may lack their answers.", path=file,
            ) from error  # fmt: skip
    return PaperSet(name_set(file), documents.rows(), questions)


def _find_file(path: Path) -> Path:
    """Return the file of questions that a path names, or that is in the folder."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise _make_unknown_set_error(path, "no such file or folder")
    if (path / "qaps.csv").is_file():
        return path / "qaps.csv"
    names = {
        file: {*re.split("[^a-z]+", file.name.lower())}
        for file in sorted(path.iterdir())
        if file.suffix in _SUFFIXES and file.is_file() and not file.stem.endswith("_corpus")
    }
    files = [file for file, words in names.items() if not words & {"train", "openie"}]
    for split in _SPLITS:
        chosen = [file for file in files if not split or names[file].intersection(split)]
        if len(chosen) > 1:
            raise DocumentError(
                f"Expected one file of questions in {show(path)}, got {show([file.name for file in chosen])}. "
                "Name the file.", path=path,
            )  # fmt: skip
        if chosen:
            return chosen[0]
    raise _make_unknown_set_error(path, "none of their files")


def name_set(file: Path) -> str:
    """Return the name of a set by its file: the file's name, after the folder's name if the file is only "dev" etc."""
    stem = file.name if file.suffix in {".dev", ".test", ".train"} else file.stem
    if stem == "qaps":
        return file.resolve().parent.name
    return f"{file.resolve().parent.name}-{stem}" if stem in {"dev", "test", "train", "valid"} else stem


def _read_rows(file: Path) -> Sequence[Any]:
    """Return the rows of a file, at least one."""
    try:
        rows = narrativeqa_rows(file) if file.suffix == ".csv" else list(_parse(file.read_text("utf-8-sig"), file))
    except (OSError, ValueError, LookupError) as error:
        raise DocumentError(
            f"Expected a published set of questions in {show(file)}, got {type(error).__name__}: {show(error)}. "
            "Mend the file.", path=file,
        ) from error  # fmt: skip
    if not rows:
        of_stories = ": bring the stories by download_stories.sh, or name summaries.csv"
        raise DocumentError(
            f"Expected questions and their documents in {show(file)}, got none. "
            f"Complete the file{of_stories if file.suffix == '.csv' else ''}.", path=file,
        )  # fmt: skip
    return rows


def _parse(text: str, file: Path) -> Iterator[Any]:
    """Yield the rows of one JSON list, of JSON lines, or of Qasper's object, which holds papers by their ids."""
    try:
        parsed = json.loads(text)
    except ValueError:
        if text.lstrip().startswith("["):
            raise
    else:
        papers = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
        is_qasper = bool(papers) and all(isinstance(paper, dict) and "qas" in paper for paper in papers.values())
        whole = parsed if isinstance(parsed, list) else [parsed]
        yield from [{**paper, "paper_id": key} for key, paper in papers.items()] if is_qasper else whole
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise DocumentError(
                    f"Expected one JSON object a line in {show(file)}, got an error in line {number}: {show(error)}. "
                    "Mend the line.", path=file, line=number,
                ) from error  # fmt: skip


def _attach_retrieved(rows: Sequence[Row], file: Path) -> Sequence[Row]:
    """Return the questions with the documents that were retrieved for them; the others are left out, with a warning.

    The documents are in the JSON files of the folder that hold lists of documents by question.
    """
    retrieved: dict[str, list[Row]] = {}
    for beside in sorted(file.parent.glob("*.json")):
        found = json.loads(beside.read_text("utf-8"))
        if isinstance(found, dict) and all(isinstance(value, list) for value in found.values()):
            retrieved |= found
    kept = [{**row, "retrieved": retrieved[row["question"]]} for row in rows if retrieved.get(row["question"])]
    if not kept:
        raise DocumentError(
            f"Expected the documents retrieved for the questions of {show(file)} in a JSON file of its folder, got "
            'none. Add a file {"question": [{"contents": "title\\ntext"}]}, such as FlashRAG\'s retrieval_cache.json.',
            path=file,
        )
    if len(kept) < len(rows):
        warnings.warn(
            f"{len(rows) - len(kept)} of {len(rows)} questions of {show(file)} have no retrieved documents, and are "
            "left out.", MemgraphRagWarning, stacklevel=2,
        )  # fmt: skip
    return kept


def _make_unknown_set_error(path: Path, what: str) -> DocumentError:
    names = ", ".join(form.name for form in _FORMATS)
    return DocumentError(
        f"Expected docs.jsonl and questions.jsonl, or a set as it is published ({names}), in {show(path)}, got {what}. "
        "Name another file or folder.", path=path,
    )  # fmt: skip
