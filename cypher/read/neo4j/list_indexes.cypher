// The properties of the index of embeddings; no row before it exists.
// params: -
// returns: properties
// needs: -
SHOW VECTOR INDEXES
YIELD name, properties
WHERE name = 'segment_embedding'
RETURN properties
