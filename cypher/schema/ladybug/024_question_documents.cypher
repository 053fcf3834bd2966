// The documents that a question rests on, by their ids: those of what was read or cited.
// params: -
// returns: -
// needs: -
ALTER TABLE Question ADD documents STRING[]
