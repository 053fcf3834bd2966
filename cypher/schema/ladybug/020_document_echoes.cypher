// How many segments of a document say again what the memory itself answered.
// params: -
// returns: -
// needs: -
ALTER TABLE Document ADD echoes INT64 DEFAULT 0
