// Documents by the hash of their text: the same text under another key is recognised.
// params: -
// returns: -
// needs: -
CREATE INDEX document_text IF NOT EXISTS
FOR (n:Document)
ON (n.namespace, n.text_sha256)
