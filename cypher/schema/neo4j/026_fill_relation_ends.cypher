// Give relations of before version 26 what later ones say of their ends.
// params: -
// returns: -
// needs: -
MATCH (a:Entity)-[r:RELATES_TO]->(b:Entity)
WHERE r.source_id IS NULL
SET
  r.source_id = a.id,
  r.target_id = b.id
