// The embedding of an entity's normalised name, while a relation joins it. A type takes no parameter, so the store
// writes $dimension into the text as an integer.
// params: dimension
// returns: -
// needs: table Entity
ALTER TABLE Entity ADD embedding FLOAT[$dimension]
