"""The phrases of triples, as the released code of HippoRAG compares and embeds them.

The module works on texts and vectors only. Invariants: two phrases are one if they differ only in case and in
characters that are neither letters nor digits; a near-synonym of a phrase is another phrase.

Source: HippoRAG (released code 1 and 2): ``processing_phrases``, ``add_synonymy_edges``. There, letters and digits are
those of ASCII; here they are those of any script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memgraph_rag.types import Annotation, Matrix, Relation, Vector, entity_id

_OTHER = re.compile(r"[^\w ]|_")
_SURE_COSINE = 0.8
_MOST_SYNONYMS = 101  # of one phrase
_LEAST_CHARACTERS = 3  # of a phrase that has near-synonyms
_AT_ONCE = 1_024  # phrases that are compared with all others in one product


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple (subject, relation, object) as the search compares it.

    Attributes:
        relation: the triple as a relation between two phrases, by their ids.
        phrases: subject and object in their forms (``phrase_form``).
        text: the text that is embedded.
    """

    relation: Relation
    document_id: str
    phrases: tuple[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """An end of triples. ``similar`` are its near-synonyms as (id, cosine), by id."""

    id: str
    embedding: Vector
    similar: tuple[tuple[str, float], ...] = ()


def phrase_form(phrase: str) -> str:
    """Return a phrase in the form in which phrases are compared; empty without a letter or digit.

    >>> phrase_form(" The Mad Hatter's "), phrase_form("J.R.R. Tolkien")
    ('the mad hatter s', 'j r r  tolkien')
    """
    return _OTHER.sub(" ", phrase.lower()).strip()


def phrase_id(namespace: str, form: str) -> str:
    """Return the id of a phrase. An entity of the graph whose normal form equals the phrase has the same id."""
    return entity_id(namespace, form)


def read_facts(annotations: Sequence[Annotation], namespace: str) -> Iterator[Fact]:
    """Yield the facts of annotations of the layer ``triples``, each fact of a segment once.

    An annotation with an empty subject, relation or object is left out.
    """
    seen: set[tuple[str, ...]] = set()
    for item in annotations:
        forms = tuple(phrase_form(str(item.properties.get(part, ""))) for part in ("subject", "relation", "object"))
        if not all(forms) or (item.segment_ids[0], *forms) in seen:
            continue
        seen.add((item.segment_ids[0], *forms))
        first, last = forms[0], forms[2]
        ends = phrase_id(namespace, first), phrase_id(namespace, last)
        relation = Relation(item.id, *ends, item.text, item.segment_ids[0])
        yield Fact(relation, item.document_id, (first, last), str(forms))  # the released code embeds the tuple


def find_synonyms(forms: Mapping[str, str], vectors: Matrix, known: Mapping[str, Phrase]) -> list[Phrase]:
    """Return phrases with their near-synonyms among themselves and the known ones: cosine of at least 0.8.

    A phrase of less than three letters and digits has none. A phrase has at most its 101 nearest ones.

    Args:
        forms: the forms of the phrases, by id.
        vectors: (p, d) their embeddings, in the same order.
        known: further phrases, by id.
    """
    ids = [*forms, *known]
    others = np.array([known[name].embedding for name in known], np.float32).reshape(len(known), vectors.shape[1])
    everything = np.concatenate([vectors, others])
    has_synonyms = [len(form.replace(" ", "")) >= _LEAST_CHARACTERS for form in forms.values()]
    names: list[Phrase] = []
    for start in range(0, len(forms), _AT_ONCE):
        cosines = vectors[start : start + _AT_ONCE] @ everything.T
        for place, row in enumerate(cosines, start):
            near = np.flatnonzero(row >= _SURE_COSINE) if has_synonyms[place] else ()
            best = sorted((at for at in near if at != place), key=lambda at, row=row: (-row[at], ids[at]))
            pairs = sorted((ids[at], float(row[at])) for at in best[:_MOST_SYNONYMS])
            names.append(Phrase(ids[place], vectors[place], tuple(pairs)))
    return names
