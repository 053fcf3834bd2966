"""Documents written together: the same graph as one by one, all of them or none."""

from __future__ import annotations

from memgraph_rag.testing.sample_graphs import MakeStore, make_graph


def test_a_large_group(make_store: MakeStore) -> None:
    store = make_store()
    graphs = [make_graph(store.namespace, f"{number}", ("Alice.", f"Number{number}.")) for number in range(600)]

    receipts = store.write_many(graphs)

    assert {tuple(sorted(receipt.counts.items())) for receipt in receipts} == {
        (("Document", 1), ("HAS_SEGMENT", 2), ("MENTIONS", 2), ("NEXT", 1), ("Segment", 2))
    }
    assert (store.count_documents(), store.statistics()["Entity"]) == (600, 601)
