"""Test that programs are cut at functions and classes, and that a later part of one tells what it continues."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tables import table

from memgraph_rag.ingestion.segmenting import cut_segments
from memgraph_rag.text.context import write_in_context
from memgraph_rag.text.programs import definitions
from memgraph_rag.types import Document

pytest.importorskip("tree_sitter_language_pack")

PROGRAM = '''"""Foxes: é."""

import os


# A fox.
@dataclass
class Fox:
    """Runs."""

    name = "é"

    def run(self, far: int) -> None:
        """Run as far as it can."""
        self.at += far

    def rest(self) -> None:
        self.at = 0


def hunt(fox):
    return fox
'''


@table(
    ("name", "text", "signatures"),
    [
        (
            "b/a.py",
            PROGRAM,
            ["class Fox:", "def run(self, far: int) -> None:", "def rest(self) -> None:", "def hunt(fox):"],
        ),
        ("b/a.js", "// Runs.\nexport class A {\n  run(x) {\n    return 1\n  }\n}\n", ["class A", "run(x)"]),
        ("b/a.go", "package a\n\nfunc (s *S) Run(a int) error {\n\treturn nil\n}\n", ["func (s *S) Run(a int) error"]),
        ("b/a.rs", "impl A {\n  /// Runs.\n  pub fn run() {\n  }\n}\n", ["impl A", "pub fn run()"]),
        ("b/a.java", "class A {\n  void run() {\n  }\n}\n", ["class A", "void run()"]),
        ("b/a.py", "def broken(:\n  (((", []),
        ("b/a.md", "def f():\n    pass\n", []),
    ],
)
def test_functions_and_classes_are_found_with_their_signatures(name: str, text: str, signatures: list[str]) -> None:
    assert [found.signature for found in definitions(text, name)] == signatures


def test_a_definition_begins_with_its_comment() -> None:
    fox = definitions(PROGRAM, "b/a.py")[0]
    assert PROGRAM[fox.start : fox.end].startswith("# A fox.\n@dataclass")
    assert PROGRAM[fox.start : fox.end].endswith("self.at = 0")


def test_a_later_part_of_a_class_is_embedded_with_its_signature() -> None:
    def words(texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    document = Document(PROGRAM, "a", title="src/fox.py")
    segments = cut_segments(document, "d", namespace="test", count_tokens=words, max_tokens=20)
    assert "".join(segment.text for segment in segments) == PROGRAM
    read = write_in_context(document.title, segments)
    (rest,) = [text for text in read if "def rest" in text and "class Fox:\n    " not in text]
    assert rest.startswith("src/fox.py\nclass Fox:\n")
