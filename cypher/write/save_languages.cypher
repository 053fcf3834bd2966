// Say of documents in which language their texts are.
// params: namespace, rows
// returns: -
// needs: Document.id
UNWIND $rows AS row
MATCH (d:Document {id: row.id})
WHERE d.namespace = $namespace
SET d.language = row.language
