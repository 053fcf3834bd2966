// A layer's annotations of segments, in the documents written after a version. The reader sorts.
// params: namespace, layer, since
// returns: id, document_id, layer, index, kind, text, properties, segment_id, place
// needs: Document.namespace and version
MATCH (d:Document)-[:HAS_SEGMENT]->(s:Segment)<-[:ANNOTATES]-(a:Annotation)
WHERE d.namespace = $namespace AND d.version > $since AND a.layer = $layer
RETURN
  a.id AS id,
  a.document_id AS document_id,
  a.layer AS layer,
  a.`index` AS `index`,
  a.kind AS kind,
  a.text AS text,
  a.properties AS properties,
  s.id AS segment_id,
  s.`index` AS place
