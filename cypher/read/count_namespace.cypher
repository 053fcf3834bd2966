// The number of nodes and edges of the namespace, by label and by relationship type.
// params: namespace
// returns: name, count
// needs: Document.namespace and key, Segment, InformationPoint, Annotation and Section.namespace and document_id, Entity.namespace and normal, Question.namespace and asked_at, Overview.namespace and layer
MATCH (n:Document)
WHERE n.namespace = $namespace AND n.key IS NOT NULL
RETURN 'Document' AS name, count(n) AS count
UNION ALL
MATCH (n:Segment)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL
RETURN 'Segment' AS name, count(n) AS count
UNION ALL
MATCH (n:InformationPoint)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL AND n.layer = 'points'
RETURN 'InformationPoint' AS name, count(n) AS count
UNION ALL
MATCH (n:InformationPoint)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL AND n.layer = 'clusters'
RETURN 'ClusterSummary' AS name, count(n) AS count
UNION ALL
MATCH (n:Document)-[r:HAS_SEGMENT]->()
WHERE n.namespace = $namespace AND n.key IS NOT NULL
RETURN 'HAS_SEGMENT' AS name, count(r) AS count
UNION ALL
MATCH (n:Segment)-[r:NEXT]->()
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL
RETURN 'NEXT' AS name, count(r) AS count
UNION ALL
MATCH (n:InformationPoint)-[r:SUMMARIZES]->()
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL
RETURN 'SUMMARIZES' AS name, count(r) AS count
UNION ALL
MATCH (n:Entity)
WHERE n.namespace = $namespace AND n.normal IS NOT NULL
RETURN 'Entity' AS name, count(n) AS count
UNION ALL
MATCH (n:Segment)-[r:MENTIONS]->()
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL
RETURN 'MENTIONS' AS name, count(r) AS count
UNION ALL
MATCH (n:Document)-[r:TITLED]->()
WHERE n.namespace = $namespace AND n.key IS NOT NULL
RETURN 'TITLED' AS name, count(r) AS count
UNION ALL
MATCH (n:Entity)-[r:RELATES_TO]->()
WHERE n.namespace = $namespace AND n.normal IS NOT NULL
RETURN 'RELATES_TO' AS name, count(r) AS count
UNION ALL
MATCH (n:Entity)-[r:SIMILAR_TO]->()
WHERE n.namespace = $namespace AND n.normal IS NOT NULL
RETURN 'SIMILAR_TO' AS name, count(r) AS count
UNION ALL
MATCH (n:Question)
WHERE n.namespace = $namespace AND n.asked_at IS NOT NULL
RETURN 'Question' AS name, count(n) AS count
UNION ALL
MATCH (n:Question)-[r:READ]->()
WHERE n.namespace = $namespace AND n.asked_at IS NOT NULL
RETURN 'READ' AS name, count(r) AS count
UNION ALL
MATCH (n:Annotation)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL
RETURN 'Annotation' AS name, count(n) AS count
UNION ALL
MATCH (n:Annotation)-[r:ANNOTATES]->()
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL
RETURN 'ANNOTATES' AS name, count(r) AS count
UNION ALL
MATCH (n:Section)
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL
RETURN 'Section' AS name, count(n) AS count
UNION ALL
MATCH (n:Section)-[r:CONTAINS]->()
WHERE n.namespace = $namespace AND n.document_id IS NOT NULL
RETURN 'CONTAINS' AS name, count(r) AS count
UNION ALL
MATCH (n:Overview)
WHERE n.namespace = $namespace AND n.layer IS NOT NULL
RETURN 'Overview' AS name, count(n) AS count
UNION ALL
MATCH (n:Overview)-[r:RESTS_ON]->()
WHERE n.namespace = $namespace AND n.layer IS NOT NULL
RETURN 'RESTS_ON' AS name, count(r) AS count
UNION ALL
MATCH (n:Overview)-[r:HAS_MEMBER]->()
WHERE n.namespace = $namespace AND n.layer IS NOT NULL
RETURN 'HAS_MEMBER' AS name, count(r) AS count
