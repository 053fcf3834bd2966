"""``Maintenance``: the tasks that keep a memory in order and move it.

The tasks are new embeddings, removed layers, repair, archives and rewriting the file. It answers no question and reads
no source. Invariant: an interrupted call leaves a consistent store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from memgraph_rag.calls import telemetry
from memgraph_rag.calls.validation import as_object, check_parts, check_path
from memgraph_rag.contracts import Embedder
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.ingestion.memory_layers import remove_overviews
from memgraph_rag.maintenance import archive, archive_import, layer_removal, reembed, repair
from memgraph_rag.maintenance.foreign_files import FOREIGN_FORMS, ForeignForm, write_foreign_files
from memgraph_rag.models.model_loader import open_embedder
from memgraph_rag.models.wrappers.checked_models import CheckedEmbedder
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.types import Scope, ScopeFields
from memgraph_rag.types.inspection import Damage
from memgraph_rag.types.receipts import Failure, Receipt

if TYPE_CHECKING:
    from memgraph_rag.stores.neo4j.bulk import BulkFiles


class Maintenance:
    """The maintenance tasks of one memory; ``Memory.maintenance`` holds it."""

    def __init__(self, parts: OpenMemory) -> None:
        self._parts = parts

    def purge(self) -> None:
        """Rewrite the embedded file so that it holds no bytes of forgotten or replaced documents.

        After ``forget`` no search or question can find a document, but its bytes stay in the file until the database
        overwrites them. ``purge`` rewrites all namespaces of the file, and needs disk space for a second copy. It does
        not reach copies in the file system, in backups or on the disk itself.

        Raises:
            StoreError: the store is a Neo4j server (``docs/security.md`` says what a server keeps), or the disk space
                is too small.
        """
        self._parts.require_writable()
        with telemetry.span("purge"):
            self._parts.store.purge()
            self._parts.journal.clear()
            reembed.delete_scratch_files(self._parts.reembedding_dir)

    def reembed(self, embedder: str | Path | Embedder) -> int:
        """Replace all embeddings of the store, in all namespaces, and return the number of documents.

        The new embedder may have another dimension. Searches use the old embeddings until all new embeddings are
        computed; then the store switches in one step, and this memory uses the new embedder. Other open memories of the
        store then raise ``SchemaMismatch``: open them again. So does a call of another thread that began before: repeat
        it. After an interruption the store is unchanged, and the next call computes only the missing embeddings. In an
        embedded file the switch rewrites the file, as ``purge`` does.

        Args:
            embedder: a name, as for ``Memory``, or an ``Embedder``.

        Raises:
            StoreError: a document is damaged (see ``repair``), or other writers change documents too fast.
            ModelNotFound: the embedder does not exist.
            SettingsError: the new embeddings cannot be kept in the cache folder meanwhile.
        """
        self._parts.require_writable()
        check_parts({"embedder": embedder})
        new = CheckedEmbedder(as_object(embedder) or open_embedder(str(embedder), self._parts.settings))
        with telemetry.span("reembed") as event_fields:
            folder = self._parts.reembedding_dir
            event_fields["documents"] = reembed.reembed(
                self._parts.store, new, folder=folder, progress=self._parts.progress
            )
            self._parts.use_embedder(new)
        return event_fields["documents"]

    def remove_layer(self, layer: str, documents: Sequence[str | Path] | None = None) -> Iterator[Receipt | Failure]:
        """Remove a layer from documents, and yield the outcome of each. ``deepen`` builds the layer again.

        Documents come by key. Each is changed when its outcome is requested, in one transaction. A document that had
        the layer yields ``Action.DEEPENED``, because its layers changed; a document without the layer yields
        ``Action.UNCHANGED``; one that cannot be changed yields a ``Failure``. When the layer ``context`` goes, the same
        transaction stores new embeddings of the segments without the context.

        Args:
            layer: ``context``, ``facts`` or your own layer, if it consists of annotations; or a layer of the memory,
                which is removed as a whole, whatever ``documents`` names, with one receipt.
            documents: keys, ids or paths of files. The default is all documents.

        Raises:
            DocumentNotFound: a document is not in this memory.
            SettingsError: other layers may depend on the layer, as on entities, points and relations.
        """
        self._parts.require_writable()
        if isinstance(layer, str) and (overviews := self._parts.store.overviews(layer)):
            return telemetry.log_outcomes("remove_layer", remove_overviews(self._parts.store, overviews))
        layer_removal.check_removable(layer)
        records = self._parts.store.documents(self._parts.document_ids(documents))
        receipts = layer_removal.remove_layer(self._parts.store, self._parts.models.embedder, layer, records)
        return telemetry.log_outcomes("remove_layer", receipts)

    def examine(self) -> list[Damage]:
        """Return the damage to the graph of this namespace and to the indexes, one item for each kind; change nothing.

        The list is empty for a sound store. This library does not damage a store; damage comes from broken files and
        from other programs that write to the database.
        """
        with telemetry.span("examine") as event_fields:
            damages = repair.examine(self._parts.store)
            event_fields["found"] = sum(damage.number for damage in damages)
        return damages

    def repair(self) -> list[Damage]:
        """Repair the damage that ``examine`` finds, in one transaction, and return it, one item for each kind.

        Nodes without an owner are removed, values that follow from other nodes are written again, and missing
        embeddings are computed. A document with broken points loses all its points: ``deepen`` builds them again. A
        document with missing segments cannot be repaired (``Damage.is_mendable``), but is in the list: forget it, and
        add it again. The list is empty for a sound store.
        """
        self._parts.require_writable()
        with telemetry.span("repair") as event_fields:
            damages = repair.repair(self._parts.store, self._parts.models.embedder)
            event_fields["found"] = sum(damage.number for damage in damages)
        return damages

    def export_to(self, path: str | Path, **scope: Unpack[ScopeFields]) -> int:
        """Write documents and their layers into one file, an archive, and return the number of documents.

        Overviews that rest on no other documents are written too; kept questions are not. The file is JSON Lines. One
        document at a time is in memory. ``import_from`` reads the file into any store. An existing file is replaced
        only if it is an archive or empty; a symbolic link is followed.

        Args:
            scope: the documents to write, by the fields of ``Scope`` except times, because an archive holds whole
                documents. The default is all documents.

        Raises:
            DocumentError: the file cannot be written, or the path holds another file.
            SettingsError: the scope has a time.
        """
        document_ids = self._documents_to_export(scope)
        with telemetry.span("export") as event_fields:
            event_fields["documents"] = archive.export_documents(
                self._parts.store, check_path(path), self._parts.models.embedder, document_ids=document_ids
            )
        return event_fields["documents"]

    def export_files(self, path: str | Path, form: ForeignForm, **scope: Unpack[ScopeFields]) -> int:
        """Write documents in a form for other programs, and return their number; ``import_from`` cannot read the form.

        Args:
            path: a file for "jsonl" and "graphml"; a new or empty folder for "markdown", "obsidian" and "parquet".
            form: "jsonl": a document a line, with its text, turns, names and relations. "markdown": a file for each
                document, its metadata as front matter. "obsidian": the same, with links to the names in it. "graphml":
                documents, segments, names and relations as one graph. "parquet": tables, with embeddings.
            scope: the documents to write, as for ``export_to``.

        Raises:
            DocumentError: the path cannot be written, or holds something else.
            SettingsError: the form does not exist, or the scope has a time.
        """
        if form not in FOREIGN_FORMS:
            raise SettingsError(
                f"Expected a form of {', '.join(FOREIGN_FORMS)}, got {show(form)}. Name one of these.", setting="form"
            )
        document_ids = self._documents_to_export(scope)
        with telemetry.span("export", form=form) as event_fields:
            event_fields["documents"] = write_foreign_files(self._parts.store, check_path(path), form, document_ids)
        return event_fields["documents"]

    def _documents_to_export(self, scope: ScopeFields) -> Sequence[str] | None:
        extent = self._parts.resolve_extent(Scope(**scope))
        if extent.has_time:
            raise SettingsError(
                f"Expected a scope without a time to export, got {show(scope)}. Name documents or users."
            )
        return extent.documents

    def import_from(self, path: str | Path) -> Iterator[Receipt]:
        """Store the documents of an archive, and yield the receipt of each. No model is used.

        The whole file is checked before the first document is stored; the checks are stricter than those of
        ``examine``. A pipe is copied into a private file first. A document replaces a stored document with the same
        key; a document that is stored already in the same form yields ``Action.UNCHANGED``. Documents are stored while
        receipts are requested, and overviews at the end. After an interruption call it again.

        Args:
            path: a file that ``export_to`` wrote.

        Raises:
            DocumentError: the file is not an archive, is cut off or damaged, or holds a document that ``add`` could not
                have stored.
            SchemaMismatch: another embedder made the embeddings of the file.
        """
        self._parts.require_writable()
        models = self._parts.models
        receipts = archive_import.import_documents(
            self._parts.store, check_path(path), models.embedder, models.recognizer
        )
        return telemetry.log_outcomes("import", receipts)

    def write_bulk_files(self, path: str | Path, folder: str | Path) -> BulkFiles:
        """Check an archive, and write it as import files from which ``neo4j-admin`` makes the database of this memory.

        The database must be empty, because ``neo4j-admin`` replaces the whole database while it is stopped. The next
        ``Memory`` that opens the database builds its indexes. If this library started the server,
        ``memgraph-rag import --bulk`` does all steps.

        Args:
            path: a file that ``export_to`` wrote.
            folder: a new or empty folder. Only its owner can read it. It is removed if this method raises.

        Raises:
            DocumentError: the file is not an archive, is cut off or damaged, or holds a document that ``add`` could not
                have stored.
            SchemaMismatch: another embedder made the embeddings of the file.
            StoreError: the store is not a Neo4j server, or its database is not empty.
            SettingsError: the folder cannot be written, is not empty, or its disk space is too small.
        """
        from memgraph_rag.maintenance.bulk_import import write_bulk_files  # imports the driver

        self._parts.require_writable()
        models = self._parts.models
        with telemetry.span("write_bulk_files") as event_fields:
            files = write_bulk_files(
                self._parts.store, check_path(path), check_path(folder), models.embedder, models.recognizer
            )
            event_fields["documents"] = files.documents
        return files
