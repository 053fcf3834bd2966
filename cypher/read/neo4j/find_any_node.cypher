// One node of the database that is more than its schema, whichever.
// params: -
// returns: labels
// needs: -
MATCH (n)
WHERE NOT n:Schema
RETURN labels(n) AS labels
LIMIT 1
