// The whole schema of version 47, for a new file: what all steps of schema/ladybug come to. One script, without values.

CREATE NODE TABLE Schema (
  id STRING PRIMARY KEY,
  name STRING,
  version INT64,
  embedder STRING,
  dimension INT64
);

CREATE NODE TABLE Namespace (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  version INT64,
  mark STRING DEFAULT ''
);

CREATE NODE TABLE Document (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  key STRING,
  title STRING,
  source STRING,
  sha256 STRING,
  added_at STRING,
  characters INT64,
  segments INT64,
  layers STRING[],
  model STRING,
  metadata STRING,
  recognizer STRING DEFAULT '',
  version INT64 DEFAULT 0,
  echoes INT64 DEFAULT 0,
  text_sha256 STRING DEFAULT '',
  language STRING DEFAULT ''
);

CREATE NODE TABLE Segment (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  document_id STRING,
  title STRING,
  `index` INT64,
  text STRING,
  `start` INT64,
  `end` INT64,
  tokens INT64,
  embedding FLOAT[$dimension],
  speaker STRING DEFAULT '',
  time STRING DEFAULT '',
  echo BOOL DEFAULT false
);

CREATE REL TABLE HAS_SEGMENT (FROM Document TO Segment);

CREATE REL TABLE NEXT (FROM Segment TO Segment);

CREATE NODE TABLE InformationPoint (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  document_id STRING,
  level INT64,
  `index` INT64,
  text STRING,
  tokens INT64,
  embedding FLOAT[$dimension],
  layer STRING DEFAULT 'points'
);

CREATE NODE TABLE Entity (
  id STRING PRIMARY KEY,
  namespace STRING,
  normal STRING,
  name STRING,
  kinds STRING[],
  surfaces STRING,
  embedding FLOAT[$dimension]
);

CREATE REL TABLE MENTIONS (
  FROM Segment TO Entity,
  document_id STRING,
  surface STRING,
  kind STRING,
  `start` INT64,
  `end` INT64
);

CREATE REL TABLE TITLED (
  FROM Document TO Entity,
  document_id STRING,
  surface STRING
);

CREATE REL TABLE RELATES_TO (
  FROM Entity TO Entity,
  id STRING,
  namespace STRING,
  document_id STRING,
  segment_id STRING,
  source_id STRING,
  target_id STRING,
  description STRING
);

CREATE NODE TABLE RelationEmbedding (
  id STRING PRIMARY KEY,
  namespace STRING,
  document_id STRING,
  embedding FLOAT[$dimension]
);

CREATE REL TABLE RELATED_BY (FROM Entity TO RelationEmbedding);

CREATE REL TABLE SIMILAR_TO (FROM Entity TO Entity, score DOUBLE);

CREATE NODE TABLE Annotation (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  document_id STRING,
  layer STRING,
  `index` INT64,
  kind STRING,
  text STRING,
  properties STRING,
  segments INT64
);

CREATE REL TABLE ANNOTATES (FROM Annotation TO Segment);

CREATE NODE TABLE Section (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  document_id STRING,
  `index` INT64,
  level INT64,
  title STRING,
  start INT64,
  `end` INT64,
  parent_id STRING,
  is_abstract BOOLEAN,
  parts INT64
);

CREATE REL TABLE CONTAINS (
  FROM Section TO Section,
  FROM Section TO Segment,
  start INT64,
  `end` INT64
);

CREATE NODE TABLE Overview (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  layer STRING,
  `key` STRING,
  level INT64,
  title STRING,
  text STRING,
  tokens INT64,
  documents STRING[],
  entities STRING[],
  findings STRING,
  rating DOUBLE,
  parts INT64
);

CREATE REL TABLE RESTS_ON (FROM Overview TO Document);

CREATE REL TABLE HAS_MEMBER (FROM Overview TO Entity);

CREATE REL TABLE SUMMARIZES (
  FROM InformationPoint TO Segment,
  FROM InformationPoint TO InformationPoint,
  FROM Overview TO Segment,
  FROM Overview TO InformationPoint,
  FROM Overview TO Overview,
  weight DOUBLE
);

CREATE NODE TABLE Question (
  id STRING PRIMARY KEY,
  namespace STRING,
  name STRING,
  text STRING,
  asked_at STRING,
  answer STRING,
  abstained BOOLEAN,
  stop_reason STRING,
  strategy STRING,
  model STRING,
  nodes INT64,
  prompt_tokens INT64,
  generated_tokens INT64,
  model_calls INT64,
  seconds DOUBLE,
  citations STRING,
  documents STRING[],
  changes STRING DEFAULT '[]',
  warnings STRING DEFAULT '[]',
  short STRING DEFAULT ''
);

CREATE REL TABLE READ (
  FROM Question TO Segment,
  FROM Question TO InformationPoint,
  FROM Question TO Overview,
  `order` INT64,
  score DOUBLE,
  attention DOUBLE,
  p_yes DOUBLE,
  sources STRING,
  via STRING,
  reason STRING,
  stop STRING,
  dropped STRING[]
)
