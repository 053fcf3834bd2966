"""The second family of questions about a corpus: what they ask for, and which items they know."""

from __future__ import annotations

import corpus_questions
import corpus_topics

from memgraph_rag import Document

_PEOPLE = [
    Document(
        f"Ann{place} Lee (12 May 19{place}0 – 2 June 201{place}) was an Irish singer and actress. She played the cello "
        f"and won the Oak Prize at the Elm University.",
        key=f"ann{place}",
        title=f"Ann{place} Lee",
    )
    for place in range(1, 6)
]
_FILMS = [
    Document(f"Film{place} is a 198{place} horror film directed by Bo Berg.", f"film{place}", f"Film{place}")
    for place in range(5)
]


def asked(*articles: Document) -> dict[str, corpus_questions.CorpusQuestion]:
    return {question.text: question for question in corpus_topics.topics_of(articles)}


def test_people_are_known_by_what_they_do() -> None:
    questions = asked(*_PEOPLE, *_FILMS)

    for text in ("Name the singers you can find.", "Name the actresses you can find.", "Who plays the cello?"):
        assert len(questions[text].items) == 5, text
        assert corpus_questions.share_known(questions[text], "ANN1 LEE was there, and Ann2 Lee.") == 2 / 5
    assert len(questions["Who passed away in the 2010s?"].items) == 5


def test_works_are_known_by_decade_and_genre() -> None:
    questions = asked(*_PEOPLE, *_FILMS)

    assert len(questions["Give me an overview of what came out in the 1980s."].items) == 5
    assert len(questions["Name the horror movies."].items) == 5


def test_names_count_where_several_articles_state_them() -> None:
    prizes = [f"The {name} Prize" for name in ("Oak", "Elm", "Ash", "Fir", "Yew")]
    articles = [Document(f"It won the {prize[4:]}.", f"{prize} {turn}") for prize in prizes[:4] for turn in "ab"]
    articles.append(Document(f"It won the {prizes[4][4:]}.", "once"))

    question = asked(*articles)["What awards have been won, all in all?"]

    assert len(question.items) == 4
    assert corpus_questions.share_known(question, "The Oak Prize and the Yew Prize.") == 1 / 4


def test_a_question_has_four_items_or_is_not_asked() -> None:
    assert asked(*_PEOPLE[:3], *_FILMS[:3]) == {}


def test_jobs_count_beside_the_origin() -> None:
    jobs = ("singer", "poet", "painter", "actor")
    articles = [Document(f"X{n} (born 1950) is an Irish {job}.", f"{job}{n}") for job in jobs for n in range(2)]

    question = asked(*articles)["What do the Irish people in this collection do for a living?"]

    assert corpus_questions.share_known(question, "An Irish poet. A Danish singer.") == 1 / 4
