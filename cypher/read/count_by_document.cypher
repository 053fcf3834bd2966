// The number of nodes and edges of each of these documents, by label and by relationship type.
// params: namespace, document_ids
// returns: document_id, name, count
// needs: Document.id, InformationPoint.namespace and document_id, Annotation.namespace and document_id, Section.namespace and document_id, RELATES_TO.namespace and document_id
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
RETURN d.id AS document_id, 'Document' AS name, count(d) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[:HAS_SEGMENT]->(n:Segment)
RETURN d.id AS document_id, 'Segment' AS name, count(n) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[r:HAS_SEGMENT]->(:Segment)
RETURN d.id AS document_id, 'HAS_SEGMENT' AS name, count(r) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[:HAS_SEGMENT]->(:Segment)-[r:NEXT]->(:Segment)
RETURN d.id AS document_id, 'NEXT' AS name, count(r) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[:HAS_SEGMENT]->(:Segment)-[r:MENTIONS]->(:Entity)
RETURN d.id AS document_id, 'MENTIONS' AS name, count(r) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (d:Document {id: listed_id})
WHERE d.namespace = $namespace
OPTIONAL MATCH (d)-[r:TITLED]->(:Entity)
RETURN d.id AS document_id, 'TITLED' AS name, count(r) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id = listed_id AND p.layer = 'points'
RETURN p.document_id AS document_id, 'InformationPoint' AS name, count(p) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id = listed_id AND p.layer = 'clusters'
RETURN p.document_id AS document_id, 'ClusterSummary' AS name, count(p) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (p:InformationPoint)
WHERE p.namespace = $namespace AND p.document_id = listed_id
OPTIONAL MATCH (p)-[r:SUMMARIZES]->()
RETURN p.document_id AS document_id, 'SUMMARIZES' AS name, count(r) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (:Entity)-[r:RELATES_TO]->(:Entity)
WHERE r.namespace = $namespace AND r.document_id = listed_id
RETURN r.document_id AS document_id, 'RELATES_TO' AS name, count(r) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id = listed_id
RETURN a.document_id AS document_id, 'Annotation' AS name, count(a) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (a:Annotation)
WHERE a.namespace = $namespace AND a.document_id = listed_id
OPTIONAL MATCH (a)-[r:ANNOTATES]->(:Segment)
RETURN a.document_id AS document_id, 'ANNOTATES' AS name, count(r) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (a:Section)
WHERE a.namespace = $namespace AND a.document_id = listed_id
RETURN a.document_id AS document_id, 'Section' AS name, count(a) AS count
UNION ALL
UNWIND $document_ids AS listed_id
MATCH (a:Section)
WHERE a.namespace = $namespace AND a.document_id = listed_id
OPTIONAL MATCH (a)-[r:CONTAINS]->()
RETURN a.document_id AS document_id, 'CONTAINS' AS name, count(r) AS count
