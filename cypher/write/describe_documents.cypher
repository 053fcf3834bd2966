// Give documents other metadata where their content is still what it was; the ids of those.
// params: namespace, rows
// returns: id
// needs: Document.id
UNWIND $rows AS row
MATCH (d:Document {id: row.id})
WHERE d.namespace = $namespace AND d.sha256 = row.before
SET
  d.metadata = row.metadata,
  d.sha256 = row.sha256
RETURN d.id AS id
