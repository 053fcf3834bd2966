"""Verbs by which people say where they live, work or learn, with the attribute and the place of the value.

The module knows everyday words and lemmas, no text. English only. A family is a row; another verb with the same meaning
is another word in the row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = [
    "CAMPUS",
    "CAR_BRANDS",
    "DIETS",
    "FAMILIES",
    "FIELD",
    "INSTRUMENTS",
    "OCCUPATIONS",
    "TONGUES",
    "VerbFamily",
]


@dataclass(frozen=True, slots=True)
class VerbFamily:
    """Verbs, by their lemmas, that say one attribute of the speaker.

    Attributes:
        slots: the prepositions in front of the value; empty where it is the verb's object.
        needs: what kind of words the value must be; ``facts.grammar.parsed_values`` checks it.
        is_state: true of now in the present only ("I lived in Oslo" is over).
        beside: one of these words stands below the verb, as a particle, or is its object.
    """

    attribute: str
    verbs: frozenset[str]
    slots: frozenset[str]
    needs: str
    is_state: bool
    beside: frozenset[str]


def _families(table: str) -> tuple[VerbFamily, ...]:
    families: list[VerbFamily] = []
    for line in filter(None, map(str.strip, table.splitlines())):
        attribute, verbs, slots, needs, time, beside = (cell.strip() for cell in line.split("|"))
        sets = frozenset(verbs.split()), frozenset(slots.split())
        families.append(VerbFamily(attribute, *sets, needs, time == "state", frozenset(beside.split())))
    return tuple(families)


FAMILIES = _families(
    """
    home       | live reside dwell settle base locate    | in          | name   | state |
    home       | move relocate settle emigrate resettle  | to into in  | name   |       |
    home       | rent share own buy find have get unpack | in          | name   |       | flat apartment house room
    home       | put                                     | in          | name   |       | root roots
    gym        | work                                    | at          | name   | state | out
    gym        | train exercise                          | at          | name   | state |
    employer   | work intern employ                      | at for      | name   | state |
    employer   | start begin                             | at          | name   |       |
    employer   | sign                                    | with        | name   |       |
    employer   | hire employ recruit headhunt poach      | by          | name   |       |
    employer   | accept take get land sign have start    | from at with | name   |       | offer job position role
    job        | work practise practice serve employ retrain | as          | work   | state |
    job        | make earn                               | as          | work   | state | living money bread
    job        | retrain qualify                         | as          | work   |       |
    job        | become                                  |             | work   |       |
    job        | promote                                 | to          | noun   |       |
    job        | be                                      |             | trade  | state |
    car        | drive                                   |             | thing  | state |
    car        | lease                                   |             | thing  |       |
    car        | trade swap                              | for         | thing  |       | in
    car        | get                                     | in          | thing  | state | around
    car        | own have drive                          |             | brand  | state |
    car        | buy purchase get order                  |             | brand  |       |
    partner    | date                                    |             | name   | state |
    partner    | marry                                   |             | name   |       |
    partner    | engage marry                            | to          | name   |       |
    partner    | be                                      | with        | name   | state | together
    major      | study                                   |             | field  | state |
    major      | major enrol enroll specialise specialize | in          | field  |       |
    major      | do pursue start take                    | in          | field  |       | degree master bachelor phd
    university | study enrol enroll transfer             | at to       | campus |       |
    university | attend                                  |             | campus | state |
    language   | learn study practise practice           |             | tongue | state |
    language   | pick                                    |             | tongue |       | up
    instrument | play learn practise practice study      |             | music  | state |
    instrument | take                                    |             | music  |       | up
    bank       | bank                                    | with at     | name   | state |
    bank       | open have get                           | at with     | name   |       | account
    bank       | move transfer                           | to          | name   |       | money savings account
    """
)
DIETS = frozenset(
    "vegan vegetarian pescatarian flexitarian keto paleo gluten-free dairy-free macrobiotic halal kosher".split()  # noqa: SIM905
)
TONGUES = frozenset(
    """
    english german french spanish italian portuguese dutch swedish norwegian danish finnish polish czech russian greek
    ukrainian turkish arabic hebrew persian hindi urdu bengali tamil chinese mandarin cantonese japanese korean thai
    vietnamese indonesian swahili latin irish welsh hungarian romanian bulgarian croatian serbian catalan icelandic
    """.split()  # noqa: SIM905
)
INSTRUMENTS = frozenset(
    """
    piano guitar violin viola cello bass drums flute clarinet oboe bassoon saxophone trumpet trombone tuba horn harp
    banjo ukulele mandolin accordion organ keyboard harmonica recorder lute sitar bagpipes xylophone didgeridoo fiddle
    """.split()  # noqa: SIM905
)
OCCUPATIONS = frozenset(
    """
    accountant actor actress analyst architect baker banker barber bartender biologist bookkeeper builder butcher
    carpenter cashier chef chemist cleaner clerk consultant cook counsellor decorator dentist designer developer
    director doctor driver economist editor electrician engineer farmer firefighter fisherman florist freelancer
    gardener geologist hairdresser historian journalist judge lawyer lecturer librarian lifeguard linguist manager
    mathematician mechanic midwife miner musician nurse nutritionist optician painter paramedic pharmacist photographer
    physician physicist physiotherapist pilot plumber programmer psychologist receptionist researcher sailor salesman
    scientist sculptor secretary singer soldier statistician surgeon surveyor tailor teacher technician therapist
    translator tutor vet waiter waitress welder writer
    """.split()  # noqa: SIM905
)
CAR_BRANDS = frozenset(
    """
    alfa audi bentley bmw buick cadillac chevrolet chevy chrysler citroen citroën cupra dacia dodge ferrari fiat ford
    honda hyundai infiniti jaguar jeep kia lada lamborghini lancia lexus mazda mercedes mini mitsubishi nissan opel
    peugeot polestar porsche prius renault rover saab seat skoda škoda smart subaru suzuki tesla toyota vauxhall
    volkswagen volvo vw
    """.split()  # noqa: SIM905
)
CAMPUS = re.compile(r"\b(?:university|college|institute of technology)\b", re.IGNORECASE)
FIELD = re.compile(
    r"\w+(?:ics|ogy|onomy|istry|osophy|ography|ecture)|engineering|sciences?|studies|law|history|medicine|botany|"
    r"music|arts?|business|nursing|design|education|journalism|maths?"
)
