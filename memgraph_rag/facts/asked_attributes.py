"""Find the attribute and the person that a question asks for: "Where do I live now?" asks for the asker's home.

The module knows the question only. English only. Invariant: a question without an attribute asks for none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memgraph_rag.facts.attributes import attribute_form
from memgraph_rag.lexical.tokenize import words


@dataclass(frozen=True, slots=True)
class AskedAttribute:
    """The attribute that a question asks for; ``speaker`` is the person who has it, empty for the asker."""

    attribute: str
    speaker: str = ""
    is_past: bool = False


_PAST = re.compile(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|used to|original(?:ly)?|first|earlier|in the past|history|ever|"
    r"change[ds]?|how often|how many|which .* have i|list|all)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?:so|and|ok|okay|hey|hi|please|well)[,\s]+)*"
    r"(?:(?:do you (?:know|remember|recall)|can you (?:tell me|remind me)|could you (?:tell me|remind me)|tell me|"
    r"remind me|i forgot|i wonder|what do you know about)[,:]?\s+)?(?:again[,:]?\s+)?",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:[,\s]+(?:now|currently|right now|at the moment|these days|nowadays|today|again|at present|as of \w[\w -]*|"
    r"then|back then|at that time|on \d[\w -]*|in (?:\d{4}|\w+ \d{4})|please))*\s*[?.!]*\s*$",
    re.IGNORECASE,
)
_OF_ANOTHER = (
    re.compile(r"\b(?:does|did|is|was|has) (?P<who>[A-Z][\w-]+(?: [A-Z][\w-]+)?)(?=\s)(?!['’]s)"),
    re.compile(r"\b(?P<who>[A-Z][\w-]+(?: [A-Z][\w-]+)?)['’]s\b"),
)
_ME = r"(?:i|we)"
_MY = r"(?:my|our)"
_NAMED = r"(?P<attribute>[\w'’+#-]+(?: [\w'’+#-]+){0,4}?)"
_NOW = r"(?:currently |now |actually |usually )?"

_RULES: tuple[tuple[str, str], ...] = (
    (
        "home",
        rf"where (?:do|did|am|are|was|were|have) {_ME} {_NOW}(?:live|living|based|resid(?:e|ing)|moved?|settled?)\b",
    ),
    (
        "home",
        rf"(?:in )?(?:which|what) (?:city|town|place|country|village) (?:do|did|am|are|was) {_ME} {_NOW}liv(?:e|ing)",
    ),
    ("home", rf"where(?: is|'s|’s) {_MY} home"),
    ("employer", rf"where (?:do|did|am|are|was) {_ME} {_NOW}(?:work|working|employed)\b"),
    ("employer", rf"(?:who|whom|which company|what company) (?:do|did|am) {_ME} {_NOW}work(?:ing)?\b"),
    ("job", rf"what (?:do|did|am) {_ME} {_NOW}(?:do|doing|work as|working as)(?: for (?:a living|work))?"),
    ("major", rf"(?:what|which subject|what subject) (?:do|did|am) {_ME} {_NOW}(?:study|studying|majoring in)"),
    ("car", rf"(?:what|which)(?: car| vehicle)? (?:do|did|am) {_ME} {_NOW}(?:drive|driving)"),
    ("partner", rf"(?:who|whom) (?:am|are|was) {_ME} {_NOW}(?:dating|married to|engaged to|seeing|with)"),
    ("name {}", rf"what(?: is|'s|’s| was) the name of {_MY} {_NAMED}"),
    ("name {}", rf"what(?: is|'s|’s| was) {_MY} {_NAMED} (?:called|named)"),
    (
        "favourite {}",
        rf"(?:what|which) {_NAMED} (?:do|did) {_ME} (?:like|love|enjoy|prefer)(?: (?:the )?(?:best|most))?",
    ),
    ("{}", rf"(?:what|which|who|how|when|where)(?: is|'s|’s| are| was| were) {_MY} {_NAMED}"),
    ("{}", rf"(?:what|which) {_NAMED} (?:do|did|am|have) {_ME} {_NOW}(?:have|own|use|using|got)"),
    ("{}", rf"{_MY} {_NAMED}"),
)
_COMPILED = tuple((form, re.compile(pattern + r"$", re.IGNORECASE)) for form, pattern in _RULES)


def find_asked_attribute(question: str) -> AskedAttribute | None:
    """Return the attribute of a person, such as the home, that a question asks for; None without an attribute.

    >>> find_asked_attribute("Where do I live now?")
    AskedAttribute(attribute='home', speaker='', is_past=False)
    >>> find_asked_attribute("What was Ann's favorite color before?")
    AskedAttribute(attribute='favourite colour', speaker='Ann', is_past=True)
    """
    plain, speaker = _rewrite_for_asker(_LEAD.sub("", question.strip()))
    is_past = bool(_PAST.search(plain))
    plain = _TAIL.sub("", _PAST.sub("", plain) if is_past else plain).strip()
    for form, pattern in _COMPILED:
        match = pattern.match(plain)
        if match is None:
            continue
        named = attribute_form(match["attribute"]) if "{}" in form else ""
        attribute = f"{named} name" if form == "name {}" else attribute_form(form.format(named))
        return AskedAttribute(attribute, speaker, is_past) if attribute.strip() else None
    return None


_OVER = re.compile(
    r"\b(?:did|was|were|had|been|before|previous(?:ly)?|former(?:ly)?|used to|original(?:ly)?|initial(?:ly)?|first|"
    r"earlier|in the past|back then|history|ever|over time|chang(?:e|es|ed|ing)|so far|since|ago|last|passed|between|"
    r"(?:have|has) (?:i|we)|(?<!do )(?:i|we)(?:['’]ve| have))\b(?! got\b)",
    re.IGNORECASE,
)
_FOR_ADVICE = re.compile(
    r"\b(?:should|could|would|might|may|suggest\w*|recommend\w*|advi[sc]e|help|explain|summar\w+|compare|ideas?|"
    r"tips?|you)\b",
    re.IGNORECASE,
)
_OF_ASKER = re.compile(r"\b(?:i|we|my|our|mine|ours|me|us)\b", re.IGNORECASE)
_PRESENT = re.compile(
    r"(?:(?:in|at|to|for|by|on) )?(?:what|which|who|whom|where|when|how)(?:['’]s|\b.*?\b(?:are|do|have|\w+s))\b",
    re.IGNORECASE,
)


def asks_for_now(question: str) -> bool:
    """Return whether a question asks how something is at present, whatever it is; English only.

    >>> asks_for_now("How many hens do I have?"), asks_for_now("Who feeds the cat?")
    (True, True)
    >>> asks_for_now("Where did I live before?"), asks_for_now("What should I cook?")
    (False, False)
    """
    plain = _LEAD.sub("", question.strip())
    is_of_now = bool(_OF_ASKER.search(plain) or _PRESENT.match(plain))
    return is_of_now and not _OVER.search(plain) and not _FOR_ADVICE.search(plain)


_ASKED = r"(?:which|what|whose)(?! (?:size|kind|sort|type)\b)(?: \w+){0,2}?"
_SEVERAL = re.compile(
    rf"^(?:\w+ ){{0,2}}{_ASKED} (?!\w*(?:ss|us|is|'s)\b)\w+s (?:do|am|are|is|have|can|does)\b|"
    rf"^{_ASKED} (?:people|children|meds|animals|stuff|things)\b|^who all\b|^what (?:are|were) (?:my|our)\b",
    re.IGNORECASE,
)


def asks_for_several(question: str, nouns: Sequence[str] = ()) -> bool:
    """Return whether a question asks for several values: it begins with "which" and a plural, or names ``nouns``.

    >>> asks_for_several("which languages am I learning?"), asks_for_several("which bus do I take?")
    (True, False)
    >>> asks_for_several("who is on my team?", ["team"])
    True
    """
    return bool(_SEVERAL.search(question.strip())) or not {*words(question)}.isdisjoint(nouns)


def _rewrite_for_asker(question: str) -> tuple[str, str]:
    """Return the question as the person that it names would ask it, and the person; empty if it names nobody."""
    for pattern, own in zip(_OF_ANOTHER, ("do I", "my"), strict=True):
        match = pattern.search(question)
        if match is not None and match.start() > 0:
            return f"{question[: match.start()]}{own}{question[match.end() :]}", match["who"]
    return question, ""
