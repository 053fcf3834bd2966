"""Test the reading of OpenIE files, and files that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.contracts import SplitDocument
from memgraph_rag.errors import DocumentError
from memgraph_rag.systems.hipporag.openie_file import OpenIEFile
from memgraph_rag.types import Segment, make_id

TEXT = "Ann Lee was born in York. She wrote about bees. Tom Ray met Ann Lee in Leeds."
TRIPLES = [
    ["Ann Lee", "was born in", "York"],
    ["Tom Ray", "met", "Ann Lee"],
    ["Ann Lee", "likes", "Vienna"],  # not in the text
    ["Ann Lee", "wrote about", "bees"],
    ["Ann Lee", "born"],
    "no triple",
]
READ = ["Ann Lee was born in York", "Tom Ray met Ann Lee", "Ann Lee likes Vienna", "Ann Lee wrote about bees"]

Write = Callable[[Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: Any) -> Path:
        path = tmp_path / "openie.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    return write


def find_triples(path: Path, *, key: str = "ann", title: str = "") -> tuple[list[str], dict[str, int]]:
    """Return the triples of a document with the text, and what was counted in them."""
    (passage,) = OpenIEFile(path).passages([make_document(key, title)], namespace="n")
    assert passage is not None
    return [line for _, _, line in passage.said.relations], dict(passage.notes)


def make_document(key: str, title: str = "") -> SplitDocument:
    segments = (Segment("s", "d", 0, TEXT, 0, len(TEXT), 9),)
    return SplitDocument(make_id("n", "document", key), title, segments)


FORMS: dict[str, Callable[[], Any]] = {
    "hipporag 1": lambda: {
        "docs": [
            {"idx": 7, "passage": f"A life\n{TEXT}", "extracted_entities": ["York"], "extracted_triples": TRIPLES}
        ],
        "avg_ent_chars": 4.0,
        "avg_ent_words": 1.0,
    },
    "hipporag 2": lambda: {
        "docs": [
            {
                "idx": "chunk-0a1b",
                "passage": f"A  life\n{TEXT}\n",
                "extracted_entities": [],
                "extracted_triples": TRIPLES,
            }
        ]
    },
    "text alone": lambda: [{"passage": TEXT, "triples": TRIPLES}],
    "lines": lambda: "\n".join(
        json.dumps(row)
        for row in ({"doc_id": "b", "triples": []}, {"doc_id": "ann", "entities": ["York"], "triples": TRIPLES})
    ),
    "a line with a byte order mark": lambda: "\ufeff" + json.dumps({"doc_id": "ann", "triples": TRIPLES}) + "\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_triples_are_read(form: str, write: Write) -> None:
    lines, notes = find_triples(write(FORMS[form]()), title="A life")
    assert lines == READ
    assert notes == {"triple that is none": 2}


def test_document_outside_the_file_has_no_passage(write: Write) -> None:
    file = OpenIEFile(write([{"doc_id": "other", "passage": "Other.", "triples": TRIPLES}]))
    assert len(file) == 1
    assert file.passages([make_document("ann")], namespace="n") == [None]


HOSTILE: dict[str, Any] = {
    "empty": " \n",
    "a number": "7",
    "no passages": {"docs": 3},
    "a passage that is none": {"docs": ["x"]},
    "no triples": [{"doc_id": "ann", "passage": TEXT}],
    "triples that are none": [{"doc_id": "ann", "triples": "['a', 'b', 'c']"}],
    "a broken line": '{"doc_id": "a", "triples": []}\n{"doc_id": ',
    "python": "__import__('os').abort()",
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_other_files_are_refused(name: str, write: Write) -> None:
    with pytest.raises(DocumentError, match=r"Expected an OpenIE file at .*, got .*\. Give "):
        OpenIEFile(write(HOSTILE[name]))


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xff\xfe\x00{")
    for path in (tmp_path / "none.json", tmp_path, tmp_path / "latin", Path("a\0b")):
        with pytest.raises(DocumentError, match="Expected an OpenIE file"):
            OpenIEFile(path)


strange = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["Ann Lee", "York", "\ud800", "\0"]),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(strange, max_size=6), strange)
def test_odd_triples_are_counted_never_raised(
    tmp_path_factory: pytest.TempPathFactory, triples: list[Any], entities: Any
) -> None:
    path = tmp_path_factory.mktemp("odd") / "openie.json"
    path.write_text(json.dumps([{"passage": TEXT, "triples": [*triples, TRIPLES[0]], "entities": entities}]))
    (passage,) = OpenIEFile(path).passages([make_document("ann")], namespace="n")

    assert passage is not None
    assert READ[0] in {line for _, _, line in passage.said.relations}
    for subject, object_name, line in passage.said.relations:
        assert subject in line
        assert object_name in line
