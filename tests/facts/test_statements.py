"""Test which statements the rules read from people's sentences, and which sentences state nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.facts.asked_attributes import find_asked_attribute
from memgraph_rag.facts.attributes import attribute_form, value_form
from memgraph_rag.facts.deeds import denies, find_asked_deed, normalise_deed
from memgraph_rag.facts.statements import Statement, statements


@table(
    ("text", "attribute", "value"),
    [
        ("I live in Hamburg, near the river.", "home", "Hamburg"),
        ("I live in Berlin with a wooden box.", "home", "Berlin"),
        ("By the way, I've just moved to New York last week.", "home", "New York"),
        ("We are living in Rome now", "home", "Rome"),
        ("I work for Siemens these days.", "employer", "Siemens"),
        ("I'm working as a nurse.", "job", "a nurse"),
        ("I became a nurse last year.", "job", "a nurse"),
        ("I joined Bosch this month.", "employer", "Bosch"),
        ("I drive a blue Tesla to work.", "car", "a blue Tesla"),
        ("We relocated to Frankfurt am Main in spring.", "home", "Frankfurt am Main"),
        ("I'm married to Ann Lee.", "partner", "Ann Lee"),
        ("My new favorite color is dark green!", "favourite colour", "dark green"),
        ("Green is now my favourite colour.", "favourite colour", "Green"),
        ("I switched my phone from a Nokia to a Pixel because it broke.", "phone", "a Pixel"),
        ("My dog is called Rex.", "dog name", "Rex"),
        ("My name's Ann", "name", "Ann"),
        ("I use a Nokia as my phone now.", "phone", "a Nokia"),
        ("My salary is 3,000 euros from this month on.", "salary", "3,000 euros"),
        ("My email address is ann.lee@mail.example.org.", "email", "ann.lee@mail.example.org"),
        ("My birthday is March 3, 1990, like my sister's.", "birthday", "March 3, 1990"),
        ("My phone number is +49 171 5550123.", "phone number", "+49 171 5550123"),
        ("My number is no longer 0171-5550123, it's 0152-5550789.", "phone number", "0152-5550789"),
        ("Hi!\nMy doctor is Dr. Weber", "doctor", "Dr. Weber"),
    ],
)
def test_values_are_read(text: str, attribute: str, value: str) -> None:
    assert [(said.attribute, said.value) for said in statements(text) if said.kind == "value"] == [(attribute, value)]


@table(
    ("text", "attribute", "former"),
    [
        ("I no longer work for Siemens.", "employer", "Siemens"),
        ("I don't work at Siemens any more.", "employer", "Siemens"),
        ("We do not live in Rome anymore.", "home", "Rome"),
        ("My bank isn't Monzo any longer.", "bank", "Monzo"),
        ("My dog is no longer called Rex.", "dog name", "Rex"),
        ("I quit my job at Siemens last week.", "", "Siemens"),
        ("I've just resigned from Siemens.", "", "Siemens"),
        ("I left my job at Siemens, and I am glad.", "", "Siemens"),
    ],
)
def test_ends_of_values_are_read(text: str, attribute: str, former: str) -> None:
    assert [(said.attribute, said.value, said.former) for said in statements(text) if said.kind == "value"] == [
        (attribute, "", former)
    ]


@table(
    "text",
    [
        "I quit smoking.",
        "I left Siemens at five.",
        "Maybe I no longer work for Siemens.",
        "Tom no longer works for Siemens.",
        "I don't want to live in Rome any more.",
        "Do I live in Rome?",
        "I used to live in Oslo.",
        "If I lived in Rome, my favourite food would be pasta.",
        "I might move to Oslo.",
        "I want to move to Oslo.",
        "Tom lives in Rome.",
        "My phone is not what it was.",
        "You live in Rome.",
        "It is my favourite colour.",
        "Tom told me that blue is his favourite colour.",
        "My sister's favourite colour is blue, says my mother.",
        "My sister's dog is called Rex.",
        "My friend Rachel is a nurse.",
        "My trip to Rome is on Monday.",
        "My boss is allergic to Mondays.",
        "My dog is a friend to everybody.",
        "My dentist, Dr. Quist, has a fish tank.",
        "My watch says 72 at rest.",
        "Walking the dog is my job.",
        "Exchange students are staying at our school.",
        "One of my favourite foods is pasta.",
        "My dentist told Ann about it today.",
        "I met my boss at Starbucks today.",
        "I'm moving in the right direction.",
        "I joined a chess club and practice with others.",
        "Our city held a pride parade last weekend.",
        "My goal is to give kids a loving home.",
        "My week's been busy.",
        "I bought a console for my partner.",
        "I lived in Berlin with two friends.",
        "I worked at Bosch.",
        "We were living in Oslo.",
        "I don't drive a Skoda.",
        "I didn't change my phone to a Pixel.",
        "We never rented a flat in Lisbon.",
        "I never worked at Bosch as a welder.",
        "I will move to Oslo with Ann.",
        "I stopped working at Bosch.",
        "My brother is dating Nadia.",
        "A nurse helped me with the forms.",
        "I moved my notes to Obsidian.",
        "I'm moving to Oslo next month.",
        "I joined Climbo gym with my son.",
        "I became a grandmother last week.",
        "I joined Facebook.",
        "I joined Ann this morning.",
        "I moved to Bob's house.",
        "I work for Tom's dad on weekends.",
        "I work as a favour for Tom.",
        "I live in Paris, in my dreams.",
        "My bank is Monzo, just kidding.",
        "My wife is vegan.",
        "My boss is Italian.",
        "My dentist is Dr. Weber's wife.",
        "My dream car is a Porsche.",
        "My second favourite colour is red.",
        "I'm driving a BMW next month.",
        "My car is soon a Tesla.",
        "My landlord is Hansen or Petrov.",
        "My car is 12 years old.",
        "I drive an hour to Bosch.",
        "I'm driving Ann to school.",
        "My in-laws have a flat in Nice.",
        "I'm at 745 now.",
        "I'm using Bootstrap for my layout and design.",
        "I got a strange call from 0171-5550123.",
        "We got another cat named Bailey.",
        "",
        "...",
        "x" * 100_000,
    ],
)
def test_sentence_without_statement_gives_no_value(text: str) -> None:
    assert [said for said in statements(text) if said.kind == "value"] == []


@table(
    "text",
    [
        "I dreamt that I live in Rome.",
        "Last night I dreamed my phone is a Nokia.",
        "In our school play I live in Verona.",
        "In a nightmare, I work for Globex.",
        "I work for Globex in my new novel.",
        "It isn't true that I work for Globex.",
        "It's a rumour that I moved to Oslo.",
        "It is simply wrong that my dentist is Dr. Novak.",
        "Sure, and I live in Rome.",
        "In 1999 I joined Bosch.",
        "I moved to Oslo in 2003.",
        "I joined Bosch when I was twenty.",
        "As a kid I moved to Oslo.",
        "We're living in Oslo for the summer.",
        "I'm working for Bosch for three weeks.",
        "On vacation I drive a Fiat.",
        "My former employer is Bosch.",
        "Our previous landlord is Hansen.",
        "I moved to Django 4.2.",
    ],
)
def test_invented_false_or_past_matter_gives_no_value(text: str) -> None:
    assert [said for said in statements(text) if said.kind == "value"] == []


@table(
    ("text", "value"),
    [
        ("I have lived in Oslo for two weeks.", "Oslo"),
        ("I've been working for Bosch for three days now.", "Bosch"),
        ("I've worked for Bosch since I was twenty.", "Bosch"),
        ("My favourite game is Go.", "Go"),
    ],
)
def test_continuing_state_gives_a_value(text: str, value: str) -> None:
    assert [said.value for said in statements(text) if said.kind == "value"] == [value]


@table(
    ("text", "taken_back"),
    [
        ("Sorry, that was wrong: I did not move to Bonn.", ["Bonn"]),
        ("I made a mistake. I don't work for Globex.", ["Globex"]),
        ("I was only joking, I have never lived in Oslo.", ["Oslo"]),
        ("I did not move to Bonn.", []),
        ("It was wrong of him. I live in Bonn.", []),
    ],
)
def test_correction_ends_a_value(text: str, taken_back: list[str]) -> None:
    assert [said.value for said in statements(text) if said.kind == "denial"] == taken_back


@table(
    ("never", "done"),
    [
        ("I have never been to Japan.", "I visited Japan last week."),
        ("Not once have I eaten oysters.", "Guess what, I ate fresh oysters on Sunday."),
        ("I haven't ridden a camel yet.", "Tom and I rode a camel last month."),
        ("Never eaten oysters.", "I actually did eat oysters on Friday."),
        ("I have never ridden a camel.", "We finally got to ride a camel yesterday!"),
        ("I don't think I've ever met a minister.", "I met a minister once, back in May."),
        ("I've never attended any workshops or courses on law.", "I just attended a workshop on writing."),
    ],
)
def test_sentence_with_never_contradicts_deed(never: str, done: str) -> None:
    denied = {said.attribute for said in statements(never) if said.value == "never"}
    deeds = [said for said in statements(done) if said.kind == "event"]
    assert [said.value for said in deeds] == ["yes"]
    assert any(denies(form, deeds[0].attribute) for form in denied)
    assert text_of(done, deeds[0]) == done


def text_of(text: str, said: Statement) -> str:
    return text[said.start : said.end].strip()


def test_more_than_was_done_is_not_denied() -> None:
    assert not denies(normalise_deed("eaten oyster tart"), normalise_deed("ate oysters"))
    assert not denies(normalise_deed("sold a car"), normalise_deed("bought a car"))
    assert find_asked_deed("Have I ever been to Japan?") == normalise_deed("went to Japan") == "go japan"


@table(
    ("text", "kind"),
    [
        ("Always answer in metric units.", "instruction"),
        ("From now on, please keep replies short.", "instruction"),
        ("Whenever I ask for code, add type hints.", "instruction"),
        ("I prefer few dependencies.", "preference"),
        ("I'd rather not say.", None),
        ("Write me a poem, please.", None),
    ],
)
def test_wishes_differ_from_requests(text: str, kind: str | None) -> None:
    kinds = [said.kind for said in statements(text) if said.kind in ("instruction", "preference")]
    assert kinds == ([kind] if kind else [])


@table(
    ("question", "attribute", "speaker", "is_past"),
    [
        ("Where do I live now?", "home", "", False),
        ("Do you remember which city I live in?", None, "", False),
        ("Tell me, what's my favorite color these days?", "favourite colour", "", False),
        ("What was my job before?", "job", "", True),
        ("What is the name of my dog?", "dog name", "", False),
        ("Where does Ann Lee live?", "home", "Ann Lee", False),
        ("What is Ann's phone number?", "phone number", "Ann", False),
        ("Who built a wooden box?", None, "", False),
        ("?", None, "", False),
    ],
)
def test_questions_ask_for_attributes(question: str, attribute: str | None, speaker: str, is_past: bool) -> None:
    asked = find_asked_attribute(question)
    assert (asked and asked.attribute) == attribute
    if asked:
        assert (asked.speaker, asked.is_past) == (speaker, is_past)


@given(st.text())
def test_spans_of_statements_are_within_the_text(text: str) -> None:
    for said in statements(text):
        assert 0 <= said.start < said.end <= len(text)
        assert said.kind != "value" or said.value in text
    find_asked_attribute(text)
    form = attribute_form(text)
    assert attribute_form(form) == form
    assert value_form(value_form(text)) == value_form(text)


@given(
    st.lists(
        st.sampled_from(
            ["I", "my", "gym", "is", "at", "Oslo", "and", "named", "a", "dog", ",", "of", "V2:x", "moved", "to"]
        ),
        max_size=14,
    ).map(" ".join)
)
def test_values_are_words_of_the_text_in_normal_form(text: str) -> None:
    for said in (each for each in statements(text) if each.kind == "value"):
        assert said.value in text
        assert attribute_form(said.attribute) == said.attribute
