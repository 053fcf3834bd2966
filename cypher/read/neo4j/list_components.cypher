// The server's version.
// params: -
// returns: version
// needs: -
CALL dbms.components()
YIELD name, versions
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version
LIMIT 1
