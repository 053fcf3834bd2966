"""Test fused relations: one description for a pair of entities, in each segment that states it, or none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from recording_model import RecordingModel
from tables import table

from memgraph_rag.contracts import SplitDocument
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.testing import FakeLanguageModel, FakeModels
from memgraph_rag.types import LayerRows, Segment, make_id

NAMESPACE = "tests"


def document(*texts: str, key: str = "d", title: str = "") -> SplitDocument:
    """One segment for each text."""
    segments, start = [], 0
    for index, text in enumerate(texts):
        (tokens,) = FakeLanguageModel().count_tokens([text])
        name = make_id(NAMESPACE, "segment", key, index)
        segments.append(Segment(name, key, index, text, start, start + len(text), tokens))
        start += len(text)
    return SplitDocument(key, title, tuple(segments))


def reply(*relations: Sequence[str]) -> str:
    return json.dumps({"names": [], "relations": list(map(list, relations))})


def build(*texts: str, replies: Sequence[str]) -> LayerRows:
    models = FakeModels(FakeLanguageModel(replies))
    (rows,) = RelationsLayer(fuses=True).build([document(*texts)], namespace=NAMESPACE, models=models)
    return rows


def descriptions(rows: LayerRows) -> list[str]:
    return [relation.description for relation in rows.relations]


TWICE = "Ann Lee met Tom Ray in York. ", "Ann Lee married Tom Ray in Leeds. "
BOTH = reply(
    ("Ann Lee", "Tom Ray", "Ann Lee met Tom Ray in York."), ("Ann Lee", "Tom Ray", "Ann Lee married Tom Ray in Leeds.")
)
FUSED = "Ann Lee met Tom Ray in York and married Tom Ray in Leeds."


def test_relations_of_a_pair_share_one_description_in_all_their_segments():
    rows = build(*TWICE, replies=[BOTH, json.dumps({"description": FUSED})])
    segment_ids = [segment.id for segment in document(*TWICE).segments]
    assert [(relation.description, relation.segment_id) for relation in rows.relations] == [
        (FUSED, segment_id) for segment_id in segment_ids
    ]
    assert rows.usage.model_calls == 2
    assert rows.notes == {}


@table(
    ("written", "notes"),
    [
        ('{"description": ""}', {}),
        ('{"description": "Ann Lee poisoned Tom Ray with arsenic."}', "fused relation that the text does not bear out"),
        ('{"description": "They met in York and married in Leeds."}', "fused relation that the text does not bear out"),
        ("Sure!", "unreadable reply"),
        ('{"description": 7}', {}),
    ],
)
def test_relations_stay_as_they_are_without_a_usable_fusion(written: str, notes: object):
    rows = build(*TWICE, replies=[BOTH, written])
    assert descriptions(rows) == [sentence.strip() for sentence in TWICE]
    assert rows.notes == (notes if notes == {} else {notes: 1})


def test_fusion_reads_question_background_and_the_segments_of_the_pair():
    model = RecordingModel([BOTH, json.dumps({"description": FUSED})])
    texts = (*TWICE, "It rained in Hull. ")
    split_document = replace(document(*texts, title="A tale"), summary="Ann wed Tom.")
    layer = RelationsLayer(fuses=True)
    (rows,) = layer.extract("Where did they marry?", [split_document], namespace=NAMESPACE, models=FakeModels(model))
    prompt = model.prompts[1]
    assert prompt.inputs == tuple(text.strip() for text in TWICE)
    for part in ("Where did they marry?", "A tale: Ann wed Tom.", *descriptions_of(BOTH)):
        assert part in prompt.task
    assert descriptions(rows) == [FUSED, FUSED]


def descriptions_of(written: str) -> list[str]:
    return [description for _, _, description in json.loads(written)["relations"]]


def test_single_description_needs_no_fusion():
    rows = build(*TWICE, replies=[reply(("Ann Lee", "Tom Ray", "Ann Lee met Tom Ray in York."))])
    assert rows.usage.model_calls == 1


def test_fused_relations_of_two_documents_stay_apart():
    other = document("Eve met Bob in Hull. ", "Eve left Bob in Bath. ", key="e")
    replies = [
        BOTH,
        reply(("Eve", "Bob", "Eve met Bob in Hull."), ("Eve", "Bob", "Eve left Bob in Bath.")),
        json.dumps({"description": FUSED}),
        json.dumps({"description": "Eve met Bob in Hull and left Bob in Bath."}),
    ]
    models = FakeModels(FakeLanguageModel(replies))
    reports: list[tuple[str, int, int]] = []
    rows = RelationsLayer(fuses=True).build(
        [document(*TWICE), other], namespace=NAMESPACE, models=models, progress=lambda *now: reports.append(now)
    )
    assert reports[-1] == ("fusing relations", 2, 2)
    assert [set(descriptions(document_rows)) for document_rows in rows] == [
        {FUSED},
        {"Eve met Bob in Hull and left Bob in Bath."},
    ]
    assert [document_rows.usage.model_calls for document_rows in rows] == [2, 2]


def test_many_relations_of_a_pair_fit_small_prompts():
    texts = [f"Ann Lee met Tom Ray in Town{number}. " + "It rained. " * 60 for number in range(20)]
    for window in (1024, 8192):
        model = RecordingModel(window=window)
        layer = RelationsLayer(batch_tokens=1024, batch_segments=1, fuses=True)
        (rows,) = layer.build([document(*texts)], namespace=NAMESPACE, models=FakeModels(model))
        fusing = model.prompts[20:]
        assert len(rows.relations) == 20, "the fake declines"
        assert len(fusing) > 2
        assert max(prompt.task.count("\n* ") for prompt in fusing) <= 8
