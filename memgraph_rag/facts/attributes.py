"""Normalise the names of attributes: "my new mobile" and "phone" are one attribute.

The module knows English words only. Invariant: the form of a form is itself.
"""

from __future__ import annotations

import re

_CLASSES = {
    "home": "city town residence hometown flat apartment|place of residence|home city|home town|city of residence|"
    "home address|place to live|living place|address|postal address|mailing address",
    "employer": "company firm workplace employer|place of work|place of employment|day job company",
    "job": "occupation profession career trade work|job title|line of work|day job|job role|job position",
    "partner": "girlfriend boyfriend wife husband spouse fiancé fiancée fiance fiancee|romantic partner|life partner",
    "car": "vehicle automobile ride wheels|daily driver",
    "phone": "mobile smartphone cellphone handset|mobile phone|cell phone",
    "phone number": "number|mobile number|cell number|cellphone number|telephone number",
    "email": "inbox|email address|e-mail address|e-mail|mail address",
    "diet": "|eating plan|way of eating|eating style",
    "doctor": "gp physician|family doctor|general practitioner|primary care doctor",
    "therapist": "counsellor counselor|psychotherapist",
    "editor": "|text editor|code editor",
    "team": "|sports team|football team|soccer team",
    "pet": "",
    "major": "degree|field of study|course of study|degree course|degree programme|degree program",
    "university": "uni",
}
_CLASS_OF = {
    word: name
    for name, listed in _CLASSES.items()
    for word in (*listed.split("|")[0].split(), *filter(None, listed.split("|")[1:]))
}
_FAMILIES = frozenset(
    """
        name nickname surname age height weight size birthday birthplace nationality religion citizenship degree
        major school university college teacher tutor coach trainer boss manager supervisor mentor landlord landlady
        roommate flatmate dentist lawyer accountant hairdresser barber physiotherapist optician vet plumber
        babysitter nanny gym club bank broker insurer insurance provider operator carrier bakery pharmacy
        supermarket cafe bar pub restaurant laptop computer tablet camera console keyboard monitor watch bike
        bicycle motorbike scooter browser os shell terminal ide language stack framework database distro handle
        username login address number salary rent budget mortgage allergy instrument sport colour food drink dish
        snack dessert cuisine band singer artist author writer book film movie show series song album genre game
        season animal flower holiday destination subject brand perfume hobby os gps cms css dos bus glasses jeans
        trousers headphones earphones shoes sneakers boots dog cat hamster rabbit parrot horse commute shift deadline
        """.split()  # noqa: SIM905
) | {*_CLASSES}
_MANY = frozenset(
    """
    friend friends member members colleague colleagues coworker coworkers brother brothers sister sisters sibling
    siblings son
        sons daughter daughters kid kids child children cousin cousins aunt uncle nephew niece neighbour neighbours
        parent parents grandparents family way point question issue problem goal goals idea concern thing things
        week day life time weekend morning evening night mind heart head eye eyes hand hands body face back work
        code mistake guess advice tip hope dream dreams wish fear opinion understanding experience feeling feelings
        story stories plan plans fan fans rocks rock team's side part turn best favourite next first last main self
        own mom dad mother father grandma grandpa grandmother grandfather guy people others inspiration passion
        motivation priority focus
        """.split()  # noqa: SIM905
)
_MOST_WORDS = 3  # of a known attribute with what stands before it ("sister dog name")
_SPELLINGS = {
    "favorite": "favourite", "color": "colour", "preferred": "favourite", "neighbor": "neighbour", "fave": "favourite",
    "neighbors": "neighbours", "fav": "favourite",
}  # fmt: skip
_LEFT_OUT = frozenset(
    """
        a an the my our own new current latest present actual newest old go-to very main primary regular usual
        default other brand-new brand everyday daily trusty
        """.split()  # noqa: SIM905
)
_POSSESSIVE = re.compile(r"(?:'s|’s|s'|s’)(?=\s|$)")
_WORD = re.compile(r"[\w+#-]+")
_ARTICLE = re.compile(r"^(?:(?:a|an|the|my|our|some|called|named)\s+)+", re.IGNORECASE)


def attribute_form(name: str) -> str:
    """Return an attribute's name in normal form: lower case, without "my" and "new", one name for all synonyms.

    >>> attribute_form("new mobile phone"), attribute_form("favorite Color"), attribute_form("sister's dog")
    ('phone', 'favourite colour', 'sister dog')
    """
    plain = _POSSESSIVE.sub(lambda match: "s" if match[0][0] == "s" else "", name.lower())
    words: list[str] = _WORD.findall(plain)
    form = " ".join(_SPELLINGS.get(word, word) for word in words if word not in _LEFT_OUT)
    return _CLASS_OF.get(form, form)


def is_known_attribute(attribute: str) -> bool:
    """Return whether an attribute, in normal form, is a known one of people, whose value may be any noun.

    >>> is_known_attribute("favourite lunch"), is_known_attribute("password manager"), is_known_attribute("cork board")
    (True, True, False)
    """
    words = attribute.split(" ")
    return (words[0] == "favourite" and len(words) > 1) or (words[-1] in _FAMILIES and len(words) <= _MOST_WORDS)


def has_many_values(attribute: str) -> bool:
    """Return whether an attribute, in normal form, may have several values at a time ("friend"), or none ("way")."""
    last = attribute.rsplit(" ", 1)[-1]
    is_plural = bool(re.search(r"[^su'i]s$", last)) and last not in _FAMILIES
    return is_plural or (last in _MANY and not attribute.startswith("favourite "))


def value_form(value: str) -> str:
    """Return a value as it is compared: without case, article and punctuation.

    >>> value_form("a Golden  Retriever!") == value_form("golden retriever")
    True
    """
    return _ARTICLE.sub("", " ".join(re.findall(r"\w+", value.casefold())))
