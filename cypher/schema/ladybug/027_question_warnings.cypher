// What spoke against trusting the answer of a question, as JSON.
// params: -
// returns: -
// needs: -
ALTER TABLE Question ADD warnings STRING DEFAULT '[]'
