"""What keeps a memory whole and moves it: layers that lack, embeddings, examining, archives, rewriting the file.

It reads no question and no source. Invariant: a call that is interrupted leaves a store that is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgraph_rag.contracts import Embedder, Layer, MemoryLayer
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.operations import archive, archive_import, layer_removal, reembed, repair, telemetry
from memgraph_rag.operations.checked_models import CheckedEmbedder
from memgraph_rag.operations.lacking_layers import build_until, oldest_first
from memgraph_rag.operations.layer_choice import choose_layers, layers_to_deepen
from memgraph_rag.operations.memory_layers import (
    build_memory_layers,
    choose_memory_layers,
    documents_without,
    known_memory_layers,
    layers_there,
    remove_overviews,
    split_layers,
)
from memgraph_rag.operations.model_loader import open_embedder
from memgraph_rag.operations.open_memory import OpenMemory
from memgraph_rag.operations.validation import (
    as_object,
    check_count,
    check_limit,
    check_parts,
    checked_path,
    may_name,
)
from memgraph_rag.types import DocumentPage, DocumentRecord, Scope
from memgraph_rag.types.inspection import Damage
from memgraph_rag.types.receipts import Failure, Receipt

if TYPE_CHECKING:
    from memgraph_rag.stores.neo4j_bulk import BulkFiles

__all__ = ["MaintainedMemory"]


class MaintainedMemory(OpenMemory):
    """A memory with its upkeep; ``Memory`` adds documents and questions."""

    def purge(self) -> None:
        """Rewrite the embedded file so that not a byte of what was forgotten or replaced is left in it.

        ``forget`` takes a document out of everything that can be asked; its bytes stay in the file until others take
        their place. All namespaces of the file are rewritten; it takes room for a second copy meanwhile. What the file
        system, backups or the disk itself still hold is beyond this.

        Raises:
            StoreError: the store is a Neo4j server (what that keeps is in ``docs/security.md``), or there is no room.
        """
        self._require_writable()
        with telemetry.span("purge"):
            self._store.purge()
            self._journal.clear()
            reembed.forget_kept(self._reembedding_dir)

    def reembed(self, embedder: str | Path | Embedder) -> int:
        """Embed everything in the store, in all namespaces, by another embedder, of any dimension; how many documents.

        Searches and questions go on with the old embeddings while the new ones are made; then the store has the new
        ones at one moment, and this memory embeds with the new embedder. Other memories that are open on the store
        raise ``SchemaMismatch`` from then on: open them again. After an interruption everything is as it was, and the
        next call embeds only what is missing. In an embedded file the switch writes the file anew, as ``purge`` does.

        Raises:
            StoreError: a document is damaged (``repair``), or others write too fast.
            ModelNotFound: there is no such embedder.
        """
        self._require_writable()
        check_parts({"embedder": embedder})
        new = CheckedEmbedder(as_object(embedder) or open_embedder(str(embedder), self.settings))
        with telemetry.span("reembed") as event_fields:
            folder = self._reembedding_dir
            event_fields["documents"] = reembed.reembed(self._store, new, folder=folder, progress=self._progress)
            self._models.embedder = new
            for part in ("_reading", "_wishes"):  # they hold the former embedder
                self.__dict__.pop(part, None)
            self._search = self._new_search()
            self._store.migrate(embedder=new.name, dimension=new.dimension)
        return event_fields["documents"]

    def deepen(
        self,
        documents: Sequence[str | Path] | None = None,
        *,
        layers: Sequence[str | Layer | MemoryLayer] | None = None,
        max_tokens: int | None = None,
        max_seconds: float | None = None,
    ) -> Iterator[Receipt | Failure]:
        """Build the layers that documents still lack, yielding an outcome of each; then the layers of the whole memory.

        Without ``documents`` the oldest comes first, and the last page of a conversation is left alone while it takes
        further turns (``Session.end`` closes it). ``add`` is never kept waiting: a document is built outside of
        transactions and then written in one.

        Documents are built in groups, whose prompts the model reads together; then some dozens at a time are stored in
        one transaction, and each alone where that is refused. When this is interrupted, what is stored stays, and of
        the rest what the model had finished is not asked of it again by the next call. A document that lacks nothing is
        ``Action.UNCHANGED``.

        Args:
            documents: keys, ids or paths of files; all by default.
            layers: by name or as objects, as for ``Memory``; by default entities, points, this memory's own, and the
                layers of the memory that are there. Of such a layer the receipt has its name for a key.
            max_tokens: as for ``add_many``.
            max_seconds: begin no further documents later than that, up to eight at a time; what is begun is finished.
                The next call goes on from there.

        Raises:
            DocumentNotFound: a document is not in this memory.
            SettingsError: there is no such layer, or the seconds are no number above 0.
            ModelNotFound: a layer needs a language model, and there is none.
        """
        of_documents, of_memory = self._layers_to_deepen(layers, all_documents=documents is None)
        chosen = choose_layers(of_documents, self.settings, known=self._layers)
        ids = self._ids(documents)
        self._require_writable()
        check_limit("max_seconds", max_seconds)
        models = self._models_within(max_tokens)
        records: Sequence[DocumentRecord] = ()
        ingestion: Any = None
        if chosen:  # without layers of documents no tokens are counted: no language model is looked for
            stored = self._store.documents(ids)
            records = oldest_first(stored) if documents is None else stored
            ingestion = self._ingestion(chosen, models)
        outcomes = build_until(
            records,
            lambda some: ingestion.deepen(some),
            lambda: build_memory_layers(self._store, of_memory, models=models, progress=self._progress),
            max_seconds=max_seconds,
        )
        return telemetry.each("deepen", outcomes)

    def _layers_to_deepen(
        self, layers: Sequence[str | Layer | MemoryLayer] | None, *, all_documents: bool
    ) -> tuple[Iterable[str | Layer], list[MemoryLayer]]:
        """The layers of documents and those of the memory that are to be built."""
        if layers is not None:
            of_documents, of_memory = split_layers(layers)
            chosen = choose_memory_layers(of_memory)
            required = [name for layer in chosen for name in layer.requires]
            return ([*of_documents, *required] if required else of_documents), chosen
        known: list[str | MemoryLayer] = list(self._memory_layers)
        if all_documents:
            names = {layer.name for layer in self._memory_layers}
            there = layers_there(self._store)
            known += [name for name in there if name in known_memory_layers() and name not in names]
        return layers_to_deepen(self._layers), choose_memory_layers(known)

    def remove_layer(self, layer: str, documents: Sequence[str | Path] | None = None) -> Iterator[Receipt | Failure]:
        """Take a layer away from documents that have it, telling of each in order; ``deepen`` builds it again.

        Without ``context`` the segments of a document are embedded as they were before it, in the same transaction. A
        document without the layer is ``Action.UNCHANGED``, one that had it ``Action.DEEPENED``: its layers are others.

        Args:
            layer: ``context``, ``facts`` or a layer of your own: one that has annotations; or a layer of the memory,
                which goes as a whole.
            documents: keys, ids or paths of files; all by default.

        Raises:
            DocumentNotFound: a document is not in this memory.
            SettingsError: other layers may rest on it, as on entities, points and relations.
        """
        self._require_writable()
        if isinstance(layer, str) and (overviews := self._store.overviews(layer)):
            return telemetry.each("remove_layer", remove_overviews(self._store, overviews))
        layer_removal.check_removable(layer)
        records = self._store.documents(self._ids(documents))
        receipts = layer_removal.remove_layer(self._store, self._models.embedder, layer, records)
        return telemetry.each("remove_layer", receipts)

    def examine(self) -> list[Damage]:
        """What is wrong with this namespace's graph and the database's indexes, kind by kind; nothing is changed.

        Nothing is, where only this library wrote: it is for files that were damaged and databases that others changed.
        """
        with telemetry.span("examine") as event_fields:
            damages = repair.examine(self._store)
            event_fields["found"] = sum(damage.number for damage in damages)
        return damages

    def repair(self) -> list[Damage]:
        """Put right what ``examine`` finds, in one transaction; what was found, with what cannot be mended.

        What belongs to nothing is removed, what can be told from the rest is written again, what has no embedding is
        embedded. Of a document whose points are broken all points go: ``deepen`` builds them again. A document of which
        segments are missing cannot be mended: forget it, and add it again.
        """
        self._require_writable()
        with telemetry.span("repair") as event_fields:
            damages = repair.repair(self._store, self._models.embedder)
            event_fields["found"] = sum(damage.number for damage in damages)
        return damages

    def export_to(self, path: str | Path, *, user: str | None = None, session: str | None = None) -> int:
        """Write all documents of this namespace, with all that was built of them, into one file; how many.

        JSON Lines, one document at a time in memory. ``import_from`` reads it into any store. Only an archive or an
        empty file is replaced; a symbolic link is followed.

        Args:
            user: only what this user said, or was added with it as metadata; so with ``session``.

        Raises:
            DocumentError: the file cannot be written, or something else is there.
        """
        self._process.require()
        with telemetry.span("export") as event_fields:
            event_fields["documents"] = archive.export_documents(
                self._store,
                checked_path(path),
                self._models.embedder,
                document_ids=self._extent(Scope(user=user, session=session)).documents,
            )
        return event_fields["documents"]

    def import_from(self, path: str | Path) -> Iterator[Receipt]:
        """Store the documents of a file that ``export_to`` wrote, telling of each; no model is used.

        The whole file is checked before the first is stored, as ``examine`` would and further; what comes through a
        pipe is copied into a private file first. Another document of the same key is replaced; one that is stored just
        so stays as it is (``Action.UNCHANGED``). After an interruption the same call goes through them again.

        Raises:
            DocumentError: the file is no such file, is cut off or damaged, or holds what ``add`` could not have made.
            SchemaMismatch: it was written with another embedder.
        """
        self._require_writable()
        models = self._models
        receipts = archive_import.import_documents(self._store, checked_path(path), models.embedder, models.recognizer)
        return telemetry.each("import", receipts)

    def write_bulk_files(self, path: str | Path, folder: str | Path) -> BulkFiles:
        """Check an archive, and write it as files from which ``neo4j-admin`` makes this memory's database.

        The database must be empty: it is replaced as a whole, while it is stopped. The next opening builds its indexes.
        ``memgraph-rag import --bulk`` does all of it where the server is one that this library started.

        Args:
            path: a file that ``export_to`` wrote.
            folder: a new or empty folder, which becomes its owner's alone; where this raises, it is removed.

        Raises:
            DocumentError: the file is no such file, is cut off or damaged, or holds what ``add`` could not have made.
            SchemaMismatch: it was written with another embedder.
            StoreError: the store is no Neo4j server, or its database is not empty.
            SettingsError: the folder cannot be written, holds something, or has no room.
        """
        from memgraph_rag.operations.bulk_import import write_bulk_files  # imports the driver

        self._require_writable()
        models = self._models
        with telemetry.span("write_bulk_files") as event_fields:
            files = write_bulk_files(
                self._store, checked_path(path), checked_path(folder), models.embedder, models.recognizer
            )
            event_fields["documents"] = files.documents
        return files

    def document_page(self, *, after: str = "", limit: int = 50) -> DocumentPage:
        """The first documents by key, or those behind a key; the database reads no others.

        Args:
            after: a key, which need not be there: ``next_after`` of the page before.
            limit: most documents.

        Raises:
            SettingsError: no key can be ``after``, or the limit is no whole number of at least 1.
        """
        check_count("limit", limit)
        if not may_name(after):
            raise SettingsError(
                f"Expected after as the key of a document, got {show(after)}. Give next_after of the page before.",
                setting="after",
            )
        records = self._store.documents_after(after, k=limit + 1)
        page = tuple(records[:limit])
        return DocumentPage(page, self._store.count_documents(), page[-1].key if len(records) > limit else "")

    def stats(self) -> dict[str, Any]:
        """Counts by label and relationship type, schema version, embedder: what the store says of itself.

        ``documents_without``: of each layer of the memory that is there, how many documents it does not cover (yet).
        """
        lacking = documents_without(self._store)
        return {
            "counts": dict(self._store.statistics()),
            "schema": dict(self._store.schema),
            **({"documents_without": lacking} if lacking else {}),
        }
