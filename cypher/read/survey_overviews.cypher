// All overviews, with the number of their documents, entities and parts, and of the edges to each of them. The reader
// sorts.
// params: namespace
// returns: id, documents, entities, parts, resting, members, targets
// needs: Overview.namespace and layer
MATCH (o:Overview)
WHERE o.namespace = $namespace AND o.layer IS NOT NULL
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
