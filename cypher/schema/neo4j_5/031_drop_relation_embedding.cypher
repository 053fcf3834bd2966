// Neo4j 5 cannot search an index among the relations of some entities, so none is kept for it.
// params: -
// returns: -
// needs: -
DROP INDEX relation_embedding IF EXISTS
