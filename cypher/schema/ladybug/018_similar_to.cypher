// An entity to one of a near-synonymous name, from the smaller id to the larger.
// params: -
// returns: -
// needs: table Entity
CREATE REL TABLE SIMILAR_TO (FROM Entity TO Entity, score DOUBLE)
