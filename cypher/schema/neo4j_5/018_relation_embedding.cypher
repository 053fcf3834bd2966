// What stood here, an index of relations by embedding, serves nothing in Neo4j 5; step 31 drops it where it was made.
// params: -
// returns: -
// needs: -
DROP INDEX relation_embedding IF EXISTS
