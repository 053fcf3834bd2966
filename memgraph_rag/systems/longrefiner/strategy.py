"""LongRefiner: select passages and sections of the best documents within a budget, and read them in document order.

It knows graph, search and session by their contracts. Invariants: every text that is read is a verbatim part of a
segment; the budget is never exceeded; a document without an outline takes part with its segments.

As in the paper: the model judges whether a question asks for one passage or for whole sections (R_q); each passage has
a local score, and a section has the mean of its children; the model picks the abstract or titles from each document's
abstract and outline, which gives global scores; score = local + R_q × global. Differences from the paper: one model
with our prompts replaces three fine-tuned models; the two words whose probabilities give R_q are Yes (global) and No
(local), because a session gives no others; titles are picked by number; without a cross-encoder, a local score is the
embedder's cosine.

Source: LongRefiner (query analysis, document structuring, adaptive refinement); the outline is the layer ``outline``.
Cost of a question: one probe, one reply for each document with sections, one pass of the cross-encoder over all
passages. If the budget holds all documents completely, the model is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import ClassVar, Literal

import numpy as np

from memgraph_rag.contracts import ReadingContext, query_vectors
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError, WindowExceeded
from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.lexical.replies import parse_numbers
from memgraph_rag.models.reranker import CrossEncoderReranker, Reranker
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.reflection import ask
from memgraph_rag.strategies.token_budget import count_room, may_ask
from memgraph_rag.systems.longrefiner.outline_tree import OutlineTree, Passage, Scores
from memgraph_rag.types import Section, Step, as_line

_SOURCES = {"bm25": "keywords", "embedder": "similarity", "reranker": "reranker"}
"""The name of each scorer's scores in a trace."""

_HITS = 64  # search results that choose the documents
_MOST_EMBEDDED = 256  # passages that are only parts of segments, and so have no stored embedding
_REPLY_TOKENS = 32
_MOST_TITLES = 60  # of one document
_TITLE_CHARACTERS, _ABSTRACT_CHARACTERS = 80, 600

_IS_GLOBAL = (
    "What does it take to answer the question: whole sections or documents, which have to be seen together, and not "
    "just one or two sentences? Reply with one word, Yes or No."
)
_WHICH = (
    "A document begins like this:\n{abstract}\n\nThese are its parts:\n{titles}\n\nWhich of them may hold what the "
    "question asks for? Reply with their numbers only, separated by commas, or with the word None."
)


class LongRefiner:
    """A strategy that reads passages and whole sections of the documents that search finds.

    Args:
        most_tokens: most tokens of the text that is read.
        documents: most documents that take part.
        scorer: computes the local scores: "bm25" over the passages of these documents, "embedder" by cosines, or
            "reranker". The default is "reranker" if one is given, else "embedder". The paper has a reranker.
        reranker: a ``Reranker``, or the folder or the hub's name of a cross-encoder. The paper has
            BAAI/bge-reranker-v2-m3.
        with_structure: if False, outlines are ignored.
        with_query_analysis: if False, R_q is 1.
        with_global_selection: if False, no titles are picked, and only local scores count.
    """

    name = "longrefiner"
    requires = ("outline",)
    follows_paper = True
    ablations: ClassVar = {
        "without_structure": {"with_structure": False},
        "without_query_analysis": {"with_query_analysis": False},
        "without_global_selection": {"with_global_selection": False},
    }

    def __init__(
        self,
        *,
        most_tokens: int = 2048,
        documents: int = 8,
        scorer: Literal["bm25", "embedder", "reranker"] | None = None,
        reranker: Reranker | str | None = None,
        with_structure: bool = True,
        with_query_analysis: bool = True,
        with_global_selection: bool = True,
    ) -> None:
        self._most_tokens = most_tokens
        self._documents = documents
        self._scorer = scorer or ("embedder" if reranker is None else "reranker")
        if self._scorer not in _SOURCES or (self._scorer == "reranker" and not reranker):
            raise StrategyError(
                f'Expected a scorer out of {", ".join(_SOURCES)}, got {show(scorer)}. Give "reranker" with the folder '
                "of a cross-encoder as the argument reranker.",
                strategy=self.name,
            )
        self._reranker = CrossEncoderReranker(reranker) if isinstance(reranker, str) else reranker
        self._with_structure = with_structure
        self._with_query_analysis = with_query_analysis
        self._with_global_selection = with_global_selection

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each segment of which passages are selected, in document order; see ``Strategy.read``.

        The step reads only the selected passages. The documents come in the order of the search.
        """
        tree = self._tree(question, context)
        if not tree.passages:
            return
        local = tree.local_scores(self._score_passages(question, tree, context))
        level, from_outline = self._score_outline(tree, context)
        room = count_room(context.session, context.limits, self._most_tokens)
        taken = tree.select(local + from_outline, most_tokens=room, most_segments=context.limits.nodes)
        looks_for = "" if level is None else f"whole sections, with probability {level:.2f}"
        yield from _read(tree, taken, {_SOURCES[self._scorer]: local, "outline": from_outline}, context, looks_for)

    def _tree(self, question: str, context: ReadingContext) -> OutlineTree:
        """Return the tree of the documents that search finds, best first."""
        hits = context.search.find(question, k=_HITS, documents=context.documents)
        tree = OutlineTree()
        for document_id in list(dict.fromkeys(hit.segment.document_id for hit in hits))[: self._documents]:
            sections = context.graph.sections(document_id) if self._with_structure else []
            tree.add(sections, context.graph.list_segments(document_id))
        return tree

    def _score_passages(self, question: str, tree: OutlineTree, context: ReadingContext) -> dict[int, float]:
        """Return the local score of each passage by place, before scaling."""
        if self._scorer == "bm25":
            return _keyword_scores(question, tree)
        if self._reranker is None or self._scorer == "embedder":
            return _cosines(question, tree, context)
        scores = self._reranker.score(question, [as_line(passage.text) for passage in tree.passages.values()])
        return dict(zip(tree.passages, map(float, scores), strict=True))

    def _score_outline(self, tree: OutlineTree, context: ReadingContext) -> tuple[float | None, Scores]:
        """Return R_q (None if the model was not asked) and the (n,) scores R_q × global."""
        nothing, outlines = tree.global_scores(()), _list_section_places(tree)
        if (
            not self._with_global_selection
            or not outlines
            or self._fits(tree, context)
            or not may_ask(context.limits, context.session)
        ):
            return None, nothing
        level: float | None = None
        try:
            if self._with_query_analysis:
                level = context.session.judge(_IS_GLOBAL)
            asked = (listed for listed in outlines if may_ask(context.limits, context.session))
            chosen = {place for listed in asked for place in _pick_sections(tree, listed, context)}
        except WindowExceeded:  # there is no room for requests: local scores alone count
            return level, nothing
        return level, (1.0 if level is None else level) * tree.global_scores(chosen)

    def _fits(self, tree: OutlineTree, context: ReadingContext) -> bool:
        """Return whether the budget holds all documents, so that the model need not be asked."""
        tokens = sum(passage.tokens for passage in tree.passages.values())
        segments = len({passage.segment.id for passage in tree.passages.values()})
        most = context.limits.nodes
        room = count_room(context.session, context.limits, self._most_tokens)
        return tokens <= room and (most is None or segments <= most)


def _keyword_scores(question: str, tree: OutlineTree) -> dict[int, float]:
    """Return the BM25 score of each passage among all passages of the tree, by place."""
    index = KeywordIndex()
    index.append(("", passage.text, "") for passage in tree.passages.values())
    scores = index.scores(index.terms(question), np.arange(len(index)))
    return dict(zip(tree.passages, scores.tolist(), strict=True))


def _cosines(question: str, tree: OutlineTree, context: ReadingContext) -> dict[int, float]:
    """Return the cosine of each passage by place. Parts beyond the 256 best have the cosine of their segment."""
    (vector,) = query_vectors(context.embedder, [question])
    documents = sorted({passage.segment.document_id for passage in tree.passages.values()})
    cosines = {hit.node_id: hit.score for hit in context.graph.similarities(vector, documents=documents)}
    scores = {place: cosines.get(passage.segment.id, 0.0) for place, passage in tree.passages.items()}
    parts = [place for place, passage in tree.passages.items() if not passage.is_whole]
    best = sorted(parts, key=lambda place: (-scores[place], place))[:_MOST_EMBEDDED]
    if best:
        texts = [as_line(tree.passages[place].text) for place in best]
        scores |= dict(zip(best, (context.embedder.embed(texts) @ vector).tolist(), strict=True))
    return scores


def _list_section_places(tree: OutlineTree) -> list[list[int]]:
    """Return the places of the abstract and the titled sections of each document with titles.

    Of more than 60, the highest levels are kept.
    """
    sections = [(place, section) for place, section in enumerate(tree.sections) if section is not None]
    lists: list[list[int]] = []
    for _, items in groupby(sections, key=lambda item: item[1].document_id):
        of_document = [item for item in items if item[1].title or item[1].is_abstract]
        uppermost = sorted(of_document, key=lambda item: (item[1].level, item[0]))[:_MOST_TITLES]
        if any(section.title for _, section in uppermost):
            lists.append(sorted(place for place, _ in uppermost))
    return lists


def _pick_sections(tree: OutlineTree, listed: Sequence[int], context: ReadingContext) -> list[int]:
    """Ask the model which of a document's sections may answer the question, and return their places."""
    sections = [section for place in listed if (section := tree.sections[place]) is not None]
    lines = (f"{number}. {_line(section)}" for number, section in enumerate(sections, 1))
    request = _WHICH.format(abstract=_abstract(tree, listed[0]), titles="\n".join(lines))
    reply = ask(
        context.session,
        request,
        max_tokens=_REPLY_TOKENS,
        is_usable=lambda text: parse_numbers(text, len(listed)) is not None,
    )
    return [listed[number - 1] for number in parse_numbers(reply, len(listed)) or ()]


def _line(section: Section) -> str:
    return f"{'  ' * (section.level - 1)}{section.name[:_TITLE_CHARACTERS]}"


def _abstract(tree: OutlineTree, place: int) -> str:
    """Return the beginning of the document of a node."""
    document_id = section.document_id if (section := tree.sections[place]) else ""
    texts = (passage.text for passage in tree.passages.values() if passage.segment.document_id == document_id)
    return as_line(next(texts, ""))[:_ABSTRACT_CHARACTERS]


def _read(
    tree: OutlineTree, taken: Sequence[int], scores: dict[str, Scores], context: ReadingContext, looks_for: str
) -> Iterator[tuple[Step, ...]]:
    """Read the selected passages, and yield one step for each segment."""
    chosen: list[Chosen] = []
    sources: list[dict[str, float]] = []
    for _, group in groupby(taken, key=lambda place: tree.passages[place].segment.id):
        places = list(group)
        passages = [tree.passages[place] for place in places]
        best = max(places, key=lambda place: sum(of_source[place] for of_source in scores.values()))
        sources.append({source: float(of_source[best]) for source, of_source in scores.items()})
        score, text = sum(sources[-1].values()), _join_passages(passages)
        chosen.append(Chosen(passages[0].segment, score, via=tree.titles(best), text=text))
    for (step,), of_step in zip(read_in_order(chosen, context, reason=looks_for), sources, strict=False):
        yield (replace(step, sources=of_step),)


def _join_passages(passages: Sequence[Passage]) -> str:
    """Join the texts of passages of one segment, with a line break at each gap."""
    text, end = "", passages[0].start
    for passage in passages:
        text += passage.text if passage.start == end else f"\n{passage.text}"
        end = passage.end
    return text
