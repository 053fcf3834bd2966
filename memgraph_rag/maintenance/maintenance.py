"""What keeps a memory in order and moves it: embeddings, layers, repair, archives, rewriting the file.

It reads no question and no source. Invariant: a call that is interrupted leaves a store that is whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from memgraph_rag.calls import telemetry
from memgraph_rag.calls.validation import as_object, check_parts, checked_path
from memgraph_rag.contracts import Embedder
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.ingestion.memory_layers import remove_overviews
from memgraph_rag.maintenance import archive, archive_import, layer_removal, reembed, repair
from memgraph_rag.models.model_loader import open_embedder
from memgraph_rag.models.wrappers.checked_models import CheckedEmbedder
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.types import Scope, ScopeFields
from memgraph_rag.types.inspection import Damage
from memgraph_rag.types.receipts import Failure, Receipt

if TYPE_CHECKING:
    from memgraph_rag.stores.neo4j.bulk import BulkFiles

__all__ = ["Maintenance"]


class Maintenance:
    """Keeps one memory in order: ``Memory.maintenance``."""

    def __init__(self, parts: OpenMemory) -> None:
        self._parts = parts

    def purge(self) -> None:
        """Rewrite the embedded file so that not a byte of what was forgotten or replaced is left in it.

        ``forget`` takes a document out of everything that can be asked; its bytes stay in the file until others take
        their place. All namespaces of the file are rewritten; it takes room for a second copy meanwhile. What the file
        system, backups or the disk itself still hold is beyond this.

        Raises:
            StoreError: the store is a Neo4j server (what that keeps is in ``docs/security.md``), or there is no room.
        """
        self._parts.require_writable()
        with telemetry.span("purge"):
            self._parts.store.purge()
            self._parts.journal.clear()
            reembed.forget_kept(self._parts.reembedding_dir)

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
        self._parts.require_writable()
        check_parts({"embedder": embedder})
        new = CheckedEmbedder(as_object(embedder) or open_embedder(str(embedder), self._parts.settings))
        with telemetry.span("reembed") as event_fields:
            folder = self._parts.reembedding_dir
            event_fields["documents"] = reembed.reembed(
                self._parts.store, new, folder=folder, progress=self._parts.progress
            )
            self._parts.embed_with(new)
        return event_fields["documents"]

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
        self._parts.require_writable()
        if isinstance(layer, str) and (overviews := self._parts.store.overviews(layer)):
            return telemetry.each("remove_layer", remove_overviews(self._parts.store, overviews))
        layer_removal.check_removable(layer)
        records = self._parts.store.documents(self._parts.document_ids(documents))
        receipts = layer_removal.remove_layer(self._parts.store, self._parts.models.embedder, layer, records)
        return telemetry.each("remove_layer", receipts)

    def examine(self) -> list[Damage]:
        """What is wrong with this namespace's graph and the database's indexes, kind by kind; nothing is changed.

        Nothing is, where only this library wrote: it is for files that were damaged and databases that others changed.
        """
        with telemetry.span("examine") as event_fields:
            damages = repair.examine(self._parts.store)
            event_fields["found"] = sum(damage.number for damage in damages)
        return damages

    def repair(self) -> list[Damage]:
        """Put right what ``examine`` finds, in one transaction; what was found, with what cannot be mended.

        What belongs to nothing is removed, what can be told from the rest is written again, what has no embedding is
        embedded. Of a document whose points are broken all points go: ``deepen`` builds them again. A document of which
        segments are missing cannot be mended: forget it, and add it again.
        """
        self._parts.require_writable()
        with telemetry.span("repair") as event_fields:
            damages = repair.repair(self._parts.store, self._parts.models.embedder)
            event_fields["found"] = sum(damage.number for damage in damages)
        return damages

    def export_to(self, path: str | Path, **scope: Unpack[ScopeFields]) -> int:
        """Write documents, with all that was built of them, into one file, and return how many.

        The file is JSON Lines, written with one document at a time in memory. ``import_from`` reads it into any store.
        Only an archive or an empty file is replaced; a symbolic link is followed.

        Args:
            scope: which documents, by the fields of ``Scope`` but for times, as an archive holds whole documents; all
                by default.

        Raises:
            DocumentError: the file cannot be written, or something else is there.
            SettingsError: the scope names a time.
        """
        self._parts.process.require()
        extent = self._parts.extent_of(Scope(**scope))
        if extent.has_time:
            raise SettingsError(
                f"Expected a scope without a time to export, got {show(scope)}. Name documents or users."
            )
        with telemetry.span("export") as event_fields:
            event_fields["documents"] = archive.export_documents(
                self._parts.store, checked_path(path), self._parts.models.embedder, document_ids=extent.documents
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
        self._parts.require_writable()
        models = self._parts.models
        receipts = archive_import.import_documents(
            self._parts.store, checked_path(path), models.embedder, models.recognizer
        )
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
        from memgraph_rag.maintenance.bulk_import import write_bulk_files  # imports the driver

        self._parts.require_writable()
        models = self._parts.models
        with telemetry.span("write_bulk_files") as event_fields:
            files = write_bulk_files(
                self._parts.store, checked_path(path), checked_path(folder), models.embedder, models.recognizer
            )
            event_fields["documents"] = files.documents
        return files
