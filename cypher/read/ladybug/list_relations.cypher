// The relations that these documents state, by id. The edge knows the ids of its ends: to return those of the nodes, the
// engine reads them of all entities.
// params: namespace, document_ids
// returns: document_id, id, source_id, target_id, description, segment_id
// needs: RELATES_TO.namespace and document_id
UNWIND $document_ids AS owner_id
MATCH (:Entity)-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.document_id = owner_id
RETURN
  r.document_id AS document_id,
  r.id AS id,
  r.source_id AS source_id,
  r.target_id AS target_id,
  r.description AS description,
  r.segment_id AS segment_id
ORDER BY document_id, id
