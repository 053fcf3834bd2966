// What found the entities of a document.
// params: -
// returns: -
// needs: table Document
ALTER TABLE Document ADD recognizer STRING DEFAULT ''
