"""The lists that a memory returns: lists like any other, and tables of pandas."""

from __future__ import annotations

import sys

import pytest
from memories import FOX
from records import EVIDENCE, RECORD

from memgraph_rag import Memory
from memgraph_rag.calls.record_list import RecordList
from memgraph_rag.errors import SettingsError


def test_search_and_documents_return_lists_that_equal_plain_ones(file_memory: Memory) -> None:
    file_memory.add(FOX, key="fox")
    hits, documents, named = (
        file_memory.search("fox"),
        file_memory.documents(),
        file_memory.documents(documents=["fox"]),
    )
    assert [type(records) for records in (hits, documents, named)] == [RecordList] * 3
    assert hits == list(hits) != []
    assert list(documents) == documents == named


def test_missing_pandas_is_our_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SettingsError, match=r"Expected the package pandas, got .*\. Install it: pip install pandas\."):
        RecordList([EVIDENCE]).to_pandas()


@pytest.mark.parametrize("record", [EVIDENCE, RECORD], ids=["evidence", "document"])
def test_table_has_a_row_for_each_record_and_a_column_for_each_key(record) -> None:
    pytest.importorskip("pandas")
    table = RecordList([record, record]).to_pandas()
    assert list(table.columns) == list(record.as_dict())
    assert table.to_dict("records") == [record.as_dict()] * 2


def test_empty_list_is_an_empty_table() -> None:
    pytest.importorskip("pandas")
    assert RecordList().to_pandas().empty
