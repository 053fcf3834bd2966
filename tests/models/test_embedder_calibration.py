"""The scale on which an embedder's cosines are read: from files, or measured on the packaged sample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from memories import FOX, options
from tables import table
from typer.testing import CliRunner

from memgraph_rag import Memory
from memgraph_rag.cli.app import app
from memgraph_rag.errors import ModelError
from memgraph_rag.lexical.name_similarity import LEAST_COSINE
from memgraph_rag.models.embedders import calibration
from memgraph_rag.models.embedders.calibration import (
    EmbedderCalibration,
    calibration_file,
    find_calibration,
    find_shipped_file,
    measure,
    measure_sample,
)
from memgraph_rag.models.files.catalogue import MINILM, PACKAGED_EMBEDDERS
from memgraph_rag.models.files.packaged_e5 import MULTILINGUAL_E5
from memgraph_rag.models.wrappers.checked_models import CheckedEmbedder
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.text.citations import Quotes
from memgraph_rag.types import CosineScale, Matrix, Segment


class Narrow:
    """An embedder whose cosines lie between 0.8 and 1, as those of e5 do."""

    name, dimension = "narrow", 33

    def embed(self, texts: Sequence[str]) -> Matrix:
        rows = FakeEmbedder(32).embed(texts)
        return (np.concatenate([np.full((len(rows), 1), 2.0), rows], axis=1) / np.sqrt(5)).astype(np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class Calibrated(Narrow):
    """The same, with its calibration."""

    @property
    def calibration(self) -> EmbedderCalibration:
        return measure_sample(Narrow())


def test_scale_increases_and_keeps_one() -> None:
    scale = CosineScale({"english": ((0.75, 0.03), (0.8, 0.25))}, ((0.8, 0.2), (0.9, 0.5)))
    cosines = np.linspace(-1, 1, 101)
    readings = scale.read(cosines)
    assert (np.diff(readings) > 0).all()
    assert (scale.read(1.0), scale.read(0.8), CosineScale().read(0.3)) == (1.0, 0.25, 0.3)
    assert scale.read_names(scale.raw_names(LEAST_COSINE)) == pytest.approx(LEAST_COSINE)


def test_sample_gives_cosines_of_another_embedder() -> None:
    scale = measure_sample(Narrow()).scale
    unrelated = float(np.mean(Narrow().embed(["a red fox"]) @ Narrow().embed(["rain fell", "two mills"]).T))
    assert unrelated > 0.75
    assert scale.read(unrelated) < 0.25 < scale.read(0.97)
    assert scale.raw_names(0.8) > 0.9


def test_labelled_questions_replace_the_sample_of_their_kind() -> None:
    texts = {str(place): f"The thing number{place} is of kind{place % 3}." for place in range(9)}
    questions = [(f"What is number{place} of kind{place % 3}?", (str(place),)) for place in range(9)]
    measured = measure(Narrow(), {"mine": (texts, questions)})
    assert measured.data == ("mine", "sample")
    assert measured.knots["english"] != measure_sample(Narrow()).knots["english"]
    assert measured.knots["latin"] == measure_sample(Narrow()).knots["latin"]


def test_measured_calibration_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = find_calibration(Narrow(), tmp_path)
    monkeypatch.setattr(calibration, "measure_sample", lambda _: pytest.fail("measured twice"))
    assert find_calibration(Narrow(), tmp_path).scale == first.scale
    path = calibration_file("narrow", tmp_path)
    path.write_text(path.read_text().replace('"narrow"', '"other"'))
    with pytest.raises(ModelError, match="Expected a calibration of narrow"):
        find_calibration(Narrow(), tmp_path)
    path.write_text("{}")
    with pytest.raises(ModelError, match="calibrate --cosines"):
        find_calibration(Narrow(), tmp_path)


@table("name", PACKAGED_EMBEDDERS)
def test_packaged_embedders_have_calibrations(name: str) -> None:
    record = EmbedderCalibration.model_validate_json(find_shipped_file(name).read_bytes())
    assert record.embedder == name
    assert ("english" in record.knots) == (name == MULTILINGUAL_E5), "MiniLM's English cosines are read as they are"
    assert record.scale.read(0.62, "cyrillic") < 0.25, "two unrelated Russian texts"
    for knots in record.knots.values():
        assert all(np.diff(np.array(knots), axis=0).ravel() > 0)
    assert json.loads(find_shipped_file(MINILM).read_text())["question_breadth"]["least"] == 0.7


def test_thresholds_hold_for_readings() -> None:
    segment = Segment("s", "d", 0, "The red fox built a box in the wood.", 0, 36, 9)
    given = {"keys": {"d": "d"}}
    raw, read = Calibrated(), Calibrated()
    raw.scale, raw.unrelated_below = CosineScale(), 0.25  # pyright: ignore[reportAttributeAccessIssue]
    for embedder, is_related in ((raw, True), (read, False)):
        quotes = Quotes([(segment, 1.0)], embedder=CheckedEmbedder(embedder), **given)
        assert (quotes.measure_relevance("Capital cities?") >= 0) == is_related
        assert quotes.measure_relevance("The red fox built a box in the wood?") >= 0


def test_search_reads_relevance_on_the_scale() -> None:
    with Memory(":memory:", **options(embedder=Calibrated(), layers=())) as memory:
        memory.add(FOX, key="fox")
        hits = memory.search("Capital cities abroad?", mode="vector")
    assert all(hit.relevance is not None and hit.relevance < 0.2 for hit in hits)


def test_command_measures_cosines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memgraph_rag.cli.calibrate.open_embedder", lambda *_: Narrow())
    rows = {
        "docs.jsonl": [{"doc_id": str(at), "title": "", "text": f"Thing{at} is of kind{at % 3}."} for at in range(9)],
        "questions.jsonl": [
            {"qid": str(at), "question": f"What is thing{at}?", "answers": [], "type": "x", "doc_ids": [],
             "evidence_doc_ids": [str(at)]} for at in range(9)
        ],
    }  # fmt: skip
    for name, lines in rows.items():
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)))
    out = tmp_path / "narrow.json"
    arguments = ["calibrate", "--cosines", "--questions", str(tmp_path), "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert EmbedderCalibration.model_validate_json(out.read_bytes()).data == (tmp_path.name, "sample")
    assert "unrelated" in result.output
