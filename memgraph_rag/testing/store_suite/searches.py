"""Tests of searches by vector and by keywords."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.testing.sample_graphs import MakeStore, make_graph, random_units, unit
from memgraph_rag.types import make_id


def test_small_namespace_returns_k_hits(make_store: MakeStore) -> None:
    crowd, small = make_store(), make_store()
    near = np.tile(unit(1), (1500, 1)) + random_units(1500) * 0.01
    crowd.write(make_graph(crowd.namespace, texts=tuple(f"rabbit {i}." for i in range(1500)), embeddings=near))
    texts = tuple(f"The rabbit number {i} ran, and then ran on and on and on." for i in range(30))
    graph = make_graph(small.namespace, texts=texts)
    small.write(graph)

    nearest, matching = small.find_nearest(unit(1), k=10), small.find_matching("rabbit", k=10)

    cosines = graph.segment_embeddings @ unit(1)
    best = sorted(range(30), key=lambda place: -cosines[place])[:10]
    assert [hit.node_id for hit in nearest] == [graph.segments[place].id for place in best]
    assert np.allclose([hit.score for hit in nearest], cosines[best], atol=1e-6)
    assert len(matching) == 10
    assert {hit.node_id for hit in matching} <= {segment.id for segment in graph.segments}


def test_nearest_returns_exact_cosines(store: GraphStore) -> None:
    graph = make_graph(store.namespace, texts=tuple(f"text {i}" for i in range(400)))
    store.write(graph)

    for query in random_units(5, seed=9):
        cosines = graph.segment_embeddings @ query
        best = sorted(range(400), key=lambda place: -cosines[place])[:12]
        hits = store.find_nearest(query, k=12)
        assert [hit.node_id for hit in hits] == [graph.segments[place].id for place in best]
        assert np.allclose([hit.score for hit in hits], cosines[best], atol=1e-6)


def test_equal_scores_sort_by_id(store: GraphStore) -> None:
    texts = tuple("the same rabbit" for _ in range(150))
    graph = make_graph(store.namespace, texts=texts, embeddings=np.tile(unit(1, 1), (150, 1)))
    store.write(graph)
    ids = sorted(segment.id for segment in graph.segments)

    assert [hit.node_id for hit in store.find_nearest(unit(1), k=7)] == ids[:7]
    assert [hit.node_id for hit in store.find_matching("rabbit", k=7)] == ids[:7]
    assert [hit.node_id for hit in store.find_nearest(unit(1), k=7, documents=[graph.document.id])] == ids[:7]
    assert [hit.node_id for hit in store.find_matching("rabbit", k=7, documents=[graph.document.id])] == ids[:7]


def test_nearest_within_documents(store: GraphStore) -> None:
    graphs = [make_graph(store.namespace, key, seed=seed) for seed, key in enumerate("abc")]
    for graph in graphs:
        store.write(graph)
    wanted = [graph.document.id for graph in graphs[:2]]

    hits = store.find_nearest(unit(1), k=5, documents=wanted)

    pairs = [(float(row @ unit(1)), segment.id) for graph in graphs[:2]
             for row, segment in zip(graph.segment_embeddings, graph.segments, strict=True)]  # fmt: skip
    assert [hit.node_id for hit in hits] == [node_id for _, node_id in sorted(pairs, reverse=True)[:5]]
    assert store.find_nearest(unit(1), k=5, documents=[]) == []


def test_similarities_are_exact_over_segments_and_points(store: GraphStore) -> None:
    graph = make_graph(store.namespace, levels=(2, 1))
    store.write(graph)
    store.write(make_graph(store.namespace, "other"))
    query = unit(0.3, -0.5, 0.8)

    hits = store.similarities(query, documents=[graph.document.id])

    vectors = [*graph.segment_embeddings, *graph.point_embeddings]
    expected = {
        node.id: float(row @ query) for node, row in zip((*graph.segments, *graph.points), vectors, strict=True)
    }
    assert {hit.node_id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-6)
    assert {hit.node_id for hit in hits if hit.kind == "point"} == {node.id for node in graph.points}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert store.similarities(query, documents=[]) == []


LIBRARY = (
    "Elizabeth refuses Mr. Collins at Hunsford.",
    "Darcy's letter doesn't excuse Wickham.",
    "The price was £1,000 on 3.14, in the U.S. navy.",
    "東京 へ 行く naïve Ærø",
)


MATCHES: list[tuple[str, list[int]]] = [
    ("Why does ELIZABETH refuse?", [0]),
    ("collins", [0]),
    ("Darcy's", [1]),
    ("darcy’s LETTER", [1]),
    ("Wickham -excuse", [1]),
    ("1,000", [2]),
    ("3.14", [2]),
    ("U.S.", [2]),
    ("京", [3]),
    ("NAÏVE", [3]),
    ("unicorn", []),
    ("unicorn wickham", [1]),
    ("why is the of and", []),
    ("", []),
    ("  \n\t ", []),
    ('"*?~^:/\\(){}[]&&||!', []),
    ("text:wickham OR *", [1]),
    ("wick*", []),
    ("\x00 \ud800", []),
    ("wickham " * 3000 + " ".join(f"w{i}" for i in range(3000)), [1]),
]
"""What is asked for, and the segments that hold it."""


def test_keywords_are_plain_words(library: GraphStore) -> None:
    for query, expected in MATCHES:
        hits = library.find_matching(query, k=9)

        expected_ids = [make_id(library.namespace, "segment", "books", i) for i in expected]
        assert [hit.node_id for hit in hits] == expected_ids, query[:99]
        assert all(hit.score > 0 for hit in hits), query[:99]


@pytest.fixture
def library(store: GraphStore) -> GraphStore:
    """A store with one document, whose segments are the texts for keyword searches."""
    store.write(make_graph(store.namespace, "books", LIBRARY))
    return store


def test_a_rarer_word_weighs_more(store: GraphStore) -> None:
    texts = ("a rabbit and a hatter", "a rabbit and a queen", "a rabbit and a duchess", "a teapot and a hatter")
    graph = make_graph(store.namespace, texts=texts)
    store.write(graph)

    assert [hit.node_id for hit in store.find_matching("rabbit hatter", k=2)] == [
        graph.segments[0].id,
        graph.segments[3].id,
    ]


def test_keywords_match_title(store: GraphStore) -> None:
    wonder = make_graph(store.namespace, "a", ("She fell.",), title="Wonderland")
    store.write(wonder)
    store.write(make_graph(store.namespace, "b", ("He rose.",), title="Elsewhere"))

    assert [hit.node_id for hit in store.find_matching("wonderland", k=5)] == [wonder.segments[0].id]


def test_a_word_of_the_title_weighs_more_than_one_of_the_text(store: GraphStore) -> None:
    text = make_graph(store.namespace, "a", ("A rabbit ran.",), title="Meadow")
    title = make_graph(store.namespace, "b", ("A meadow lay.",), title="Rabbit")
    store.write_many([text, title])

    assert [hit.node_id for hit in store.find_matching("rabbit", k=5)] == [title.segments[0].id, text.segments[0].id]
    assert [hit.node_id for hit in store.find_matching("meadow", k=5)] == [text.segments[0].id, title.segments[0].id]


def test_a_day_matches_in_whatever_form(store: GraphStore) -> None:
    forms = ("2026-08-27", "on 27 August 2026", "Aug. 27th, 2026", "27.8.2026", "8/27/2026", "am 27. August 2026")
    others = ("2026-08-28", "27 July 2026", "August 2027", "27 of 2026", "Nothing of it.")
    graph = make_graph(store.namespace, texts=tuple(f"Paid {day} at the shop." for day in (*forms, *others)))
    store.write(graph)
    ids = [segment.id for segment in graph.segments]

    for asked in ("27 August 2026", "Aug 27, 2026", "2026-08-27", "27.8.2026"):
        assert {*ids[: len(forms)]} <= {hit.node_id for hit in store.find_matching(asked, k=20)}, asked
    hits = store.find_matching("27.8.2026", k=20, documents=[graph.document.id])
    assert {hit.node_id for hit in hits} == {*ids[: len(forms)]}


def test_word_matches_forms_of_its_stem(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    graph = make_graph(store.namespace, texts=("A happy marriage.", "They married.", "Nothing of it."))
    store.write(graph)
    other.write(make_graph(other.namespace, texts=("Many marriages.",)))
    ids = [segment.id for segment in graph.segments]
    documents = [graph.document.id]

    assert [hit.node_id for hit in store.find_matching("marriages", k=5)] == ids[:1]
    assert [hit.node_id for hit in store.find_matching("Marriages", k=5, documents=documents)] == ids[:1]
    assert [hit.node_id for hit in store.find_matching("marry", k=5)] == ids[1:2]
    assert store.find_matching("marriages", k=5, documents=[]) == []
    store.forget(graph.document.id)
    assert store.find_matching("marriages", k=5) == []


LANGUAGES = {
    "en": (("The keepers lit their lamps.", "The storm broke a window."), "a lamp keeper", {0}),
    "de": (("Die Häuser am Hafen gehören den Fischern.", "Der Sturm zerbrach das Fenster."), "Haus", {0}),
    "es": (("Las ciudades del norte cierran sus puertas.", "El viento rompió la ventana."), "puerta", {0}),
    "ru": (("Рыбаки чинили сети на берегу.", "Буря разбила окна."), "окно рыбака", {0, 1}),
    "el": (("Οι φαροφύλακες άναψαν τις λάμπες.", "Η θύελλα έσπασε τα παράθυρα."), "παράθυρο", {1}),
    "tr": (("Balıkçılar ağlarını onardı.", "Fırtına pencereleri kırdı."), "pencereyi", {1}),
    "ar": (("سُجلت الأهداف في المباراة الأخيرة.", "كسرت العاصفة النوافذ."), "أهداف", {0}),
    "hi": (("पैंथर्स डिफ़ेंस ने केवल तीन सौ अंक दिए।", "तूफ़ान से खिड़की टूट गई।"), "खिड़कियाँ", {1}),
    "th": (("ทีมรับของแพนเทอร์เสียไปเพียงสามร้อยแต้ม", "พายุพัดหน้าต่างแตก"), "หน้าต่าง", {1}),
    "zh": (("黑豹队的防守只丢了三百分。", "暴风雨打破了窗户。"), "窗", {1}),
    "ja": (("灯台守はランプに火をつけた。", "嵐が窓を壊した。"), "ランプ", {0}),
}
"""For each language two texts, a query whose words have another form in them, and the places of the texts it finds."""


def test_word_matches_in_its_language(make_store: MakeStore) -> None:
    wrong = {}
    for language, (texts, query, places) in LANGUAGES.items():
        store = make_store()
        graph = make_graph(store.namespace, texts=texts, named=False)
        graph = replace(graph, document=replace(graph.document, language=language))
        store.write(graph)
        found = {hit.node_id for hit in store.find_matching(query, k=5)}
        if found != {graph.segments[place].id for place in places} or store.documents() != [graph.document]:
            wrong[language] = found
        assert [segment.language for segment in store.list_indexed_segments(since=-1)] == [language] * 2

    assert not wrong


def test_query_is_stemmed_in_each_language_of_namespace(store: GraphStore) -> None:
    graphs = []
    for language in ("de", "es", ""):
        graph = make_graph(store.namespace, f"{language}.txt", texts=LANGUAGES[language or "en"][0], named=False)
        graphs.append(replace(graph, document=replace(graph.document, language=language)))
    store.write_many(graphs)

    for graph, query in zip(graphs, ("Haus", "puerta", "window keeper"), strict=True):
        assert {hit.node_id for hit in store.find_matching(query, k=5)} <= {segment.id for segment in graph.segments}, (
            query
        )
        assert store.find_matching(query, k=5), query
    store.forget(graphs[0].document.id)
    assert store.find_matching("Haus", k=5) == []


def test_keywords_within_documents(store: GraphStore) -> None:
    graphs = [make_graph(store.namespace, key) for key in "abc"]
    for graph in graphs:
        store.write(graph)

    hits = store.find_matching("rabbit", k=9, documents=[graphs[2].document.id, graphs[0].document.id])

    assert {hit.node_id for hit in hits} == {graphs[0].segments[1].id, graphs[2].segments[1].id}
    assert store.find_matching("rabbit", k=9, documents=[]) == []


def test_keywords_follow_each_write(make_store: MakeStore) -> None:
    store = make_store()
    other = make_store(store.namespace)
    assert store.find_matching("rabbit", k=1) == []
    graph = make_graph(store.namespace)

    other.write(graph)
    assert [hit.node_id for hit in store.find_matching("rabbit", k=1)] == [graph.segments[1].id]
    other.write(make_graph(store.namespace, texts=("A hare.",)))
    assert store.find_matching("rabbit", k=1) == []
    assert len(store.find_matching("hare", k=1)) == 1
    other.forget(graph.document.id)
    assert store.find_matching("hare", k=1) == []
