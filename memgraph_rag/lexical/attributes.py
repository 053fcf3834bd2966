"""Names of what people say of themselves, in one form: "my new mobile" and "phone" are one attribute.

It knows words only, English ones. Invariant: the form of a form is itself.
"""

from __future__ import annotations

import re

__all__ = ["attribute_form", "value_form"]

_CLASSES = {
    "home": "city town residence hometown|place of residence|home city|home town|city of residence",
    "employer": "company firm workplace|place of work",
    "job": "occupation profession|job title|line of work",
    "partner": "girlfriend boyfriend wife husband spouse fiancé fiancée fiance fiancee",
    "car": "vehicle automobile",
    "phone": "mobile smartphone cellphone|mobile phone|cell phone",
    "phone number": "|mobile number|cell number|cellphone number|telephone number",
    "email": "|email address|e-mail address|e-mail|mail address",
    "pet": "",
}
_CLASS_OF = {
    word: name
    for name, listed in _CLASSES.items()
    for word in (*listed.split("|")[0].split(), *filter(None, listed.split("|")[1:]))
}
_SPELLINGS = {"favorite": "favourite", "color": "colour", "preferred": "favourite", "neighbor": "neighbour"}
_LEFT_OUT = frozenset("a an the my our own new current latest present actual newest old go-to very main".split())  # noqa: SIM905
_POSSESSIVE = re.compile(r"(?:'s|’s|s'|s’)(?=\s|$)")
_WORD = re.compile(r"[\w+#-]+")
_ARTICLE = re.compile(r"^(?:(?:a|an|the|my|our|some|called|named)\s+)+", re.IGNORECASE)


def attribute_form(name: str) -> str:
    """The one form of an attribute's name.

    >>> attribute_form("new mobile phone"), attribute_form("favorite Color"), attribute_form("sister's dog")
    ('phone', 'favourite colour', 'sister dog')
    """
    plain = _POSSESSIVE.sub(lambda match: "s" if match[0][0] == "s" else "", name.lower())
    words: list[str] = _WORD.findall(plain)
    form = " ".join(_SPELLINGS.get(word, word) for word in words if word not in _LEFT_OUT)
    return _CLASS_OF.get(form, form)


def value_form(value: str) -> str:
    """A value as it is compared: without case, article and punctuation.

    >>> value_form("a Golden  Retriever!") == value_form("golden retriever")
    True
    """
    return " ".join(re.findall(r"\w+", _ARTICLE.sub("", value.strip()).casefold()))
