// The dimension and the properties of each index of embeddings.
// params: -
// returns: name, dimension, properties
// needs: -
SHOW VECTOR INDEXES
YIELD name, options, properties
RETURN name AS name, options.indexConfig.`vector.dimensions` AS dimension, properties AS properties
ORDER BY name
