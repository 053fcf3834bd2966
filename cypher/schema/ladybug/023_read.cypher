// A question to each node that was read for it, once for each time.
// params: -
// returns: -
// needs: tables Question, Segment, InformationPoint
CREATE REL TABLE READ (
  FROM Question TO Segment,
  FROM Question TO InformationPoint,
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
