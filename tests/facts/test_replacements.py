"""Test clauses with two values: which value replaced which, and which clauses replace nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.facts.replacements import find_replacement
from memgraph_rag.facts.statements import statements


@table(
    ("text", "attribute", "former", "value"),
    [
        ("I switched from Novartis to Ericsson.", "", "Novartis", "Ericsson"),
        ("We've switched over from Evernote to Joplin last week.", "", "Evernote", "Joplin"),
        ("I gave up the flute for the cello.", "", "the flute", "the cello"),
        ("I ditched my old Nokia for a Pixel, at last.", "", "Nokia", "a Pixel"),
        ("I replaced the Canon with a Fuji.", "", "the Canon", "a Fuji"),
        ("I switched from Word to Scrivener on May 5.", "", "Word", "Scrivener"),
        ("No longer Vim, now Helix.", "", "Vim", "Helix"),
        ("I no longer use Vim, I use Helix now.", "", "Vim", "Helix"),
        ("I'm no longer with Chrome, now it's Vivaldi.", "", "Chrome", "Vivaldi"),
        ("I use Wise instead of Nordea.", "", "Nordea", "Wise"),
        ("I switched my phone from a Nokia to a Pixel because it broke.", "phone", "a Nokia", "a Pixel"),
        ("We moved from Hamburg to Lisbon.", "home", "Hamburg", "Lisbon"),
        ("I no longer live in Oslo but in Bergen.", "home", "Oslo", "Bergen"),
        ("I don't drive a Skoda any more but a Volvo.", "car", "a Skoda", "a Volvo"),
        ("My dog's name is no longer Rocky, it's Bruno now.", "dog name", "Rocky", "Bruno"),
        ("My favourite band is Blur instead of Muse now.", "favourite band", "Muse", "Blur"),
        ("My bank is no longer Monzo, I switched to Wise.", "bank", "Monzo", "Wise"),
        ("My bank is no longer Monzo. I've since switched to Wise.", "bank", "Monzo", "Wise"),
        ("My bank isn't Monzo any more, it's Wise.", "bank", "Monzo", "Wise"),
        ("My dentist is not Dr. Vogel but Dr. Novak.", "dentist", "Dr. Vogel", "Dr. Novak"),
        ("My dentist isn't Dr. Vogel, it's Dr. Novak.", "dentist", "Dr. Vogel", "Dr. Novak"),
    ],
)
def test_replacement_gives_former_and_new_value(text: str, attribute: str, former: str, value: str) -> None:
    read = [(said.attribute, said.former, said.value) for said in statements(text) if said.kind == "value"]
    assert read == [(attribute, former, value)]


@table(
    "text",
    [
        "I drove from Bonn to Berlin.",
        "I went from Bonn to Berlin by train.",
        "I walked from the gym to the lake.",
        "I changed trains from Prague to Vienna.",
        "I work from Monday to Friday.",
        "Tom switched from Vim to Helix.",
        "My brother gave up coffee for tea.",
        "She no longer uses Vim, now it's Helix.",
        "Should I switch from Vim to Helix?",
        "I want to switch from Vim to Helix.",
        "I might give up coffee for tea.",
        "I never switched from Vim to Helix.",
        "I haven't moved from Oslo to Bergen.",
        "If I switched from Vim to Helix, would it be faster?",
        "I used to use Vim instead of Helix.",
        "I took the bus instead of the car today.",
        "I left Bosch for lunch.",
        "I sat at home instead of going out.",
        "The meeting was moved from Tuesday to Thursday.",
        "We moved the sofa from the window to the wall.",
        "I swapped seats with Tom.",
        "My bank is no longer Monzo, I moved to Oslo.",
        "My phone isn't the problem, it's the charger.",
        "My phone is not a Pixel, it's broken.",
        "My bank is not Monzo but my wife's is Monzo.",
    ],
)
def test_journey_plan_or_other_person_replaces_no_value(text: str) -> None:
    assert [said.former for said in statements(text) if said.former and said.value] == []


@given(st.text())
def test_values_of_a_replacement_are_words_of_the_text(text: str) -> None:
    told = find_replacement(text)
    assert told is None or (told.former in text and told.value in text)
