// One node of the database that is not part of the schema.
// params: -
// returns: labels
// needs: -
MATCH (n)
WHERE NOT n:Schema
RETURN labels(n) AS labels
LIMIT 1
