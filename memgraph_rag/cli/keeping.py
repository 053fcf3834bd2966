"""``memgraph-rag purge``: upkeep of a store.

It knows no engine. Invariant: what a document says is the same before and after.
"""

from __future__ import annotations

from memgraph_rag.cli import forms
from memgraph_rag.cli.place import Json, Place

__all__ = ["purge"]


def purge(place: Place, as_json: Json = False) -> None:
    """Rewrite an embedded file so that not a byte of what was forgotten or replaced is left in it."""
    from memgraph_rag.cli import render

    with place.open() as memory:
        store = memory.settings.store
        memory.purge()
    if as_json:
        forms.write_json({"store": store, "purged": True})
    else:
        render.to_stdout().print(render.plain(f"purged     {store}"), markup=False, soft_wrap=True)
