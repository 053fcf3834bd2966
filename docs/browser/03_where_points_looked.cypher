// Each point with the one text that the model looked at most while it wrote it, and how much.
// params: namespace
MATCH (i:InformationPoint {layer: 'points'})-[r:SUMMARIZES]->(n)
WHERE i.namespace = $namespace
WITH i, r, n ORDER BY r.weight DESC
WITH i, collect({weight: r.weight, text: n.text})[0] AS most
RETURN i.level AS level, i.index AS place, i.text AS point, round(most.weight, 2) AS weight, most.text AS looked_at
ORDER BY level DESC, place
LIMIT 100
