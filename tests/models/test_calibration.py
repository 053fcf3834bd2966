"""Calibration: a planted head is found under a bias of position, noise gets no weight, wrong files are refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from architectures import write_checkpoint
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.errors import DocumentError, ModelError
from memgraph_rag.models.calibration.calibrate import Plan, calibrate, make_cutter
from memgraph_rag.models.calibration.calibration import (
    Head,
    HeadCalibration,
    Origin,
    TurnCalibration,
    TurnOrigin,
    read_calibration,
    write_calibration,
)
from memgraph_rag.models.calibration.fit import Reading, Verdicts, fit
from memgraph_rag.models.calibration.labelled_questions import LabelledQuestion, LabelledSet, choose_questions
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.files import catalogue
from memgraph_rag.models.files.catalogue import (
    CATALOGUE,
    calibration_path,
    find_calibration,
    find_turn_calibration,
    fingerprint,
)
from memgraph_rag.settings import Settings
from memgraph_rag.testing import FakeEmbedder

SMALL = "qwen2.5-coder-0.5b-instruct"
LAYERS, HEADS, NODES = 3, 4, 12
GOOD = (1, 2)
QUESTION = "What did Peter eat in Mr. McGregor's garden?"
TEXTS = [
    "Flopsy, Mopsy and Cotton-tail went down the lane to gather blackberries.",
    "Peter ate lettuces, French beans and radishes in Mr. McGregor's garden.",
    "Mrs. Rabbit bought a loaf of brown bread and five currant buns.",
]


def slopes() -> np.ndarray:
    return -np.linspace(0.2, 1.6, LAYERS * HEADS).reshape(LAYERS, HEADS)


def readings(count: int = 40, *, lift: float = 3.0, yes: float = 0.3, seed: int = 7) -> list[Reading]:
    """Attention that falls steeply with depth, differently in each head; one head sees what answers."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        depths = np.cumsum(rng.integers(60, 120, NODES)) - 30.0
        is_gold = rng.permutation(NODES) < 2
        attention = 0.01 * (depths[:, None, None] / 100) ** slopes() * rng.lognormal(0, 0.4, (NODES, LAYERS, HEADS))
        attention[is_gold, GOOD[0], GOOD[1]] *= lift
        gold, others, but_one, among_all = rng.uniform(0, 0.5, 4)
        made.append(Reading(attention, depths, is_gold, Verdicts(gold + yes, others, but_one, among_all + yes)))
    return made


@pytest.fixture(scope="module")
def fitted():
    return fit(readings(), heads=1, seed=0)


def calibration(**changes) -> HeadCalibration:
    given = {
        "model": "tiny",
        "fingerprint": "0123456789ab",
        "layers": LAYERS,
        "heads_per_layer": HEADS,
        "yes_threshold": 0.75,
        "attention_weight": 0.5,
        "measured": {},
        "made": Origin(data=("a",), questions=10, asked=10, candidates=12, cut_tokens=128, seed=0, date="2026-11-01"),
        "heads": (Head(layer=1, head=2, level=0.01, slope=-0.8), Head(layer=0, head=0, level=0.02, slope=0.0)),
    }
    return HeadCalibration(**(given | changes))


# ── what is found ────────────────────────────────────────────────────────────────────────────────────────────


def test_fit_finds_planted_head_and_slope(fitted) -> None:
    (head,) = fitted.heads
    assert (head.layer, head.head) == GOOD
    assert head.slope == pytest.approx(slopes()[GOOD], abs=0.1)


def test_chosen_heads_rank_better_than_mean(fitted) -> None:
    assert fitted.measured["attention_auc"].mean > 0.9
    assert fitted.measured["attention_recall"].mean > 0.9
    assert fitted.measured["plain_auc"].mean < 0.7
    assert fitted.measured["auc_gain"].low > 0
    for name, measure in fitted.measured.items():
        assert measure.low <= measure.mean <= measure.high, name


def test_calibration_measures_quality_on_held_out_questions() -> None:
    """With noise, the best of many heads looks good on the questions that chose it, and nowhere else."""
    auc = fit(readings(lift=1.0), heads=1, seed=0).measured["attention_auc"]
    assert auc.low < 0.5 < auc.high + 0.05
    assert max(0.0, 2 * auc.low - 1) == 0


def test_fit_skips_head_without_attention() -> None:
    blind = readings()
    for reading in blind:
        reading.attention[3:, GOOD[0], GOOD[1]] = 0  # a sliding window
    chosen = fit(blind, heads=LAYERS * HEADS, seed=0).heads
    assert len(chosen) == LAYERS * HEADS - 1
    assert GOOD not in {(head.layer, head.head) for head in chosen}


def test_threshold_separates_enough_from_too_little() -> None:
    clear = [replace(reading, p_yes=Verdicts(0.8, 0.6, 0.9, 0.1)) for reading in readings()]
    fitted = fit(clear, heads=1, seed=0)
    assert 0.6 < fitted.yes_threshold < 0.8
    assert fitted.measured["yes_auc"].mean == 1
    assert fitted.measured["yes_accuracy"].mean == 1
    assert fitted.measured["yes_auc_but_one"].mean == 0
    assert fitted.measured["yes_auc_among_all"].mean == 0


@table("yes", [0.0, -0.2])
def test_random_yes_keeps_threshold_of_paper(yes: float) -> None:
    fitted = fit(readings(yes=yes), heads=1, seed=0)
    assert fitted.yes_threshold == 0.5
    assert fitted.measured["yes_auc"].low <= 0.5


def test_questions_with_cut_answers_have_no_verdicts() -> None:
    some = readings()
    cut = [replace(reading, p_yes=None) for reading in readings(20, seed=8)]
    assert fit([*some, *cut], heads=1, seed=0).measured["yes_auc"].mean > 0.5
    with pytest.raises(ModelError, match="larger --cut"):
        fit([*some[:9], *cut], heads=1, seed=0)


def test_too_few_questions_are_refused() -> None:
    with pytest.raises(ModelError, match="at least 10 labelled questions, got 9"):
        fit(readings(9), heads=1, seed=0)


def test_calibration_without_attention_is_refused() -> None:
    blind = [replace(reading, attention=np.zeros_like(reading.attention)) for reading in readings(10)]
    with pytest.raises(ModelError, match="cannot be calibrated"):
        fit(blind, heads=1, seed=0)


def test_equal_readings_give_equal_results(fitted) -> None:
    assert fit(readings(), heads=1, seed=0) == fitted


# ── in use ───────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.floats(1, 8000), min_size=1, max_size=5))
def test_node_with_usual_attention_scores_one(depths: list[float]) -> None:
    at = np.array(depths)
    usual = np.zeros((len(at), LAYERS, HEADS))
    usual[:, 1, 2] = 0.01 * (at / 100) ** -0.8
    usual[:, 0, 0] = 0.02
    np.testing.assert_allclose(calibration().relative_attention(usual, at), 1, rtol=1e-5)
    np.testing.assert_allclose(calibration().relative_attention(3 * usual, at), 3, rtol=1e-5)


def test_heads_of_another_model_are_refused() -> None:
    with pytest.raises(ModelError, match="3 x 4 heads, for which tiny was calibrated, got 2 x 4"):
        calibration().relative_attention(np.ones((1, 2, HEADS)), np.array([10.0]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_checkpoint("qwen2", tmp_path_factory.mktemp("qwen2"))


@pytest.fixture(scope="module")
def tiny(folder: Path) -> TransformersModel:
    return TransformersModel(folder, name="tiny", dtype="float32", device="cpu")


@pytest.mark.parametrize("passes", [[3], [1, 1, 1], [2, 1]])
def test_a_session_uses_the_calibration(tiny, folder, passes) -> None:
    known = TransformersModel(folder, dtype="float32", device="cpu", calibration=calibration())
    with tiny.open_session(QUESTION) as plain, known.open_session(QUESTION) as session:
        assert (plain.calibration, session.calibration) == (None, calibration())
        assert session.append([]).shape == (0,)
        rest, read, expected = list(TEXTS), [], []
        for count in passes:
            expected += [plain.read_by_head(rest[:count])]
            read += session.append(rest[:count]).tolist()
            assert session.probability_of_yes() == pytest.approx(plain.probability_of_yes(), rel=1e-5)
            rest = rest[count:]
    by_head, depths = (np.concatenate(parts) for parts in zip(*expected, strict=True))
    np.testing.assert_allclose(read, calibration().relative_attention(by_head, depths), rtol=1e-4)


def test_reading_by_head_reads_the_same_tokens(tiny) -> None:
    with tiny.open_session(QUESTION) as session, tiny.open_session(QUESTION) as other:
        by_head, depths = session.read_by_head(TEXTS)
        np.testing.assert_allclose(by_head.mean(axis=(1, 2)), other.append(TEXTS), rtol=1e-5)
        assert session.tokens_left == other.tokens_left
        lengths = [len(tiny.tokens.nodes([text])[0]) for text in TEXTS]
        assert np.diff(depths) == pytest.approx([(a + b) / 2 for a, b in pairwise(lengths)], abs=2)
        assert 0 < depths[0] - lengths[0] / 2 < 40


def test_a_model_is_calibrated_from_questions(tiny, tmp_path) -> None:
    asked = [LabelledQuestion(f"{QUESTION} {number}", (TEXTS[1],), (TEXTS[0], TEXTS[2]), True) for number in range(10)]
    reports: list[tuple[str, int, int]] = []
    plan = Plan(heads=5, candidates=3)
    made = calibrate(
        tiny, asked, plan, fingerprint="0123456789ab", data=["rabbits"], progress=lambda *now: reports.append(now)
    )
    assert (made.model, made.layers, made.heads_per_layer, len(made.heads)) == ("tiny", 3, 4, 5)
    assert (made.made.questions, made.made.asked, made.made.data) == (10, 10, ("rabbits",))
    assert reports[-1] == ("reading questions", 10, 10)
    write_calibration(made, tmp_path / "a" / "b.json")
    assert read_calibration(tmp_path / "a" / "b.json", HeadCalibration, fingerprint="0123456789ab") == made
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.json"]


# ── labelled questions ───────────────────────────────────────────────────────────────────────────────────────


def labelled_set(*, questions: int = 4, documents: int = 12) -> LabelledSet:
    texts = {f"d{n}": f"Title {n}: " + f"word{n} " * (n + 1) for n in range(documents)}
    return LabelledSet("words", texts, [(f"What is word{n}?", (f"d{n}", "d0")) for n in range(1, questions + 1)])


def no_cut(text: str) -> tuple[str, bool]:
    return text, True


def test_question_has_answering_texts_and_nearest_others() -> None:
    labelled = labelled_set()
    embedder = FakeEmbedder()
    chosen = choose_questions(labelled, Plan(candidates=6), no_cut, embedder)
    assert {question.text for question in chosen} == {f"What is word{n}?" for n in range(1, 5)}
    for question in chosen:
        assert question.gold[1] == "Title 0: word0 "
        assert len(question.others) == 4
        assert not set(question.gold) & set(question.others)
        every = {
            text: float(embedder.embed([question.text])[0] @ embedder.embed([text])[0])
            for text in labelled.documents.values()
        }
        assert min(every[text] for text in question.others) >= max(
            every[text] for text in every.keys() - {*question.others, *question.gold}
        )
    assert choose_questions(labelled, Plan(candidates=6), no_cut, embedder) == chosen


def test_questions_with_whole_answers_come_first() -> None:
    labelled = labelled_set(questions=8)

    def cut(text: str) -> tuple[str, bool]:
        return text[:40], len(text) <= 40

    reports: list[tuple[str, int, int]] = []
    chosen = choose_questions(
        labelled, Plan(limit=5, candidates=6), cut, FakeEmbedder(), progress=lambda *now: reports.append(now)
    )
    assert [question.is_whole for question in chosen] == [True, True, True, True, False]
    assert all(len(text) <= 40 for question in chosen for text in (*question.gold, *question.others))
    assert reports == [("embedding words", 12, 12)]


def test_texts_are_cut_at_tokens(tiny) -> None:
    cut = make_cutter(tiny, 4)
    assert cut("Peter") == ("Peter", True) or not cut("Peter")[1]
    text, is_whole = cut(TEXTS[0])
    assert not is_whole
    assert TEXTS[0].startswith(text)
    assert tiny.count_tokens([text]) == [4]


def test_too_few_documents_are_refused() -> None:
    labelled = labelled_set(documents=5)
    with pytest.raises(DocumentError, match="at least 12 documents"):
        choose_questions(labelled, Plan(), no_cut, FakeEmbedder())


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "Invalid JSON"),
        ("{}", "model: Field required"),
        (
            calibration().model_dump_json().replace('"version":1', '"version":2'),
            "version 1 in .*, got another .version",
        ),
        (calibration().model_dump_json().replace('"yes_threshold":0.75', '"yes_threshold":75'), "yes_threshold"),
        (calibration(fingerprint="ba9876543210").model_dump_json(), "of the model 0123456789ab .* got one of ba98"),
    ],
)
def test_unfitting_calibration_file_is_refused_with_advice(tmp_path, text: str, expected: str) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ModelError, match=expected) as refused:
        read_calibration(path, HeadCalibration, fingerprint="0123456789ab")
    assert "memgraph-rag calibrate" in str(refused.value)


def test_missing_or_unwritable_calibration_file_is_refused(tmp_path) -> None:
    with pytest.raises(ModelError, match="Expected a calibration in"):
        read_calibration(tmp_path / "none.json", HeadCalibration, fingerprint="")
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="a file that can be written"):
        write_calibration(calibration(), tmp_path / "file" / "calibration.json")


def test_calibration_is_found_in_three_places(folder, tmp_path, monkeypatch) -> None:
    weights = tmp_path / "weights"
    weights.mkdir()
    for path in folder.iterdir():
        (weights / path.name).symlink_to(path)
    name, place = "owner/tiny", str(weights)
    known = fingerprint(name, place)

    def find(choice: str = "auto"):
        return find_calibration(name, place, cache_dir=tmp_path / "cache", choice=choice)

    assert find() is None
    made = calibration_path(name, place, cache_dir=tmp_path / "cache")
    assert made.name == f"owner--tiny-{known}.json"
    write_calibration(calibration(fingerprint=known), made)
    assert find() == (calibration(fingerprint=known), made)
    beside = weights / "calibration.json"
    write_calibration(calibration(fingerprint=known, yes_threshold=0.9), beside)
    assert find() == (calibration(fingerprint=known, yes_threshold=0.9), beside)
    assert find("none") is None
    assert find(str(made)) == (calibration(fingerprint=known), made)
    write_calibration(calibration(), beside)
    with pytest.raises(ModelError, match=f"of the model {known}"):
        find()
    with pytest.raises(ModelError, match="Expected a calibration in"):
        find(str(tmp_path / "none.json"))


UNPACKED = f"/models/{CATALOGUE[SMALL].key}"


def turn_calibration(**changes: str) -> TurnCalibration:
    given = {"model": SMALL, "fingerprint": fingerprint(SMALL, UNPACKED), **changes}
    made = TurnOrigin(data=("ann",), turns=9, date="2026-11-27")
    return TurnCalibration(**given, layers=2, weights=(0.5, -0.25), bias=0.125, made=made)


def test_calibration_of_turns_is_found_for_packaged_weights(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(catalogue, "_SHIPPED", tmp_path)
    assert find_turn_calibration(SMALL, UNPACKED) is None
    path = tmp_path / f"{SMALL}.turns.json"
    path.write_text(turn_calibration().model_dump_json(), "utf-8")
    assert find_turn_calibration(SMALL, UNPACKED) == turn_calibration()
    assert find_turn_calibration(SMALL, UNPACKED, choice="none") is None
    (tmp_path / "tiny.turns.json").write_text(turn_calibration().model_dump_json(), "utf-8")
    assert find_turn_calibration("tiny", "") is None
    assert find_turn_calibration(SMALL, f"/mine/{SMALL}") is None
    path.write_text(turn_calibration(fingerprint="0" * 12).model_dump_json(), "utf-8")
    with pytest.raises(ModelError, match="Expected a calibration of the model"):
        find_turn_calibration(SMALL, UNPACKED)


def test_calibration_of_turns_is_a_logistic_of_states() -> None:
    states = torch.tensor([[1.0, 2.0], [3.0, 0.0]])
    assert turn_calibration().probabilities(states).tolist() == pytest.approx([1 / (1 + np.exp(-0.125)),
                                                                               1 / (1 + np.exp(-1.625))])  # fmt: skip


def test_fingerprint_depends_on_weights(folder, tmp_path, monkeypatch) -> None:
    other = write_checkpoint("llama", tmp_path)
    assert len({fingerprint("tiny", str(folder)), fingerprint("tiny", str(other))}) == 2
    assert fingerprint("tiny", str(folder)) == fingerprint("other name", str(folder))
    assert fingerprint(SMALL, UNPACKED) == CATALOGUE[SMALL].sha256[:12]
    assert fingerprint(SMALL, str(folder)) == fingerprint("tiny", str(folder))
    assert fingerprint("owner/not-here", "owner/not-here") == "0" * 12


@pytest.mark.parametrize("name", CATALOGUE)
def test_packaged_models_have_calibrations(name: str, tmp_path) -> None:
    calibration_and_path = find_calibration(name, str(tmp_path / CATALOGUE[name].key), cache_dir=tmp_path)
    assert calibration_and_path is not None
    calibration, path = calibration_and_path
    assert path.parent == catalogue._SHIPPED
    assert calibration.model == name
    assert calibration.made.data == ("musique_tune", "hotpotqa_tune")


def test_a_memory_gives_its_model_the_calibration(monkeypatch, tmp_path) -> None:
    from memgraph_rag import Memory

    small = "qwen2.5-coder-0.5b-instruct"
    for choice, is_known in (("auto", True), ("none", False)):
        options = {"model": small, "embedder": FakeEmbedder(), "calibration": choice}
        with Memory(tmp_path / f"{choice}.lbug", **options) as memory:
            assert memory.settings.cache_dir == Settings.load().cache_dir
            assert (memory.language_model.calibration is not None) == is_known  # type: ignore[attr-defined]
