// A hash of a document's text, by which the same text under another key is recognised; empty where it was stored before.
// params: -
// returns: -
// needs: -
ALTER TABLE Document ADD text_sha256 STRING DEFAULT ''
