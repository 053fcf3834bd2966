"""Order search results so that what holds now comes before what it superseded.

The module knows facts and results, no model. Invariants: no result is left out because it is old, it is only placed
after the one that replaced it; a question about the past, or about something that nobody states, changes no order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from memgraph_rag.facts.asked_attributes import AskedAttribute, asks_for_now, find_asked_attribute
from memgraph_rag.facts.deeds import denies, find_asked_deed
from memgraph_rag.facts.fact_index import Fact, FactKey, group_by_subject, select_within, standings
from memgraph_rag.lexical.tokenize import words
from memgraph_rag.types import Evidence, Extent
from memgraph_rag.types.facts import Standing

POOL = 50  # results that are ordered, whatever k is

_MOST_PEOPLE = 3  # speakers whose statements of an attribute are put first
Find = Callable[[Sequence[str]], Mapping[str, Evidence]]
"""Return the results of segments by id, with the score 0, without segments that are no longer stored."""


def arrange(
    question: str,
    results: Sequence[Evidence],
    facts: Iterable[Fact],
    find: Find,
    *,
    k: int,
    extent: Extent,
    newest: Evidence | None = None,
    is_judged: bool = False,
) -> list[Evidence]:
    """Return the k best results with their standing, so that what holds comes before what it superseded.

    Each place keeps its score, so a result may get the score of another one. Results may be added; places beyond the
    number of results have the score 0. If the question asks for the past, only ``newest`` and statements that
    contradict a result are moved.

    Args:
        results: best first, more than k if there are more.
        facts: the facts of the namespace.
        find: reads the segments that hold but are not among the results.
        extent: only facts within it count.
        newest: the result that says what holds, by likeness or by a judge.
        is_judged: whether a judge found ``newest``. It then comes first; by likeness only if no fact is about what the
            question asks.
    """
    known = select_within(facts, extent)
    if not known and newest is None:
        return list(results[:k])
    by_key = group_by_subject(known)
    asked = _find_asked(question, by_key)
    standing_by_id = _find_standings(by_key, results, asked)
    ordered = list(results)
    if asked is not None and not asked.is_past:
        ordered = _put_asked_first(ordered, asked, by_key, find)
    if _may_be_of_now(question, asked):
        ordered = _exchange_newest(ordered, by_key, asked)
    if newest is not None and (is_judged or not any(_is_asked(key, asked) for key in by_key)):
        ordered = _move_first(ordered, [newest.segment.id], find)
    ordered = _insert_rivals(ordered, standing_by_id, find)[:k]
    scores = [item.score for item in results] + [0.0] * len(ordered)  # each place keeps its score
    return [
        replace(item, score=score, standing=standing_by_id.get(item.segment.id))
        for item, score in zip(ordered, scores, strict=False)
    ]


def _may_be_of_now(question: str, asked: AskedAttribute | None) -> bool:
    """Return whether the newest statement of a matter helps: "deploy target", but not "Who carried the piano?"."""
    if asked is not None:
        return not asked.is_past
    return asks_for_now(question) or not question.rstrip().endswith("?")


def find_stating_segments(question: str, facts: Iterable[Fact], extent: Extent) -> frozenset[str]:
    """Return the ids of the segments with a value of the attribute that a question asks for, within an extent."""
    by_key = group_by_subject(select_within(facts, extent))
    asked = _find_asked(question, by_key)
    return frozenset(
        fact.segment_id
        for key, known in by_key.items()
        if _is_asked(key, asked)
        for fact in known
        if fact.kind == "value"
    )


def _find_asked(question: str, by_key: Mapping[FactKey, list[Fact]]) -> AskedAttribute | None:
    """Return the attribute or the denied deed that the question asks for; None if the question asks for neither."""
    attributes = {key[2] for key in by_key}
    asked = find_asked_attribute(question)
    if asked is not None and asked.attribute in attributes:
        return asked
    if deed := find_asked_deed(question):
        denied = (name for name in sorted(attributes) if denies(name, deed) or denies(deed, name))
        if name := next(denied, ""):
            return AskedAttribute(name)
    return asked


def _find_standings(
    by_key: Mapping[FactKey, list[Fact]], results: Sequence[Evidence], asked: AskedAttribute | None
) -> dict[str, Standing]:
    """Return the standing of the results' segments and of all statements with the same key, by segment id.

    If a segment has several standings, that of the asked attribute counts.
    """
    result_ids = {item.segment.id for item in results}
    standing_by_id: dict[str, Standing] = {}
    keys = [key for key, facts in by_key.items() if _is_asked(key, asked) or result_ids & {f.segment_id for f in facts}]
    for key in sorted(keys, key=lambda key: (not _is_asked(key, asked), key)):
        for (segment_id, _), standing in standings(by_key[key]).items():
            former = standing_by_id.get(segment_id)
            if former is None or (former.state == "holds" and standing.state != "holds" and former.attribute != key[2]):
                if former is None or not _is_asked(("", "", former.attribute), asked):
                    standing_by_id[segment_id] = standing
            elif former.attribute == key[2]:
                standing_by_id[segment_id] = standing  # the last statement of a turn that corrects itself
    return standing_by_id


def _is_asked(key: FactKey, asked: AskedAttribute | None) -> bool:
    return asked is not None and key[2] == asked.attribute and _is_speaker(key[1], asked)


def _is_speaker(speaker: str, asked: AskedAttribute) -> bool:
    return not asked.speaker or set(words(asked.speaker)) <= set(words(speaker)) or not speaker


def _put_asked_first(
    results: list[Evidence], asked: AskedAttribute, by_key: Mapping[FactKey, list[Fact]], find: Find
) -> list[Evidence]:
    """Put the last statement about the asked attribute first, for each speaker."""
    places = {item.segment.id: place for place, item in enumerate(results)}
    keys = [key for key in by_key if _is_asked(key, asked)]

    def best_place(key: FactKey) -> tuple[int, FactKey]:
        return min(places.get(fact.segment_id, len(results)) for fact in by_key[key]), key

    newest = [max(by_key[key], key=lambda fact: (fact.at, fact.index)) for key in sorted(keys, key=best_place)]
    return _move_first(results, list(dict.fromkeys(fact.segment_id for fact in newest[:_MOST_PEOPLE])), find)


def _move_first(results: list[Evidence], first: Sequence[str], find: Find) -> list[Evidence]:
    return [*_take_results(results, first, find), *(item for item in results if item.segment.id not in set(first))]


def _take_results(results: Sequence[Evidence], segment_ids: Sequence[str], find: Find) -> list[Evidence]:
    """Return the results of these segments, in this order; those that are not among ``results`` are read."""
    results_by_id = {item.segment.id: item for item in results}
    results_by_id |= find([segment_id for segment_id in segment_ids if segment_id not in results_by_id])
    return [results_by_id[segment_id] for segment_id in segment_ids if segment_id in results_by_id]


def _exchange_newest(
    results: list[Evidence], by_key: Mapping[FactKey, list[Fact]], asked: AskedAttribute | None
) -> list[Evidence]:
    """Exchange the places of statements about one key, so that the newest has the best of their places."""
    latest = {
        fact.segment_id: (key, fact.at, fact.index)
        for key, facts in by_key.items()
        if asked is None or _is_asked(key, asked)
        for fact in facts
        if fact.kind == "value"
    }
    groups: dict[FactKey, list[int]] = {}
    for place, item in enumerate(results):
        if item.segment.id in latest:
            groups.setdefault(latest[item.segment.id][0], []).append(place)
    ordered = list(results)
    for places in groups.values():
        newest = sorted(
            (results[place] for place in places), key=lambda item: latest[item.segment.id][1:], reverse=True
        )
        for place, item in zip(places, newest, strict=True):
            ordered[place] = item
    return ordered


def _insert_rivals(results: list[Evidence], standing_by_id: Mapping[str, Standing], find: Find) -> list[Evidence]:
    """Put the statements that contradict the first contradicted result after it, so that both are read."""
    place = next((n for n, item in enumerate(results) if _is_contradicted(standing_by_id, item)), None)
    if place is None:
        return results
    rivals = [rival.segment_id for rival in standing_by_id[results[place].segment.id].rivals]
    head = [item for item in results[: place + 1] if item.segment.id not in rivals]
    tail = [item for item in results[place + 1 :] if item.segment.id not in rivals]
    return [*head, *_take_results(results, rivals, find), *tail]


def _is_contradicted(standing_by_id: Mapping[str, Standing], item: Evidence) -> bool:
    standing = standing_by_id.get(item.segment.id)
    return standing is not None and standing.state == "contradicted"
