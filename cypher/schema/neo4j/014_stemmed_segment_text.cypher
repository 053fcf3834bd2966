// What stood here, an index on the engine's own words, serves nothing any more; a later step drops it where it was made.
// params: -
// returns: -
// needs: -
DROP INDEX segment_text_stemmed IF EXISTS
