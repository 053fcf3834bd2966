// Both ends of a relation to its embedding.
// params: -
// returns: -
// needs: tables Entity, RelationEmbedding
CREATE REL TABLE RELATED_BY (FROM Entity TO RelationEmbedding)
