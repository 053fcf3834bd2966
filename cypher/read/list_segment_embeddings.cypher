// The embeddings of a document's segments, by index.
// params: namespace, document_id
// returns: embedding
// needs: Document.id
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(s:Segment)
WHERE d.namespace = $namespace
RETURN s.embedding AS embedding
ORDER BY s.`index`
