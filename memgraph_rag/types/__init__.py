"""The plain records that pass between rooms, and the ids that name them.

Frozen, without behaviour beyond what follows from their own fields; they know no database, no model and no file.
"""

from __future__ import annotations

from memgraph_rag.types.answers import (
    Answer,
    Answered,
    AnswerStyle,
    AnswerWarning,
    Budget,
    Carrier,
    Change,
    Citation,
    Evidence,
    Hit,
    Question,
    RelevanceCurve,
    Step,
    StopReason,
    WarningKind,
)
from memgraph_rag.types.arrays import Matrix, Vector
from memgraph_rag.types.days import RelativeDays, written_day
from memgraph_rag.types.documents import Document, DocumentRecord, Fingerprint, Message, MetadataValue, Turn, as_line
from memgraph_rag.types.facts import Rival, Standing
from memgraph_rag.types.generation import Generation, LayerRows, Prompt, Usage
from memgraph_rag.types.graph import (
    OPEN_KIND,
    Annotation,
    DocumentGraph,
    Entity,
    IndexedSegment,
    InformationPoint,
    Mention,
    Neighbour,
    Node,
    Relation,
    Segment,
    Similar,
    Summarizes,
    Title,
    ends_of,
)
from memgraph_rag.types.ids import annotation_id, entity_id, make_id, question_id, relation_id, text_hash, text_id
from memgraph_rag.types.inspection import Damage, Flaws, Neighbourhood, Thing, Tie
from memgraph_rag.types.receipts import Action, Failure, Receipt
from memgraph_rag.types.tools import Tool

__all__ = [
    "OPEN_KIND",
    "Action",
    "Annotation",
    "Answer",
    "AnswerStyle",
    "AnswerWarning",
    "Answered",
    "Budget",
    "Carrier",
    "Change",
    "Citation",
    "Damage",
    "Document",
    "DocumentGraph",
    "DocumentRecord",
    "Entity",
    "Evidence",
    "Failure",
    "Fingerprint",
    "Flaws",
    "Generation",
    "Hit",
    "IndexedSegment",
    "InformationPoint",
    "LayerRows",
    "Matrix",
    "Mention",
    "Message",
    "MetadataValue",
    "Neighbour",
    "Neighbourhood",
    "Node",
    "Prompt",
    "Question",
    "Receipt",
    "Relation",
    "RelativeDays",
    "RelevanceCurve",
    "Rival",
    "Segment",
    "Similar",
    "Standing",
    "Step",
    "StopReason",
    "Summarizes",
    "Thing",
    "Tie",
    "Title",
    "Tool",
    "Turn",
    "Usage",
    "Vector",
    "WarningKind",
    "annotation_id",
    "as_line",
    "ends_of",
    "entity_id",
    "make_id",
    "question_id",
    "relation_id",
    "text_hash",
    "text_id",
    "written_day",
]
