"""Read attribute and value from a parsed clause, by relations of the speaker's own things and by families of verbs.

The module knows one clause and its tree (``parse_tree``). English only. A verb with its preposition or object names the
attribute, in any tense, voice or order ("hired by", "been living in"); the noun phrase there is the value. Invariants:
a value occurs in the clause word for word; a denied, planned or past clause gives no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import Word
from memgraph_rag.facts.grammar.attributes import attribute_form, has_many_values, is_family
from memgraph_rag.facts.grammar.parse_tree import Tree
from memgraph_rag.facts.grammar.values import is_value
from memgraph_rag.facts.grammar.verb_families import (
    CAMPUS,
    CAR_BRANDS,
    DIETS,
    FAMILIES,
    FIELD,
    INSTRUMENTS,
    OCCUPATIONS,
    TONGUES,
)

__all__ = ["addresses", "checked", "may_be_parsed", "read_parsed"]


_HIRE = frozenset("hire employ recruit headhunt poach pay".split())  # noqa: SIM905
_BE = frozenset({"be", "become", "remain"})
_CHANGE = frozenset("change switch swap trade replace update upgrade exchange move turn".split())  # noqa: SIM905
_CHOOSE = frozenset("choose pick select go settle opt decide use".split())  # noqa: SIM905
_GAIN = frozenset("get buy adopt have find join use own drive order pick acquire purchase follow keep carry".split())  # noqa: SIM905
_JOIN = frozenset("join sign train go switch use".split())  # noqa: SIM905
_DEVICES = frozenset(
    "diet laptop computer tablet phone smartphone camera console monitor bike bicycle motorbike scooter car".split()  # noqa: SIM905
)
_NAME = frozenset({"call", "name"})
_PETS = frozenset("dog cat puppy kitten hamster rabbit parrot horse pony turtle tortoise goldfish".split())  # noqa: SIM905
_NAMED = "\0"  # before a value that is the name of the thing
_OWN = frozenset({"my", "our"})
_LIKING = frozenset({"like", "love", "enjoy", "prefer"})
_USING = frozenset("use drive learn play study speak follow go have support".split())  # noqa: SIM905
_CUE = re.compile(r"\b(?:i|we|my|our|me|us)\b", re.IGNORECASE)
_CAPITAL = re.compile(r"^(?!I\b|We\b|My\b|Our\b)[A-Z]\w*(?= (?:is|has|and|hired|pays)\b)|(?<=\s)(?!I\b|My\b)[A-Z]\w")
_PLAIN = re.compile(r"[\w-]+")
_KNOWN = DIETS | TONGUES | INSTRUMENTS | OCCUPATIONS
_THINGS = frozenset("favourite favorite prefer best called named as became promoted".split())  # noqa: SIM905
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+(?<!\.)")
_NUMBER = re.compile(r"\+?\(?\d[\d ()/-]{5,}\d")
_REACH = re.compile(
    r"\b(?:(?:reach|call|text|ring|phone|write|mail|email|message|contact)(?: to)? (?:me|us)\b"
    r"|(?:my|our|new) (?:\w+ )?(?:number|line|sim|mail|e-?mail|inbox|address)\b)",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"(?:\bfrom|no longer|\bnot|\bold|\bclosed|\brid of|instead of|\breplaced)(?: \w+)?\s*$", re.IGNORECASE
)


def may_be_parsed(clause: str) -> bool:
    """Whether a clause is worth a parse: it speaks of its speaker, and holds a name, or a word that may be a value."""
    if not _CUE.search(clause):
        return False
    if _CAPITAL.search(clause):
        return True
    words = set(_PLAIN.findall(clause.lower()))
    return bool(words & _KNOWN) or any(FIELD.fullmatch(word) for word in words) or bool(words & _THINGS)


def read_parsed(clause: str, words: Sequence[Word]) -> tuple[str, str] | None:
    """The attribute, in its form, and the value that a clause gives it; None where none is read."""
    tree = Tree(clause, words)
    for attribute, value in _readings(tree):
        form = attribute_form(attribute)
        if value and form and not has_many_values(form) and is_value(value, is_family=is_family(form)):
            return form, value
    return None


def checked(read: tuple[str, str], clause: str, words: Sequence[Word]) -> tuple[str, str] | None:
    """What a pattern read in a clause, its value without what follows the noun phrase; None where the verb denies it.

    "Berlin with a wooden box" is "Berlin"; "I don't drive a Skoda" and "I lived in Oslo" state nothing.
    """
    attribute, value = read
    start = clause.find(value)
    end = start + len(value)
    within = [place for place, word in enumerate(words) if start <= word.start and word.end <= end]
    top = next((place for place in within if words[place].head not in within or words[place].head == place), None)
    if top is None:
        return read
    tree = Tree(clause, words)
    verb = tree.governor(top)
    if verb is not None and (tree.is_denied(verb) or _is_over(tree, verb, attribute)):
        return None
    first, last = tree.span(top)
    is_whole = words[first].start <= start and words[last].end < end and tree.phrase(top)
    return attribute, clause[start : words[last].end] if is_whole else value


def _is_over(tree: Tree, verb: int, attribute: str) -> bool:
    families = [each for each in FAMILIES if each.attribute == attribute and tree.words[verb].lemma in each.verbs]
    return tree.is_past(verb) and bool(families) and all(family.is_state for family in families)


def _readings(tree: Tree) -> Iterator[tuple[str, str]]:
    for verb in tree.verbs():
        yield from _of_family(tree, verb)
    things = list(_own_things(tree))
    for noun, attribute in things:
        for value in _tied(tree, noun, attribute):
            is_named = value.startswith(_NAMED)
            yield (f"{attribute} name" if is_named else attribute), value.removeprefix(_NAMED)
    if len(things) == 1:
        yield from ((things[0][1], value) for value in _taken_up(tree, things[0][0]))
    for verb in tree.verbs():
        yield from _described(tree, verb)
    yield from _done_to_speaker(tree)
    yield from _couples(tree)


# ── the speaker's own things ─────────────────────────────────────────────────────────────────────────────


def _own_things(tree: Tree) -> Iterator[tuple[int, str]]:
    """The nouns that the speaker calls its own, and their names: "my …", "the drink that I like best"."""
    for place, word in enumerate(tree.words):
        if not word.tag.startswith("NN"):
            continue
        first, last = tree.span(place)
        if tree.surfaces[first] in _OWN and word.relation != "poss":
            parts = [tree.text[each.start : each.end] for each in tree.words[first + 1 : last + 1]]
            plain = [part for part in parts if not part[0].isupper()]
            whole = tree.text[tree.words[first + 1].start : word.end] if first < place else ""
            if len(plain) == len(parts):
                yield place, whole
            elif word.tag == "NN":
                yield place, " ".join(plain)
        elif tree.surfaces[first] in ("the", "what") and (verb := _own_clause(tree, place)) is not None:
            lemma = tree.words[verb].lemma
            if lemma in _LIKING:
                yield place, f"favourite {word.lemma}"
            elif lemma in _USING and is_family(word.lemma):
                yield place, word.lemma


def _own_clause(tree: Tree, noun: int) -> int | None:
    for verb in tree.children(noun, "relcl"):
        subject = tree.children(verb, "nsubj")
        if subject and tree.surfaces[subject[0]] in ("i", "we") and not tree.is_past(verb):
            return verb
    return None


def _taken_up(tree: Tree, noun: int) -> Iterator[str]:
    """What "it" is behind the thing: "as for my favourite drink, it's cider"."""
    for verb, word in enumerate(tree.words):
        subject = tree.children(verb, "nsubj")
        is_it = bool(subject) and subject[0] > noun and tree.surfaces[subject[0]] in ("it", "that")
        if is_it and word.lemma in _BE and not tree.is_past(verb) and tree.is_asserted(verb):
            yield from (tree.phrase(value) for value in tree.children(verb, "attr"))


def _tied(tree: Tree, noun: int, attribute: str) -> Iterator[str]:
    """What is said to be the thing."""
    word = tree.words[noun]
    verb = word.head
    lemma, relation = tree.words[verb].lemma, word.relation
    for beside in tree.children(noun, "appos"):
        between = tree.text[word.end : tree.words[tree.span(beside)[0]].start].strip()
        if between == "," or is_family(attribute_form(attribute)):  # not "my custom CSS"
            yield tree.phrase(beside)
    holds = tree.words[verb].tag.startswith("VB") and tree.is_asserted(verb)
    if holds and relation in ("nsubj", "nsubjpass"):
        if lemma in _BE and not tree.is_past(verb):
            for value in tree.children(verb, "attr", "oprd", "acomp", "dobj"):
                yield tree.phrase(value)
        if lemma in _CHANGE:
            yield from map(tree.phrase, tree.objects(verb, ("to", "with", "for", "by")))
        if lemma in _NAME:
            yield from (_NAMED + tree.phrase(value) for value in tree.children(verb, "oprd", "attr", "dobj"))
        if slot := {"answer": "to", "go": "by"}.get(lemma, ""):
            yield from (_NAMED + tree.phrase(value) for value in tree.objects(verb, (slot,)))
    if holds and relation == "attr" and lemma in _BE and not tree.is_past(verb):
        known = is_family(attribute_form(attribute))  # "Nature has always been my haven"
        yield from (tree.phrase(value) for value in tree.children(verb, "nsubj") if known or value > 0)
    if holds and relation == "dobj" and lemma in _CHANGE and tree.is_own(verb):
        yield from map(tree.phrase, tree.objects(verb, ("to", "with", "for", "by", "into")))
    if relation == "pobj" and tree.surfaces[verb] in ("as", "for"):
        head = tree.words[verb].head
        is_chosen = tree.words[head].lemma in _CHOOSE and is_family(attribute_form(attribute))
        if tree.surfaces[verb] == "for" and not is_chosen:
            return
        while tree.words[head].tag[:2] in ("NN", "IN") and tree.words[head].head != head:
            head = tree.words[head].head  # a preposition may be tied to the noun before it
        if tree.words[head].tag.startswith("VB") and tree.is_asserted(head) and tree.is_own(head):
            yield from (tree.phrase(value) for value in tree.children(head, "dobj"))
            yield from map(tree.phrase, tree.objects(head, ("to", "with", "on")))


# ── what the speaker does ────────────────────────────────────────────────────────────────────────────────


def _of_family(tree: Tree, verb: int) -> Iterator[tuple[str, str]]:
    lemma = tree.words[verb].lemma
    is_past = tree.is_past(verb)
    beside = {tree.surfaces[child] for child in tree.children(verb)}
    beside |= {tree.words[child].lemma for child in tree.children(verb, "dobj")}
    for family in FAMILIES:
        if lemma not in family.verbs or (family.is_state and is_past) or (family.beside and not beside & family.beside):
            continue
        if family.slots and not family.beside and tree.children(verb, "dobj"):
            continue  # "I moved my notes to Obsidian"
        if lemma == "work" and "out" in beside and family.attribute != "gym":
            continue
        nouns = tree.objects(verb, family.slots) if family.slots else tree.children(verb, "dobj", "attr", "oprd")
        for noun in nouns:
            if _fits(tree, noun, family.needs):
                yield family.attribute, tree.phrase(noun)
    if lemma == "go" or (not is_past and lemma in ("be", "become", "turn", "eat", "stay", "follow")):
        for child in {*tree.children(verb), min(verb + 1, len(tree.words) - 1)}:
            if tree.surfaces[child] in DIETS:
                yield "diet", tree.text[tree.words[child].start : tree.words[child].end]


def _fits(tree: Tree, noun: int, needs: str) -> bool:
    value = tree.phrase(noun)
    plain = re.sub(r"^(?:an?|the|my|our) ", "", value, flags=re.IGNORECASE)
    determiner = value.lower().split(" ")[0] if value else ""
    last = tree.surfaces[noun]
    match needs:
        case "name":
            return (
                bool(plain)
                and plain[0].isupper()
                and tree.words[noun].tag.startswith("NN")
                and not CAMPUS.search(plain)
            )
        case "thing":
            return determiner in ("a", "an", "my", "our") and plain[:1].isupper()
        case "brand":
            return bool(set(plain.lower().split()) & CAR_BRANDS) and plain[0].isupper()
        case "work":
            return determiner in ("a", "an") and tree.words[noun].tag == "NN"
        case "trade":
            return determiner in ("a", "an") and last in OCCUPATIONS
        case "field":
            return determiner not in ("a", "an", "the", "my", "our") and bool(FIELD.fullmatch(last))
        case "campus":
            return bool(CAMPUS.search(plain)) and any(part[0].isupper() for part in plain.split())
        case "tongue":
            return last in TONGUES
        case "music":
            return last in INSTRUMENTS
        case _:
            return tree.words[noun].tag.startswith("NN")


def _described(tree: Tree, verb: int) -> Iterator[tuple[str, str]]:
    """A kind of thing that the verb is about, and which one: "a gym called V", "a V laptop", "V, the gym near here"."""
    lemma = tree.words[verb].lemma
    nouns = [*tree.children(verb, "dobj"), *tree.objects(verb, ("at", "to", "on", "with", "into"))]
    for noun in nouns:
        kind = tree.words[noun].lemma.lower()
        for naming in tree.children(noun, "acl"):
            is_only = tree.surfaces[tree.span(noun)[0]] != "another"
            if is_only and tree.words[naming].lemma in _NAME and lemma in _GAIN | _JOIN:
                for value in tree.children(naming, "oprd", "attr", "dobj"):
                    yield _kind_name(kind), tree.phrase(value)
        if lemma in _GAIN and kind in _DEVICES and not (lemma in ("have", "use", "drive") and tree.is_past(verb)):
            yield from _compound(tree, noun, kind)
        if lemma in _JOIN:
            for other in tree.children(noun, "appos"):
                if tree.surfaces[tree.span(other)[0]] in ("the", "a", "our", "my") and _is_thing(
                    tree.words[other].lemma
                ):
                    yield tree.words[other].lemma, tree.phrase(noun)
        if lemma == "take" and kind in ("lesson", "class", "course"):
            for modifier in tree.children(noun, "amod", "compound"):
                if tree.surfaces[modifier] in TONGUES:
                    yield "language", tree.text[tree.words[modifier].start : tree.words[modifier].end]
        if lemma == "prefer":
            for other in tree.objects(verb, ("to", "over", "of")):
                if is_family(tree.words[other].lemma):
                    yield f"favourite {tree.words[other].lemma}", tree.phrase(noun)
    if lemma in _NAME and tree.words[verb].relation == "conj":
        for noun in tree.children(tree.words[verb].head, "dobj"):
            if tree.words[noun].lemma.lower() in _PETS:
                for value in tree.children(verb, "oprd", "attr", "dobj"):
                    if tree.words[value].tag.startswith("NN"):
                        yield _kind_name(tree.words[noun].lemma.lower()), tree.phrase(value)


def _kind_name(kind: str) -> str:
    """The attribute that the name of such a thing is: a gym is what it is called, a dog is not."""
    kinds = {"puppy": "dog", "kitten": "cat"}
    return f"{kinds.get(kind, kind)} name" if kind in _PETS else kind if _is_thing(kind) else ""


def _is_thing(kind: str) -> bool:
    return is_family(attribute_form(kind)) and attribute_form(kind) not in ("home", "employer", "job")


def _compound(tree: Tree, noun: int, kind: str) -> Iterator[tuple[str, str]]:
    if not _is_thing(kind):
        return
    first, _ = tree.span(noun)
    parts = [
        place for place in range(first, noun) if tree.words[place].relation in ("compound", "amod", "nmod", "punct")
    ]
    if parts and kind == "diet":
        yield "diet", tree.text[tree.words[parts[0]].start : tree.words[noun - 1].end]
    while parts and not tree.text[tree.words[parts[0]].start].isupper():
        parts.pop(0)
    if parts:
        yield kind, tree.text[tree.words[parts[0]].start : tree.words[noun - 1].end]


def _done_to_speaker(tree: Tree) -> Iterator[tuple[str, str]]:
    """What others do to the speaker: "V hired me", "my doctor put me on a V diet"."""
    for verb, word in enumerate(tree.words):
        objects = tree.children(verb, "dobj", "dative")
        if not word.tag.startswith("VB") or not tree.is_asserted(verb) or not objects:
            continue
        is_me = tree.surfaces[objects[0]] in ("me", "us")
        is_pay = word.lemma == "pay" and tree.surfaces[tree.span(objects[0])[0]] in _OWN
        if (is_me and word.lemma in _HIRE) or is_pay:
            for subject in tree.children(verb, "nsubj"):
                if _fits(tree, subject, "name"):
                    yield "employer", tree.phrase(subject)
        if is_me:
            for noun in tree.objects(verb, ("on",)):
                if tree.words[noun].lemma == "diet":
                    yield from _compound(tree, noun, "diet")


def _couples(tree: Tree) -> Iterator[tuple[str, str]]:
    """Who "X and I" are, where these got engaged or married; whom the speaker has "been seeing"."""
    for place, word in enumerate(tree.words):
        if not word.tag.startswith("VB") or not tree.is_asserted(place) or not tree.is_own(place):
            continue
        subject = tree.subject(place)
        if word.lemma in ("engage", "marry") or tree.surfaces[place] in ("engaged", "married"):
            people = [] if subject is None else [subject, *tree.joined(subject)]
            names = [other for other in people if tree.words[other].tag.startswith("NNP")]
            if len(names) == 1:
                yield "partner", tree.text[tree.words[names[0]].start : tree.words[names[0]].end]
        has_been = {"been"} <= {tree.surfaces[child] for child in tree.children(place, "aux")}
        if word.lemma == "see" and word.tag == "VBG" and has_been:
            for other in tree.children(place, "dobj"):
                if _fits(tree, other, "name"):
                    yield "partner", tree.phrase(other)


# ── what is known by its form ────────────────────────────────────────────────────────────────────────────


def addresses(clause: str) -> Iterator[tuple[str, str]]:
    """An address or a number that the speaker can be reached under."""
    if "'s " in clause.replace("it's ", "").replace("that's ", "").replace("here's ", ""):
        return
    for attribute, pattern in (("email", _EMAIL), ("phone number", _NUMBER)):
        found = [match for match in pattern.finditer(clause) if not _GONE.search(clause[: match.start()])]
        if len(found) == 1 and _REACH.search(clause):
            yield attribute, found[0][0]
