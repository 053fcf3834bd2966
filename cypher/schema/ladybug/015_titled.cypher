// A document to the entities that its title names.
// params: -
// returns: -
// needs: tables Document, Entity
CREATE REL TABLE TITLED (
  FROM Document TO Entity,
  document_id STRING,
  surface STRING
)
