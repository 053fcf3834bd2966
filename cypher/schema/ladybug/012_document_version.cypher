// The namespace's version when a document was last written: what an index in memory reads again goes by it.
// params: -
// returns: -
// needs: table Document
ALTER TABLE Document ADD version INT64 DEFAULT 0
