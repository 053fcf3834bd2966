"""Copies all tables of a Ladybug file into an empty file with the same schema, without deleted data.

The module knows neither documents nor namespaces. Invariant: the copy holds the same rows and edges, or ``copy``
raises. The original is not changed.

The name of a table or a column cannot be a parameter, so these statements cannot be in files: they are built from the
names that the engine lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.ladybug.file import LadybugFile

SOURCE, TARGET = "from id", "to id"


def copy(old: LadybugFile, new: LadybugFile, *, but: Sequence[str] = (), further_sources: Sequence[str] = ()) -> None:
    """Copy the rows of all tables except ``but`` from the file ``old`` into ``new``, an empty file with these tables.

    Each table is a transaction of its own, and is in memory meanwhile.

    Args:
        further_sources: tables of nodes whose edges are copied, even if ``but`` contains the table of the edges.

    Raises:
        StoreError: the copy does not hold as many rows as the original.
    """
    tables = [(row["name"], row["type"]) for row in old.read("CALL show_tables() RETURN name, type", {})]
    for name in (name for name, kind in tables if kind == "NODE" and name not in but):
        _copy(old, new, name, f"MATCH (n:{name})", [], "")
    for name in (name for name, kind in tables if kind == "REL"):
        for row in old.read(f"CALL show_connection('{name}') RETURN *", {}):
            source, target = row["source table name"], row["destination table name"]
            if name in but and source not in further_sources:
                continue
            ends = [f"a.id AS `{SOURCE}`", f"b.id AS `{TARGET}`"]
            _copy(
                old,
                new,
                name,
                f"MATCH (a:{source})-[n:{name}]->(b:{target})",
                ends,
                f"(from='{source}', to='{target}')",
            )


def _copy(old: LadybugFile, new: LadybugFile, name: str, match: str, ends: list[str], between: str) -> None:
    """Copy the rows of one table, or the edges of one table between two other tables."""
    columns = [row["name"] for row in old.read(f"CALL table_info('{name}') RETURN name", {})]
    returned = ", ".join([*ends, *(f"n.`{column}` AS `{column}`" for column in columns)])
    rows = old.read_table(f"{match} RETURN {returned}", {})
    if rows.num_rows:
        listed = ", ".join(f"`{column}`" for column in rows.column_names)
        text = f"COPY {name} FROM (LOAD FROM $rows RETURN {listed}) {between}"
        new.transaction(lambda execute: execute(text, {"rows": rows}), row_bytes=rows.nbytes)
    (counted,) = new.read(f"{match} RETURN count(*) AS count", {})
    if counted["count"] != rows.num_rows:
        raise StoreError(
            f"Expected {rows.num_rows} rows of {name} in the copy of {show(old.place)}, got {counted['count']}. "
            "The original was not changed: run memgraph-rag doctor.",
            path=old.place,
            table=name,
        )
