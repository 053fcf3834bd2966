// Replace the metadata and the hash of documents whose content still has the given hash; return their ids.
// params: namespace, namespace_id, rows
// returns: id
// needs: Namespace.id, Document.id
UNWIND $rows AS row
MATCH (n:Namespace {id: $namespace_id})
MATCH (d:Document {id: row.id})
WHERE d.namespace = $namespace AND d.sha256 = row.before
SET
  d.metadata = row.metadata,
  d.sha256 = row.sha256,
  d.version = n.version
RETURN d.id AS id
