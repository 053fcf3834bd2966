// The language of a document's text, by which its words are stemmed; empty where it is unknown.
// params: -
// returns: -
// needs: -
ALTER TABLE Document ADD language STRING DEFAULT ''
