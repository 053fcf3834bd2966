// What changed of these documents since, as JSON.
// params: -
// returns: -
// needs: -
ALTER TABLE Question ADD changes STRING DEFAULT '[]'
