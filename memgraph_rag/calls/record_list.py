"""``RecordList``: the list that a search returns, which notebooks show as a table and pandas can read.

Each record has the method ``as_dict``. Invariant: it is equal to the plain list of the same records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.types import DocumentRecord, Evidence
from memgraph_rag.types.notebook import table_html

if TYPE_CHECKING:
    from pandas import DataFrame  # pyright: ignore[reportMissingImports] - nothing of ours installs it

Record = TypeVar("Record", Evidence, DocumentRecord)

_COLUMNS = {
    Evidence: ("document_key", "text", "relevance", "time", "speaker", "remarks"),
    DocumentRecord: ("key", "title", "characters", "segments", "layers", "added_at", "metadata"),
}
"""The columns of the table in a notebook, for each type of record."""


class RecordList(list[Record]):
    """A list of the hits of a search, or of the records of documents."""

    __slots__ = ()

    def to_pandas(self) -> DataFrame:
        """Return a table with a row for each record and a column for each key of its ``as_dict``.

        An empty list gives a table without columns.

        Raises:
            SettingsError: pandas is not installed.
        """
        try:
            import pandas  # pyright: ignore[reportMissingImports]
        except ImportError as exc:
            raise SettingsError(
                f"Expected the package pandas, got {show(exc)}. Install it: pip install pandas."
            ) from exc
        return pandas.DataFrame([record.as_dict() for record in self])

    def _repr_html_(self) -> str:
        """Return an HTML table of the most useful columns, for a notebook."""
        return table_html(self, _COLUMNS[type(self[0])]) if self else "<p>Nothing was found.</p>"
