// The phrase that answers a question, beside the sentence.
// params: -
// returns: -
// needs: -
ALTER TABLE Question ADD short STRING DEFAULT ''
