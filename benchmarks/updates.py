"""Does search give what holds now? People who say twenty things of themselves, and change each several times.

    python benchmarks/updates.py --people 50

A made-up set, seeded. Statements come from sets of phrasings: those that the rules of ``facts/statements.py``
were written with; others, which were held out until they were looked at in November 2026; and the files in
``PHRASINGS``, written before a rule was changed. Among them is what others are or do, questions, wishes, and an
assistant that repeats older values. The kinds "everyday", "switches" and "counts" are people of ``matters.py``. Asked
by ``search`` alone: as it is; by facts, without likeness; and without both (plain top k of the same search). Is the
newest value in the first result, also as of a day between two changes; does it name the value that a switch gave up;
are two statements that contradict each other both named by the first result; and does a question about the past find
what the plain search finds?
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from matters import SETS, Acquaintance, acquaintances, halves_of

from memgraph_rag import Memory
from memgraph_rag.facts.attributes import value_form
from memgraph_rag.types import Evidence

SEED = 27
CHANGES = 4
PHRASINGS = Path(__file__).with_name("data") / "updates"
MATTERS = [half for name in SETS for half in halves_of(name)]
KINDS = ("seen", "held out", "paraphrases", "held back", *MATTERS)
WAYS = ("as it is", "facts", "top k")

NOUNS = {
    "favourite colour": "green blue red yellow violet orange turquoise black silver brown",
    "favourite food": "lasagne sushi goulash paella ramen curry risotto falafel pizza dumplings",
    "favourite band": "Muse Queen Blur Genesis Pulp Oasis Abba Toto Wilco Eels",
    "phone": "Pixel Nokia Fairphone Xperia Galaxy Motorola Realme Huawei Zenfone Xiaomi",
    "dentist": "Dr-Vogel Dr-Braun Dr-Keller Dr-Novak Dr-Silva Dr-Olsen Dr-Rossi Dr-Meyer Dr-Patel Dr-Costa",
    "gym": "Fitbox Ironhall Moveup Bodylab Climbo Sportwerk Gymnova Powerhub Flexzone Trimm",
    "editor": "Vim Emacs Zed Helix Kakoune Sublime Nano Kate Geany Atom",
    "bank": "Volksbank Monzo Revolut Postbank Santander Nordea Barclays Commerzbank Wise Starling",
    "landlord": "Hansen Petrov Lindgren Moreau Dubois Fischer Kowalski Larsen Ferrari Mendes",
    "team": "Falcons Wolves Sharks Eagles Tigers Bears Ravens Lions Hawks Bulls",
    "therapist": "Anders Birgit Clara Dieter Elena Frank Greta Helmut Irene Jonas",
    "diet": "vegan keto paleo vegetarian pescatarian halal kosher lowcarb rawfood macrobiotic",
    "dog's name": "Rex Bello Luna Rocky Bruno Nala Balu Sammy Emma Lucky",
    "password manager": "Bitwarden KeePass Dashlane Enpass Proton Keeper LastPass Padloc Buttercup Psono",
    "favourite author": "Borges Calvino Woolf Sebald Morrison Ishiguro Mantel Atwood Lem Kafka",
    "doctor": "Weber Schulz Hoffmann Wagner Becker Richter Klein Wolf Neumann Schwarz",
}
SPECIAL: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    "home": (
        "Hamburg Berlin Paris Lisbon Oslo Vienna Prague Madrid Dublin Zurich",
        "Where do I live {now}?",
        ("I live in {v}.", "I moved to {v} last week.", "I'm living in {v} now.", "We relocated to {v}."),
        ("{v} has been home for me since Monday.", "Got the keys to a flat in {v}, so that's where I am now.",
         "After the move, {v} is where my home is."),
    ),
    "employer": (
        "Siemens Bosch Ikea Lego Nestle Philips Airbus Zalando Spotify Adidas",
        "Where do I work {now}?",
        ("I work for {v}.", "I joined {v} this month.", "I'm working at {v} now.", "I started at {v}."),
        ("{v} hired me.", "My work badge says {v} these days.", "I handed in my notice and {v} is where I work now."),
    ),
    "job": (
        "baker plumber teacher nurse pilot farmer tailor painter barber welder",
        "What is my job {now}?",
        ("I work as a {v}.", "I'm working as a {v} now.", "My job is {v}.", "I became a {v}."),
        ("After the training I earn my money as a {v}, a job I like.", "They took me on as a {v}, so that is my job.",
         "My work is that of a {v} these days."),
    ),
    "car": (
        "Volvo Skoda Fiat Tesla Toyota Mazda Renault Peugeot Honda Dacia",
        "Which car do I drive {now}?",
        ("I drive a {v}.", "My car is a {v}.", "I replaced my car with a {v}.", "My new car is a {v}."),
        ("There's a {v} in my garage now, the other car is sold.", "I picked up a {v} from the car dealer for myself.",
         "Driving a {v} to work now, my old car broke down."),
    ),
}  # fmt: skip
SEEN = ("My {a} is {v}.", "My {a} is now {v}.", "{v} is my new {a}.", "I changed my {a} to {v}.")
HELD_OUT = (
    "When it comes to my {a}, I have gone with {v}.",
    "You would have to put down {v} as my {a} these days.",
    "Regarding my {a}: {v}, as of this week.",
    "I ended up choosing {v} for my {a}.",
)
DISTRACTORS = (
    "My sister's {a} is {x}.", "Tom told me that {x} is his {a}.", "Should I go for {x} as my {a}?",
    "I used to think {x} would make a good {a}.", "If my {a} were {x}, what would you say?",
    "We talked about the weather and the garden all evening.", "The train was late again, so I read a book.",
)  # fmt: skip
REPLIES = ("Noted, {v} it is for your {a}.", "Good to know! {v} is a fine {a}.", "Thanks for telling me about {v}.")
DEEDS = ("eaten oysters|ate oysters", "been to Japan|went to Japan", "ridden a camel|rode a camel",
         "broken a bone|broke a bone", "met a minister|met a minister", "sold a painting|sold a painting",
         "flown a glider|flew a glider", "run a marathon|ran a marathon")  # fmt: skip
NEVER = {"seen": ("I have never {pp}.", "I never {did}."), "held out": ("Not once have I {pp}.", "I haven't {pp} yet.")}
DONE = {"seen": ("I {did} last week.",), "held out": ("Guess what, I {did} on Sunday.", "Tom and I {did} last month.")}


@dataclass(frozen=True)
class Attribute:
    """What is said of one thing. ``said`` has places for {v}, the value, and perhaps {old}, the one before."""

    values: Sequence[str]
    now: str
    then: str
    said: Sequence[str]
    beside: Sequence[str] = DISTRACTORS


@dataclass(frozen=True)
class Phrasings:
    """How people of one kind talk; ``deeds`` are participle and past, joined by a bar."""

    attributes: dict[str, Attribute]
    never: Sequence[str]
    done: Sequence[str]
    deeds: Sequence[str]


def phrasings_of(kind: str) -> Phrasings:
    """The phrasings of a kind: two stand above, the others in files."""
    if kind not in ("seen", "held out"):
        read = json.loads((PHRASINGS / f"{kind.replace(' ', '_')}.json").read_text("utf-8"))
        read["attributes"] = {name: Attribute(**attribute) for name, attribute in read["attributes"].items()}
        return Phrasings(**read)
    templates = SEEN if kind == "seen" else HELD_OUT
    attributes = {
        name: Attribute(values.split(), f"What is my {name} now?", f"What is my {name}?", templates)
        for name, values in NOUNS.items()
    }
    for name, (values, question, *said) in SPECIAL.items():
        then = question.format(now="").replace(" ?", "?")
        now = question.format(now="now")
        attributes[name] = Attribute(values.split(), now, then, said[KINDS.index(kind)])
    return Phrasings(attributes, NEVER[kind], DONE[kind], DEEDS)


@dataclass(frozen=True)
class Change:
    """A value that a person said on a day."""

    day: date
    value: str
    text: str


@dataclass(frozen=True)
class Person:
    """All turns of a person, and what they say: by attribute its changes, in order; pairs of contradictions."""

    name: str
    phrasings: Phrasings
    turns: list[dict[str, str]]
    changes: dict[str, list[Change]]
    contradictions: list[tuple[str, str, str]]


def make_person(number: int, kind: str) -> Person:
    """The same person for the same number; all statements in phrasings of one kind."""
    rng = random.Random(f"{SEED} {number} {kind}")
    phrasings = phrasings_of(kind)
    changes: dict[str, list[Change]] = {}
    said: list[tuple[date, str, str]] = []
    for name, attribute in phrasings.attributes.items():
        days = sorted(rng.sample(range(700), CHANGES + 1))
        chosen = rng.sample(attribute.values, CHANGES + 1)
        before = [next(value for value in attribute.values if value not in chosen), *chosen]
        of_attribute = [
            Change(date(2023, 1, 1) + timedelta(days=day), v, rng.choice(attribute.said).format(a=name, v=v, old=old))
            for day, v, old in zip(days, chosen, before, strict=False)
        ]
        changes[name] = of_attribute
        for change in of_attribute:
            said += [(change.day, "user", change.text)]
            said += [(change.day, "assistant", rng.choice(REPLIES).format(a=name, v=change.value))]
            distractor = rng.choice(attribute.beside).format(a=name, x=rng.choice(attribute.values))
            said += [(date(2023, 1, 1) + timedelta(days=rng.randrange(700)), "user", distractor)]
    contradictions = []
    for deed in rng.sample(phrasings.deeds, 4):
        participle, did = deed.split("|")
        never = rng.choice(phrasings.never).format(pp=participle, did=did)
        done = rng.choice(phrasings.done).format(did=did)
        first = rng.randrange(690)
        for day, text in zip((first, first + rng.randrange(1, 9)), rng.sample([never, done], 2), strict=True):
            said.append((date(2023, 1, 1) + timedelta(days=day), "user", text))
        contradictions.append((f"Have I {participle}?", never, done))
    said.sort(key=lambda item: item[0])
    turns = [
        {"role": role, "content": text, "time": f"{day}T{9 + place % 12:02}:00:00", "id": str(place)}
        for place, (day, role, text) in enumerate(said)
    ]
    return Person(f"{kind} {number}", phrasings, turns, changes, contradictions)


class NoFacts:
    """In place of the index of facts: what is found as if nobody had stated anything."""

    users: Mapping[str, str] = {}

    def refresh(self, version: int | None = None) -> tuple[Any, ...]:  # noqa: ARG002 - as of the index of facts
        """Nothing."""
        return ()


@contextmanager
def searching(memory: Memory, way: str) -> Iterator[None]:
    """While it is open, searches go one of ``WAYS``."""
    search = memory._parts.search
    facts = search.facts
    if way == "top k":
        search.facts = NoFacts()  # type: ignore[assignment]
    try:
        if way == "as it is":
            yield
        else:
            with patch("memgraph_rag.facts.fact_search.asks_for_now", return_value=False):
                yield
    finally:
        search.facts = facts


def measure(memory: Memory, person: Person | Acquaintance) -> Iterator[tuple[str, bool]]:
    """(measure, whether it is right) of each question of a person."""
    if isinstance(person, Acquaintance):
        yield from measure_matters(memory, person)
        return
    for name, changes in person.changes.items():
        asked = person.phrasings.attributes[name]
        best = memory.search(asked.now, user=person.name, k=10)
        yield "newest", is_said(best[0], changes[-1].text)
        held = changes[len(changes) // 2 - 1]
        best = memory.search(asked.then, user=person.name, k=10, at=held.day)
        yield "as of", is_said(best[0], held.text)
    for question, never, done in person.contradictions:
        best = memory.search(question, user=person.name, k=10)
        yield "contradiction", any(is_contradicted(item, never, done) for item in best[:1])


def measure_matters(memory: Memory, person: Acquaintance) -> Iterator[tuple[str, bool]]:
    """The same of people in everyday words; and of each statement asked for, whether it is among the first ten."""
    for matter in person.matters:
        best = memory.search(matter.now, user=person.name, k=10)
        yield "newest", is_said(best[0], matter.said[-1])
        if matter.former:
            yield "former named", is_said(best[0], matter.said[-1]) and names_former(best[0], matter.former)
        yield "newest in 10", any(is_said(item, matter.said[-1]) for item in best)
        yield "all in 10", all(any(is_said(item, text) for item in best) for text in matter.said)
        best = memory.search(matter.as_of, user=person.name, k=10, at=matter.days[matter.held])
        yield "as of", is_said(best[0], matter.said[matter.held])
        if matter.past:
            best = memory.search(matter.past, user=person.name, k=10)
            with searching(memory, "top k"):
                plain = memory.search(matter.past, user=person.name, k=10)
            yield "past as found", [item.text for item in best] == [item.text for item in plain]


def is_said(item: Evidence, text: str) -> bool:
    """Whether a result is the turn of that text."""
    return item.text.partition(": ")[2].strip() == text


def names_former(item: Evidence, value: str) -> bool:
    """Whether a result's standing says that this value held before, the last of those before."""
    rivals = item.standing.rivals if item.standing and item.standing.state == "holds" else ()
    return bool(rivals) and value_form(rivals[0].value) == value_form(value)


def is_contradicted(item: Evidence, never: str, done: str) -> bool:
    """Whether a result is one of two statements and names the other one."""
    standing = item.standing
    if standing is None or standing.state != "contradicted":
        return False
    quotes = {rival.quote for rival in standing.rivals}
    return (is_said(item, never) and done in quotes) or (is_said(item, done) and never in quotes)


def people_of(kind: str, count: int) -> Sequence[Person | Acquaintance]:
    """The people of a kind: as many as are wanted of those that are made up by rule, else all."""
    return acquaintances(kind) if kind in MATTERS else [make_person(number, kind) for number in range(count)]


def main() -> None:
    """Build the memory, ask, print a table, and write the figures where they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=50, help="of each set of phrasings that is made up by rule")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--store", default=":memory:")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    rows: dict[tuple[str, str, str], list[bool]] = {}
    with Memory(arguments.store) as memory:
        people = [(kind, person) for kind in arguments.kinds for person in people_of(kind, arguments.people)]
        for _, person in people:
            memory.session(user=person.name).add(person.turns)
        for kind, person in people:
            for way in WAYS:
                with searching(memory, way):
                    for name, is_right in measure(memory, person):
                        rows.setdefault((kind, name, way), []).append(is_right)
    print(f"{'phrasings':<21}{'measure':<15}{'search':<10}{'right':>8}{'n':>6}")
    for (kind, name, how), right in rows.items():
        print(f"{kind:<21}{name:<15}{how:<10}{100 * sum(right) / len(right):>7.1f}%{len(right):>6}")
    if arguments.output:
        figures = {" / ".join(key): [sum(right), len(right)] for key, right in rows.items()}
        arguments.output.write_text(json.dumps(figures, indent=1), "utf-8")


if __name__ == "__main__":
    main()
