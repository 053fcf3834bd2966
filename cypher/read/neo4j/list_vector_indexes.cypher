// How long the vectors of each index of embeddings are.
// params: -
// returns: name, dimension
// needs: -
SHOW VECTOR INDEXES
YIELD name, options
RETURN name AS name, options.indexConfig.`vector.dimensions` AS dimension
ORDER BY name
