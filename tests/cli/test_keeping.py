"""``memgraph-rag purge``, on a real file."""

from __future__ import annotations


def test_purge_frees_the_file_of_what_was_forgotten(cli, fox, write, tmp_path) -> None:
    cli("add", write("secret.txt", "Zanzibar has seventeen elephants. " * 20), "--key", "secret")
    cli("forget", "secret")
    store = tmp_path / "notes.lbug"
    assert b"Zanzibar" in store.read_bytes()

    assert cli("purge").stdout == f"purged     {store}\n"

    assert b"Zanzibar" not in store.read_bytes()
    assert cli.json("search", "red fox")[0]["document_key"] == "fox"
    assert cli.json("purge") == {"store": str(store), "purged": True}
