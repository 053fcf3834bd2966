// The overviews of these ids.
// params: namespace, node_ids
// returns: id, layer, key, level, title, text, tokens, documents, entities, findings, rating
// needs: Overview.id
UNWIND $node_ids AS node_id
MATCH (o:Overview {id: node_id})
WHERE o.namespace = $namespace
RETURN
  o.id AS id,
  o.layer AS layer,
  o.`key` AS `key`,
  o.level AS level,
  o.title AS title,
  o.text AS text,
  o.tokens AS tokens,
  o.documents AS documents,
  o.entities AS entities,
  o.findings AS findings,
  o.rating AS rating
ORDER BY id
