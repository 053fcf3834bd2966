// The embeddings of these documents' segments, by index.
// params: namespace, document_ids
// returns: document_id, embedding
// needs: Document.id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[h:HAS_SEGMENT]->(s:Segment)
WITH d, h, s
WHERE h IS NOT NULL
RETURN d.id AS document_id, s.embedding AS embedding
ORDER BY document_id, s.`index`
