"""Write rows into Parquet files, a file for each table, some rows at a time.

It knows no graph. Invariant: the types of a table come from its first rows, and later rows must have them too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from typing_extensions import Self


class ParquetTables:
    """A writer of tables: one Parquet file for each table with rows, all in one folder. A context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._open = ExitStack()

    def write(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows, which all have the same column names, to the file ``<table>.parquet``."""
        if not rows:
            return
        writer = self._writers.get(table)
        if writer is None:
            schema = pa.Table.from_pylist(list(rows)).schema
            path = self._folder / f"{table}.parquet"
            writer = self._writers[table] = self._open.enter_context(pq.ParquetWriter(path, schema))
        writer.write_table(pa.Table.from_pylist(list(rows), schema=writer.schema))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
