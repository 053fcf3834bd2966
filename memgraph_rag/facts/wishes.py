"""Find the user's instructions and preferences that matter for a query: "always answer in metric units".

The module knows the facts of a namespace and the store; the embedder decides which wish matters for which query.
Invariants: at most ``MOST_WISHES`` are returned, the newest first; of two wishes about the same the older one is left
out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from memgraph_rag.contracts import Embedder, GraphReader, cosine_scale, query_vectors
from memgraph_rag.facts.fact_index import Fact, FactIndex, select_within
from memgraph_rag.facts.phrase_vectors import PhraseVectors
from memgraph_rag.lexical.language import kind_of_pair, kind_of_text
from memgraph_rag.types import Evidence, Extent, Segment, Standing

MOST_WISHES = 3
"""Most wishes for one query."""

WISHES = ("instruction", "preference")
"""The kinds of facts that are wishes; a kind is also the list's name in ``Evidence.why``."""

_MOST_COMPARED = 64  # the newest wishes
_SAME = 0.75  # reading of a cosine at which two wishes are about the same; not measured
_BEARS = 0.2  # reading at which a wish matters for a query; see docs/conversations.md
_ON_CONDITION = re.compile(
    r"\b(?:when(?:ever)?|if|every time|as soon as|where) (?:i|you|we)\b|\bwhen (?:asked|answering|writing|"
    r"discussing|talking)\b",
    re.IGNORECASE,
)


class Wishes:
    """A search for wishes by their meaning. Several threads may use it."""

    def __init__(self, facts: FactIndex, graph: GraphReader, embedder: Embedder) -> None:
        self._facts, self._graph, self._embedder = facts, graph, embedder
        self._phrases = PhraseVectors(embedder)

    def find_relevant_wishes(self, query: str, extent: Extent) -> list[Evidence]:
        """Return the segments with the wishes that matter for a query, within an extent of the memory, newest first.

        The wishes that matter most are returned, at most ``MOST_WISHES``. Only the 64 newest wishes are compared.
        ``why`` and ``standing.attribute`` name the kind; ``standing.value`` is the wish in the user's words; the score
        is 0. An instruction matters for every query, unless it has a condition ("when I ask about dates"). A wish is
        left out if a newer wish is about the same.
        """
        known = select_within(self._facts.refresh(), extent)
        wishes = [fact for fact in known if fact.kind in WISHES]
        wishes = sorted(wishes, key=lambda fact: fact.order, reverse=True)[:_MOST_COMPARED]
        if not wishes:
            return []
        vectors = self._phrases.embed([fact.value for fact in wishes])
        (asked,) = query_vectors(self._embedder, [query])
        scale, cosines = cosine_scale(self._embedder), (vectors @ asked).tolist()
        bearing: list[tuple[float, int]] = []
        for place, fact in enumerate(wishes):
            likeness = scale.read((vectors[:place] @ vectors[place]).astype(np.float64), kind_of_text(fact.value))
            is_superseded = (likeness >= _SAME).any()
            reading = scale.read(cosines[place], kind_of_pair(query, fact.value))
            is_general = fact.kind == "instruction" and not _ON_CONDITION.search(fact.value)
            weight = 1.0 if is_general else reading
            if weight >= _BEARS and not is_superseded:
                bearing.append((-weight, place))
        places = sorted(place for _, place in sorted(bearing)[:MOST_WISHES])
        return self._evidence(list({wishes[place].segment_id: wishes[place] for place in places}.values()))

    def _evidence(self, facts: Sequence[Fact]) -> list[Evidence]:
        nodes = {node.id: node for node in self._graph.nodes([fact.segment_id for fact in facts])}
        keys = {record.id: record.key for record in self._graph.documents(sorted({f.document_id for f in facts}))}
        return [
            Evidence(
                segment,
                keys[fact.document_id],
                0.0,
                {fact.kind: rank},
                standing=Standing("holds", fact.kind, fact.value, fact.speaker, fact.said),
            )
            for rank, fact in enumerate(facts, 1)
            if isinstance(segment := nodes.get(fact.segment_id), Segment) and fact.document_id in keys
        ]
