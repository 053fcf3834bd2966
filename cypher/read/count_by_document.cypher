// The number of nodes and edges of each of these documents, by label and by relationship type.
// params: namespace, document_ids
// returns: document_id, name, count
// needs: Document.id, InformationPoint.namespace and document_id, Annotation.namespace and document_id, Section.namespace and document_id, RELATES_TO.namespace and document_id
MATCH (d:Document)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN d.id AS document_id, 'Document' AS name, count(d) AS count
UNION ALL
MATCH (d:Document)-[:HAS_SEGMENT]->(n:Segment)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN d.id AS document_id, 'Segment' AS name, count(n) AS count
UNION ALL
MATCH (d:Document)-[r:HAS_SEGMENT]->(:Segment)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN d.id AS document_id, 'HAS_SEGMENT' AS name, count(r) AS count
UNION ALL
MATCH (d:Document)-[:HAS_SEGMENT]->(:Segment)-[r:NEXT]->(:Segment)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN d.id AS document_id, 'NEXT' AS name, count(r) AS count
UNION ALL
MATCH (d:Document)-[:HAS_SEGMENT]->(:Segment)-[r:MENTIONS]->(:Entity)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN d.id AS document_id, 'MENTIONS' AS name, count(r) AS count
UNION ALL
MATCH (d:Document)-[r:TITLED]->(:Entity)
WHERE d.namespace = $namespace AND d.id IN $document_ids
RETURN d.id AS document_id, 'TITLED' AS name, count(r) AS count
UNION ALL
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id IN $document_ids AND p.layer = 'points'
RETURN p.document_id AS document_id, 'InformationPoint' AS name, count(p) AS count
UNION ALL
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id IN $document_ids AND p.layer = 'clusters'
RETURN p.document_id AS document_id, 'ClusterSummary' AS name, count(p) AS count
UNION ALL
MATCH (p:InformationPoint)-[r:SUMMARIZES]->()
WHERE p.namespace = $namespace AND p.document_id IN $document_ids
RETURN p.document_id AS document_id, 'SUMMARIZES' AS name, count(r) AS count
UNION ALL
MATCH (:Entity)-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.document_id IN $document_ids
RETURN r.document_id AS document_id, 'RELATES_TO' AS name, count(r) AS count
UNION ALL
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id IN $document_ids
RETURN a.document_id AS document_id, 'Annotation' AS name, count(a) AS count
UNION ALL
MATCH (a:Annotation)-[r:ANNOTATES]->(:Segment)
WHERE a.namespace = $namespace AND a.document_id IN $document_ids
RETURN a.document_id AS document_id, 'ANNOTATES' AS name, count(r) AS count
UNION ALL
MATCH (a:Section)
WHERE a.namespace = $namespace AND a.document_id IN $document_ids
RETURN a.document_id AS document_id, 'Section' AS name, count(a) AS count
UNION ALL
MATCH (a:Section)-[r:CONTAINS]->()
WHERE a.namespace = $namespace AND a.document_id IN $document_ids
RETURN a.document_id AS document_id, 'CONTAINS' AS name, count(r) AS count
