// The number of documents, entities and parts of these overviews, and the number of edges to each of them.
// params: namespace, node_ids
// returns: id, documents, entities, parts, resting, members, targets
// needs: Overview.id
MATCH (o:Overview)
WHERE o.namespace = $namespace AND o.id IN $node_ids
OPTIONAL MATCH (o)-[r:RESTS_ON]->(:Document)
WITH o, count(r) AS resting
OPTIONAL MATCH (o)-[r:HAS_MEMBER]->(:Entity)
WITH o, resting, count(r) AS members
OPTIONAL MATCH (o)-[r:SUMMARIZES]->(n)
RETURN
  o.id AS id,
  o.documents AS documents,
  o.entities AS entities,
  o.parts AS parts,
  resting AS resting,
  members AS members,
  count(r) AS targets
ORDER BY id
