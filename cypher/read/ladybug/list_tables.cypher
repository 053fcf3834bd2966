// The tables of the file; none in a new one.
// params: -
// returns: name
// needs: -
CALL show_tables()
RETURN name
ORDER BY name
