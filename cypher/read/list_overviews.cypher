// All overviews of a layer: the highest level first, then by key.
// params: namespace, layer
// returns: id, layer, key, level, title, text, tokens, documents, entities, findings, rating
// needs: Overview.namespace and layer
MATCH (o:Overview)
WHERE o.namespace = $namespace AND o.layer = $layer
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
ORDER BY level DESC, `key`
