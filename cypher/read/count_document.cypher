// How much the graph holds of one document, by label and by relationship type.
// params: namespace, document_id
// returns: name, count
// needs: Document.id, InformationPoint.namespace and document_id, Annotation.namespace and document_id, Section.namespace and document_id, RELATES_TO.namespace and document_id
MATCH (d:Document {id: $document_id})
WHERE d.namespace = $namespace
RETURN 'Document' AS name, count(d) AS count
UNION ALL
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(n:Segment)
WHERE d.namespace = $namespace
RETURN 'Segment' AS name, count(n) AS count
UNION ALL
MATCH (d:Document {id: $document_id})-[r:HAS_SEGMENT]->(:Segment)
WHERE d.namespace = $namespace
RETURN 'HAS_SEGMENT' AS name, count(r) AS count
UNION ALL
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(:Segment)-[r:NEXT]->(:Segment)
WHERE d.namespace = $namespace
RETURN 'NEXT' AS name, count(r) AS count
UNION ALL
MATCH (d:Document {id: $document_id})-[:HAS_SEGMENT]->(:Segment)-[r:MENTIONS]->(:Entity)
WHERE d.namespace = $namespace
RETURN 'MENTIONS' AS name, count(r) AS count
UNION ALL
MATCH (d:Document {id: $document_id})-[r:TITLED]->(:Entity)
WHERE d.namespace = $namespace
RETURN 'TITLED' AS name, count(r) AS count
UNION ALL
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id = $document_id AND p.layer = 'points'
RETURN 'InformationPoint' AS name, count(p) AS count
UNION ALL
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id = $document_id AND p.layer = 'clusters'
RETURN 'ClusterSummary' AS name, count(p) AS count
UNION ALL
MATCH (p:InformationPoint)-[r:SUMMARIZES]->()
WHERE p.namespace = $namespace AND p.document_id = $document_id
RETURN 'SUMMARIZES' AS name, count(r) AS count
UNION ALL
MATCH (:Entity)-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.document_id = $document_id
RETURN 'RELATES_TO' AS name, count(r) AS count
UNION ALL
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id = $document_id
RETURN 'Annotation' AS name, count(a) AS count
UNION ALL
MATCH (a:Annotation)-[r:ANNOTATES]->(:Segment)
WHERE a.namespace = $namespace AND a.document_id = $document_id
RETURN 'ANNOTATES' AS name, count(r) AS count
UNION ALL
MATCH (a:Section)
WHERE a.namespace = $namespace AND a.document_id = $document_id
RETURN 'Section' AS name, count(a) AS count
UNION ALL
MATCH (a:Section)-[r:CONTAINS]->()
WHERE a.namespace = $namespace AND a.document_id = $document_id
RETURN 'CONTAINS' AS name, count(r) AS count
