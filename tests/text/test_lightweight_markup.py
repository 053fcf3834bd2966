"""Test that reStructuredText and AsciiDoc are read by their parsers, without their marks and without other files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import table
from written_files import written

from memgraph_rag.text.loading import load

RST = """Foxes
=====

They run, see :class:`~fox.Fox` and :ref:`the den <den>`.

.. versionadded:: 1.2
   Cubs.

.. py:function:: run(far)
   :noindex:

   Runs far.

.. toctree::

   other

.. include:: /etc/passwd

.. raw:: html

   <b>raw</b>
"""


def test_restructured_text_is_read_without_its_marks(tmp_path: Path):
    pytest.importorskip("docutils")
    document = load(written(tmp_path, "page.rst", RST))
    assert document.title == "Foxes"
    assert "They run, see fox.Fox and the den." in document.text
    assert all(words in document.text for words in ("# Foxes", "Cubs.", "run(far)", "Runs far."))
    assert all(words not in document.text for words in ("other", "root:", "raw", "::"))


ASCIIDOC = """= Foxes of the {wood}
Ann Bee
:wood: Black Wood

// a remark
They *run*, see <<den,the den>>.

ifdef::web[]
Only on the web.
endif::[]
ifndef::book[In no book.]

include::/etc/passwd[]

== The den

.Cubs
|===
|Name |Notes

|Rufus
|red +
and fast
|===

[source,ruby]
----
// kept
fox.run
----

////
a draft
////
"""


def test_asciidoc_becomes_markdown(tmp_path: Path):
    document = load(written(tmp_path, "page.adoc", ASCIIDOC))
    assert document.title == "Foxes of the Black Wood"
    assert document.text.startswith("# Foxes of the Black Wood\n\nAnn Bee\n\nThey **run**, see [the den](#den).\n")
    assert "\n## The den\n" in document.text
    assert "| Rufus | red and fast |" in document.text
    assert "``` ruby\n// kept\nfox.run\n```" in document.text
    assert all(words in document.text for words in ("Only on the web.", "In no book."))
    assert all(words not in document.text for words in ("a remark", "a draft", "::", "root:"))


@table(
    ("source", "text"),
    [
        ("Foxes\n=====\n\n[[den]]\nThe den\n-------\n\nDark.\n", "# Foxes\n\n## The den\n\nDark.\n"),
        ("= Foxes\n\n----\nrun\n", "# Foxes\n\n    run\n"),
        ("= Foxes\n\n----\nrun\n\nrest\n----\n", "# Foxes\n\n    run\n\n    rest\n"),
    ],
)
def test_asciidoc_titles_of_two_lines_and_open_blocks(source: str, text: str, tmp_path: Path):
    assert load(written(tmp_path, "page.adoc", source)).text == text


@table("source", ["= Foxes\n\n:wood: Black Wood\n", "= Foxes\n\n[]\n\n"])
def test_asciidoc_that_pandoc_refuses_is_kept(source: str, tmp_path: Path):
    document = load(written(tmp_path, "page.asciidoc", source))
    assert (document.title, document.text) == ("Foxes", source)
