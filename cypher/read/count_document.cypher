// How much the graph holds of one document, by label and by relationship type.
// params: namespace, document_id
// returns: name, count
// needs: Document.id, Segment.namespace and document_id, InformationPoint.namespace and document_id
MATCH (n:Document)
WHERE n.namespace = $namespace AND n.id = $document_id
RETURN 'Document' AS name, count(n) AS count
UNION ALL
MATCH (n:Segment)
WHERE n.namespace = $namespace AND n.document_id = $document_id
RETURN 'Segment' AS name, count(n) AS count
UNION ALL
MATCH (n:InformationPoint)
WHERE n.namespace = $namespace AND n.document_id = $document_id
RETURN 'InformationPoint' AS name, count(n) AS count
UNION ALL
MATCH (n:Document)-[r:HAS_SEGMENT]->()
WHERE n.namespace = $namespace AND n.id = $document_id
RETURN 'HAS_SEGMENT' AS name, count(r) AS count
UNION ALL
MATCH (n:Segment)-[r:NEXT]->()
WHERE n.namespace = $namespace AND n.document_id = $document_id
RETURN 'NEXT' AS name, count(r) AS count
UNION ALL
MATCH (n:InformationPoint)-[r:SUMMARIZES]->()
WHERE n.namespace = $namespace AND n.document_id = $document_id
RETURN 'SUMMARIZES' AS name, count(r) AS count
