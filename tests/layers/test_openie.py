"""Test triples of an OpenIE file as relations of a memory, and files that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memories import options

from memgraph_rag import Memory, Receipt
from memgraph_rag.contracts import SplitDocument
from memgraph_rag.errors import DocumentError
from memgraph_rag.layers.openie import OpenIE
from memgraph_rag.testing import FakeRecognizer
from memgraph_rag.types import OPEN_KIND, Segment

TEXT = "Ann Lee was born in York. She wrote about bees. Tom Ray met Ann Lee in Leeds."
TRIPLES = [
    ["Ann Lee", "was born in", "York"],
    ["Tom Ray", "met", "Ann Lee"],
    ["Ann Lee", "likes", "Vienna"],  # not in the text
    ["Ann Lee", "wrote about", "bees"],
    ["Ann Lee", "born"],
    "no triple",
]
KEPT = ["Ann Lee was born in York", "Ann Lee wrote about bees", "Tom Ray met Ann Lee"]

Write = Callable[[Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: Any) -> Path:
        path = tmp_path / "openie.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    return write


def list_relations(
    path: Path, tmp_path: Path, *, key: str = "ann", title: str = ""
) -> tuple[list[str], dict[str, int]]:
    """Return the relations of a document with the text, and the counts in its receipt."""
    layers = ("entities", OpenIE(path))
    with Memory(tmp_path / "m.lbug", **options(layers=layers, segment_tokens=300)) as memory:
        receipt = memory.add(TEXT, key=key, title=title)
        relations = memory._parts.store.list_relations(receipt.document_id)
        surfaces = {mention.entity_id: mention.surface for mention in memory._parts.store.mentions(receipt.document_id)}
        assert all({relation.source_id, relation.target_id} <= surfaces.keys() for relation in relations)
        return sorted(relation.description for relation in relations), dict(receipt.notes)


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
def test_triples_become_relations(form: str, write: Write, tmp_path: Path) -> None:
    descriptions, notes = list_relations(write(FORMS[form]()), tmp_path, title="A life")
    assert descriptions == KEPT
    assert notes["triple that is none"] == 2
    assert notes["relation whose names are not in the text together"] == 1


def test_document_outside_the_file_has_no_relations(write: Write, tmp_path: Path) -> None:
    path = write([{"doc_id": "other", "passage": "Other.", "triples": TRIPLES}])
    assert len(OpenIE(path)) == 1
    descriptions, notes = list_relations(path, tmp_path)
    assert (descriptions, notes) == ([], {"document that the OpenIE file does not name": 1})


def test_stored_documents_are_deepened_and_searched(write: Write, tmp_path: Path) -> None:
    path = write([{"doc_id": "ann", "triples": TRIPLES}])
    with Memory(tmp_path / "m.lbug", **options(layers=("entities",))) as memory:
        memory.add(TEXT, key="ann")
        assert "relations" not in memory.search("Where was Ann Lee born?", mode="hipporag")[0].why
        (receipt,) = memory.deepen(layers=[OpenIE(path)])
        assert isinstance(receipt, Receipt)
        assert receipt.counts["RELATES_TO"] == 3
        kinds = {mention.kind for mention in memory._parts.store.mentions(receipt.document_id)}
        assert OPEN_KIND in kinds  # "bees" is no name that the recognizer finds


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
        OpenIE(write(HOSTILE[name]))


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xff\xfe\x00{")
    for path in (tmp_path / "none.json", tmp_path, tmp_path / "latin", Path("a\0b")):
        with pytest.raises(DocumentError, match="Expected an OpenIE file"):
            OpenIE(path)


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
    layer = OpenIE(path)
    document = SplitDocument("d", "", (Segment("s", "d", 0, TEXT, 0, len(TEXT), 9),))
    models: Any = SimpleNamespace(recognizer=FakeRecognizer())

    (rows,) = layer.build([document], namespace="n", models=models)

    assert KEPT[0] in {relation.description for relation in rows.relations}
    for mention in rows.mentions:
        assert TEXT[mention.start : mention.end] == mention.surface
