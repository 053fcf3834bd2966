"""Test graph search: its results, their reasons, and that the order depends on the question alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memories import RACES
from plain_pagerank import personalised_pagerank
from tables import table

from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.lexical.names import normalise
from memgraph_rag.search.graph import GraphSearch, SegmentMatch
from memgraph_rag.search.index import NamespaceIndex
from memgraph_rag.testing import FakeEmbedder, FakeRecognizer
from memgraph_rag.types import Extent, IndexedSegment, Matrix, make_id

EMBEDDER = FakeEmbedder(dimension=256)
RECOGNIZER = FakeRecognizer()


class Shelf:
    """The part of a graph reader that an index reads, over documents that may change."""

    namespace = "tests"

    def __init__(self) -> None:
        self.written: dict[str, tuple[int, list[IndexedSegment]]] = {}
        self.writes = 0
        self.rows_read = 0

    def put(self, document: str, texts: Sequence[str], *, title: str = "", speakers: Sequence[str] = ()) -> None:
        self.writes += 1
        segments = []
        for index, text in enumerate(texts):
            (named,) = RECOGNIZER.recognize([text])
            segments.append(
                IndexedSegment(
                    id=f"{document}-{index}",
                    document_id=document,
                    index=index,
                    title=title,
                    text=text,
                    speaker=speakers[index] if speakers else "",
                    time=f"2024-05-{index + 1:02}T10:00:00+00:00",
                    embedding=EMBEDDER.embed([text])[0],
                    entities=entity_ids(text[name.start : name.end] for name in named),
                    titles=entity_ids([title]) if title else (),
                )
            )
        self.written[document] = (self.writes, segments)

    def take(self, document: str) -> None:
        self.writes += 1
        del self.written[document]

    def version(self) -> int:
        return self.writes

    def keep_index(self, *_: object, **__: object) -> None:
        """Keep none."""

    def list_indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        segments = [segment for version, rows in self.written.values() if version > since for segment in rows]
        self.rows_read += len(segments)
        return sorted(segments, key=lambda segment: (segment.document_id, segment.index))

    def find_kept_index(self) -> None:
        return None

    def count_documents(self) -> int:
        return len(self.written)

    def document_ids(self) -> list[str]:
        return sorted(self.written)

    def statistics(self) -> dict[str, int]:
        return {"Segment": sum(len(rows) for _, rows in self.written.values())}


def entity_ids(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({make_id("tests", "entity", normalise(name)) for name in names}))


def search_of(shelf: Shelf, **limits: int) -> GraphSearch:
    index = NamespaceIndex(shelf, dimension=256, **limits)  # pyright: ignore[reportArgumentType]
    return GraphSearch(index, namespace="tests", embedder=EMBEDDER)


def find(search: GraphSearch, question: str, *, k: int = 10, **limits: object) -> list[SegmentMatch]:
    search.index.refresh()
    return search.find(question, search.index.view(Extent(**limits)), k=k)  # pyright: ignore[reportArgumentType]


def films() -> Shelf:
    """A film, its director, whom another text describes without the film's name, and unrelated texts."""
    shelf = Shelf()
    shelf.put("film", ["Red Harbour is a silent film by Otto Brandt about sailors."], title="Red Harbour")
    shelf.put("director", ["Otto Brandt grew up in Lund, where his mother taught."], title="Otto Brandt")
    for number in range(30):
        shelf.put(f"other{number}", [f"Tale {number} tells how Nobody{number} slept."], title=f"T{number}")
    return shelf


# ── what is found ────────────────────────────────────────────────────────────────────────────────────────


def test_walk_reaches_answer_over_shared_name() -> None:
    hits = find(search_of(films()), "Where did the mother of the maker of Red Harbour teach?")
    assert {hit.id for hit in hits[:2]} == {"film-0", "director-0"}
    film, director = sorted(hits[:2], key=lambda hit: hit.id, reverse=True)
    (title, *_) = film.carried
    assert (title.entity, title.named) == (make_id("tests", "entity", "red harbour"), True)
    (by, *_) = director.carried
    assert (by.entity, by.named) == (make_id("tests", "entity", "otto brandt"), False)
    assert by.source == "film-0"
    assert 0 < by.share <= 1
    assert film.ranks["graph"] == 1


def test_meaning_decides_if_few_words_of_the_question_are_known() -> None:
    """The texts are in another language than the question: the one word that they share names an unrelated text."""

    class Translating(FakeEmbedder):
        def embed_queries(self, texts: Sequence[str]) -> Matrix:
            assert all("Matrosen" in text for text in texts)
            return self.embed(["Who made a silent film about sailors?"])

    shelf = films()
    shelf.put("tram", ["Line 1906 begins at the station.", "Tickets of line 1906 are green."], title="1906")
    index = NamespaceIndex(shelf, dimension=256)  # pyright: ignore[reportArgumentType]
    search = GraphSearch(index, namespace="tests", embedder=Translating(dimension=256))

    assert find(search, "Wer drehte 1906 einen Stummfilm, worin Matrosen vorkommen?")[0].id == "film-0"


def test_query_without_accents_finds_text_with_them() -> None:
    shelf = films()
    shelf.put("ballet", ["A ballet by Strauß."], title="Aschenbrödel")
    assert find(search_of(shelf), "Who wrote the ballet aschenbrodel?")[0].id == "ballet-0"


@table("question", ["Where is Fledhusen?", "where is fledhusen?"])
def test_a_misspelt_name_finds_the_nearest_that_is_known(question: str) -> None:
    def with_its_words(**limits: object) -> list[str]:
        return [hit.id for hit in find(search_of(shelf), question, **limits) if "keywords" in hit.ranks]

    shelf = films()
    shelf.put("town", ["Fledhusum is a village by the sea."])
    assert with_its_words() == ["town-0"]
    shelf.put("other", ["Fledhusen is another village."])
    assert with_its_words() == ["other-0"]  # what is known is meant
    assert with_its_words(documents=["town", "film"]) == ["town-0"]  # as if there were no others


def test_a_day_is_found_in_whatever_form() -> None:
    shelf = films()
    for day in range(20, 30):
        shelf.put(f"day{day}", [f"2026-08-{day}, paid at the shop"])
    for asked in ("What happened on 27 August 2026?", "what was on Aug 27?", "Was war am 27.8.2026?", "8/27/2026"):
        assert find(search_of(shelf), asked)[0].id == "day27-0"


def test_turn_of_the_speaker_asked_for_comes_first() -> None:
    shelf = Shelf()
    said = ["Ann: The fox came at noon.", "Tom: The fox came at dusk.", "Ann: Did it?", "Tom: It did.", "Ann: Oh."]
    shelf.put("talk", said, speakers=["Ann", "Tom", "Ann", "Tom", "Ann"])
    search = search_of(shelf)
    assert find(search, "When did Tom say that the fox came?")[0].id == "talk-1"
    assert find(search, "When did Ann say that the fox came?")[0].id == "talk-0"
    assert search.index.is_talk(search.index.view())
    assert search.index.said.lengths.tolist() == [3, 3, 0, 0, 1], "without the speaker, without stop words"
    assert search.index.said.asks.tolist() == [False, False, True, False, False]
    assert not search.index.said.with_machine.any()
    shelf.put("note", ["The fox sleeps."])
    search.index.refresh()
    assert not search.index.is_talk(search.index.view())


def chat() -> Shelf:
    """A user's short messages between long answers, which repeat them in several segments."""
    shelf = Shelf()
    texts: list[str] = []
    speakers: list[str] = []
    for number, (mine, trap) in enumerate([("I counted nine foxes", "a cage"), ("I sold two hens", "a wire fence")]):
        texts.append(f"user (2024-05-0{number + 1}T10:00): {mine} today.")
        texts += [f"assistant (2024-05-0{number + 1}T10:00): {mine}, you say: build {trap}."]
        texts += [f"Then {mine.lower()} again, part {part} of the answer." for part in range(4)]
        speakers += ["user", *["assistant"] * 5]
    shelf.put("chat", texts, speakers=speakers)
    return shelf


@table(
    ("question", "first"),
    [("How many foxes have I counted?", "chat-0"), ("Which cage did you suggest for my foxes?", "chat-1")],
)
def test_chat_with_machine_answers_from_the_side_asked_for(question: str, first: str) -> None:
    assert find(search_of(chat()), question)[0].id == first


def test_long_turn_takes_one_place() -> None:
    search = search_of(chat())
    hits = find(search, "How many foxes have I counted?", k=12)
    turn_of = dict(zip(search.index.view().ids, search.index.said.turns.tolist(), strict=True))
    assert len({turn_of[hit.id] for hit in hits[:4]}) == 4, "each of the four turns once"
    assert len({hit.id for hit in hits}) == 12, "then the rest of them"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert sum(hit.score for hit in hits) == pytest.approx(1)
    assert hits[:4] == find(search, "How many foxes have I counted?", k=4)
    assert [hit.ranks["turns"] for hit in hits] == list(range(1, 13))


MINE, FILM = "How many foxes have I counted?", "Is Red Harbour a silent film by Otto Brandt?"


def chat_beside_films() -> Shelf:
    shelf, talk = films(), chat()
    shelf.writes += 1
    shelf.written["chat"] = (shelf.writes, talk.written["chat"][1])
    return shelf


@table("question", [MINE, FILM, "x"])
def test_chats_and_texts_keep_their_own_orders(question: str) -> None:
    shelf = chat_beside_films()
    search = search_of(shelf)
    together = [match.id for match in find(search, question, k=100)]
    assert len(together) == len(set(together)) == len(search.index)
    for documents in (["chat"], sorted(shelf.written.keys() - {"chat"})):
        alone = [match.id for match in find(search, question, k=100, documents=documents)]
        assert [match for match in together if match in set(alone)] == alone
    assert together[:3] == [match.id for match in find(search, question, k=3)]


def test_nearest_segment_is_first_among_chats_and_texts() -> None:
    search = search_of(chat_beside_films())
    assert find(search, MINE)[0].id == "chat-0"
    assert find(search, FILM)[0].id == "film-0"


def test_copies_of_vectors_count_in_memory_use() -> None:
    search = search_of(shelf := chat_beside_films())
    before = find(search, MINE) and search.index.nbytes
    shelf.put("later", ["user: I counted one more fox."], speakers=["user"])  # behind the other kind
    said = find(search, MINE) and search.index.kinds(search.index.view())[0]
    assert search.index.nbytes > before + said.embeddings.nbytes


def test_scores_are_decreasing_shares() -> None:
    hits = find(search_of(films()), "Where did the mother of the maker of Red Harbour teach?", k=32)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) == pytest.approx(1)


def test_frequent_entity_does_not_dominate() -> None:
    shelf = Shelf()
    for number in range(40):
        shelf.put(f"d{number:02}", [f"Everyone met Kim in year {number} somewhere."])
    shelf.put("target", ["Kim met Zora at the lighthouse."])
    assert find(search_of(shelf), "What did Kim do with Zora?")[0].id == "target-0"


def test_name_within_a_longer_known_name_is_not_matched() -> None:
    shelf = films()
    shelf.put("cousin", ["A comedy of errors."], title="My Cousin from Lund")
    shelf.put("town", ["The town of Lund is old."], title="Lund")
    search = search_of(shelf)
    search.index.refresh()
    seeds = search._find_seed_columns(search.names("Who made My Cousin from Lund?"), search.index.view())
    assert search.index.select_entity_ids(seeds) == [make_id("tests", "entity", "my cousin from lund")]


def test_conversation_counts_neighbours_and_walks_no_names() -> None:
    shelf = Shelf()
    shelf.put(
        "chat",
        ["Ann: Did you go to Oslo?", "Ben: Yes, last week!", "Ann: How nice.", "Ben: Ann, it was cold."],
        speakers=["Ann", "Ben", "Ann", "Ben"],
    )
    shelf.put("noise", ["Ann: I like tea.", "Ben: So do I, Ann."], speakers=["Ann", "Ben"])
    search = search_of(shelf)
    hits = find(search, "When did Ben go to Oslo?")
    assert {hit.id for hit in hits[:2]} == {"chat-0", "chat-1"}
    assert search.index.view().incidence.nnz == 0


@table(
    "question",
    [
        "zzz qqq",
        "the of and to",
        'AND OR NOT "unbalanced (text:[a TO *] ~2 ^9 \\',
        "Где живёт Отто?",
        " ".join(f"Name{number}" for number in range(50)),
        "word " * 10_000,
    ],
)
def test_any_question_gets_an_order(question: str) -> None:
    hits = find(search_of(films()), question, k=5)
    assert len(hits) == 5
    assert all(np.isfinite(hit.score) for hit in hits)


def test_graph_search_works_on_small_memories() -> None:
    shelf = Shelf()
    assert find(search_of(shelf), "Who?") == []
    shelf.put("one", ["nothing with a name in it"])
    assert [hit.id for hit in find(search_of(shelf), "Who?")] == ["one-0"]


# ── the order ────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_order_is_independent_of_history_of_index(seed: int) -> None:
    names = ["Ada", "Bob", "Cid", "Dora", "Ede"]
    shuffled = random.Random(seed)
    texts = {
        f"d{n}": [f"{shuffled.choice(names)} saw {shuffled.choice(names)} there" for _ in range(n % 3 + 1)]
        for n in range(8)
    }
    plain = Shelf()
    for document, of_document in texts.items():
        plain.put(document, of_document, title=document.upper())
    search = search_of(lived := Shelf())
    for document in shuffled.sample([*texts, *texts], 16):  # replaced, forgotten, added again, read in between
        lived.put(document, texts[document], title=document.upper())
        if shuffled.random() < 0.3:
            find(search, "Who saw Bob?")
        if shuffled.random() < 0.3:
            lived.take(document)
            find(search, "Who saw Bob?")
    for document in texts:
        if document not in lived.written:
            lived.put(document, texts[document], title=document.upper())
    for question in ("Who saw Bob?", "What of D3?", "there"):
        expected = [(hit.id, hit.ranks) for hit in find(search_of(plain), question)]
        assert [(hit.id, hit.ranks) for hit in find(search, question)] == expected


def test_equal_segments_are_ordered_by_id() -> None:
    shelf = Shelf()
    for document in ("c", "a", "b"):
        shelf.put(document, ["Ada saw Bob."])
    assert [hit.id for hit in find(search_of(shelf), "Who saw Bob?")] == ["a-0", "b-0", "c-0"]


def test_search_of_documents_ignores_all_others() -> None:
    shelf, alone = films(), Shelf()
    kept = ["film", "director", "other3", "other7"]
    for document in kept:
        alone.written[document] = shelf.written[document]
    alone.writes = shelf.writes
    question = "Where did the mother of the maker of Red Harbour teach?"
    limited = find(search_of(shelf), question, documents=[*kept, "unknown"])
    assert [(hit.id, hit.score) for hit in limited] == [(hit.id, hit.score) for hit in find(search_of(alone), question)]


def test_times_limit_what_is_found() -> None:
    shelf = Shelf()
    shelf.put("diary", [f"Entry {number} of Ada." for number in range(6)])
    since, until = (datetime(2024, 5, day, 10, tzinfo=timezone.utc) for day in (2, 4))
    search = search_of(shelf)
    assert {hit.id for hit in find(search, "Ada", since=since, until=until)} == {"diary-1", "diary-2"}
    assert {hit.id for hit in find(search, "Ada", since=until)} == {"diary-3", "diary-4", "diary-5"}


# ── the index ────────────────────────────────────────────────────────────────────────────────────────────


def test_index_reads_only_new_segments() -> None:
    shelf = films()
    search = search_of(shelf)
    find(search, "Otto")
    assert shelf.rows_read == 32
    find(search, "Otto")
    assert shelf.rows_read == 32
    shelf.put("film", ["Red Harbour was lost."])
    shelf.take("other0")
    assert "other0-0" not in {hit.id for hit in find(search, "Tale 0", k=100)}
    assert shelf.rows_read == 33


def test_index_drops_forgotten_documents() -> None:
    shelf = films()
    search = search_of(shelf)
    find(search, "Otto")
    before = search.index.nbytes
    for number in range(30):
        shelf.take(f"other{number}")
    assert {hit.id for hit in find(search, "Otto")} == {"film-0", "director-0"}
    assert search.index.nbytes < before / 4


def test_namespace_above_the_limit_is_refused_with_advice() -> None:
    index = NamespaceIndex(films(), dimension=256, most_bytes=10_000)  # pyright: ignore[reportArgumentType]
    with pytest.raises(SearchMemoryExceeded, match="hybrid"):
        index.refresh()


def test_namespace_above_the_limit_is_refused_until_it_fits_again() -> None:
    shelf = films()
    shelf.put("late", ["It rained in Oslo."])
    most_bytes = len(shelf.list_indexed_segments(since=0)) * (4 * 256 + 700)
    shelf.take("late")
    search = search_of(shelf, most_bytes=most_bytes)
    expected = find(search, "Otto")
    for number in range(40):
        shelf.put(f"late{number}", ["It rained in Oslo."])

    for _ in range(2):
        with pytest.raises(SearchMemoryExceeded, match="hybrid"):
            search.index.refresh()
        assert len(search.index) == 0
    for number in range(40):
        shelf.take(f"late{number}")
    assert find(search, "Otto") == expected


def test_replaced_segments_do_not_count_in_limit() -> None:
    shelf = films()
    search = search_of(shelf, most_bytes=len(shelf.list_indexed_segments(since=0)) * (4 * 256 + 700))
    find(search, "Otto")
    for _ in range(5):
        shelf.put("other0", ["Tale 0 of Oslo."])
        assert find(search, "Oslo")[0].id == "other0-0"


@pytest.mark.parametrize("place", ["_index_texts", "_seconds", "_append_rows", "remove_accents"])
def test_index_is_rebuilt_after_interrupted_refresh(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = films()
    search = search_of(shelf)
    find(search, "Otto")
    shelf.put("late", ["Otto met Zoe in Oslo."])

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"memgraph_rag.search.segment_index.{place}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            search.index.refresh()
    for question in ("Otto", "Zoe in Oslo"):
        assert find(search, question) == find(search_of(shelf), question)


# ── PageRank ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_walk_equals_networkx() -> None:
    search = search_of(films())
    search.index.refresh()
    view = search.index.view()
    count, entities = view.incidence.shape
    random_numbers = np.random.default_rng(0)
    reset, of_entities = random_numbers.random(count), random_numbers.random(entities)
    graph = networkx.Graph()
    edges = view.incidence.tocoo()
    for row, column, weight in zip(edges.row, edges.col, edges.data, strict=True):
        graph.add_edge(int(row), count + int(column), weight=float(weight))
    together = np.concatenate([reset, of_entities])
    expected = networkx.pagerank(
        graph, alpha=0.7, personalization=dict(enumerate(together)), tol=1e-12, max_iter=1000, weight="weight"
    )
    damping = np.full(count, 0.7)
    on_segments, on_entities = personalised_pagerank(view, reset, of_entities, damping=damping, iterations=100)
    assert np.concatenate([on_segments, on_entities]) == pytest.approx([expected[n] for n in range(len(together))])


def test_first_results_do_not_depend_on_k() -> None:
    shelf = Shelf()
    for number in range(450):
        shelf.put(f"d{number:03}", [f"Entry {number} of Ada and Person{number % 9}."])
    search = search_of(shelf)
    everything = find(search, "What of Ada and Person3?", k=1000)
    assert len({hit.id for hit in everything}) == len(everything) == 450
    for k in (1, 2, 20, 210):
        assert find(search, "What of Ada and Person3?", k=k) == everything[:k]
    assert [hit.score for hit in everything] == sorted((hit.score for hit in everything), reverse=True)


def races() -> Shelf:
    shelf = Shelf()
    texts = [f"{said['role']}: {said['content']}" for said in RACES]
    shelf.put("talk", texts, speakers=[said["role"] for said in RACES])
    return shelf


def whose(shelf: Shelf, question: str) -> tuple[str, str] | None:
    search = search_of(shelf)
    search.index.refresh()
    return search.find_speaker_mismatch(question, search.index.view())


def test_search_names_other_speaker_of_answer() -> None:
    shelf = races()
    assert whose(shelf, "When did Tom run the charity race?") == ("Tom", "Ann")
    assert whose(shelf, "When was the bread baked in the old kitchen by Ann?") == ("Ann", "Tom")
    assert whose(shelf, "When did Ann run the charity race?") is None
    assert whose(shelf, "When was the charity race?") is None, "it names no speaker"
    assert whose(shelf, "Who told Tom about Ann and the charity race?") is None, "it names both"
    assert whose(shelf, "When did I tell Tom of the charity race?") is None, "the asker is none of the speakers"


def test_other_speaker_needs_conversations_only() -> None:
    shelf = races()
    shelf.put("note", ["Ann Miller: a life."])
    assert whose(shelf, "When did Tom run the charity race?") is None
    assert whose(Shelf(), "When did Tom run the charity race?") is None
