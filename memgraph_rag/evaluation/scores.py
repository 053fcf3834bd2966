"""The scores of a question's outcome.

It knows text and numbers, no memory. Invariant: every score is a pair (what was gained, out of what), so that a figure
over questions is the sum of the first over the sum of the second.

F1, exact match, ROUGE-L and BLEU-4 are of the answer's phrase, as LongBench, HotpotQA and GARLIC score one short reply,
or of its sentence if all reference answers are longer than a phrase. Containment is of the sentence. ROUGE-L is the
F-measure of ``rouge-score``, without stemming. BLEU-4 is that of a sentence, by ``sacrebleu``: the n-grams that a
sentence can have are counted, and counts of 0 are smoothed.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from memgraph_rag.errors import SettingsError
from memgraph_rag.evaluation.dataset import Folder, Question, Span
from memgraph_rag.evaluation.outcomes import Outcome
from memgraph_rag.evaluation.retrieval import CUTOFFS, evidence_shares

Scores = Mapping[str, tuple[float, float]]

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_LONGEST_PHRASE = 24  # words: as many tokens a phrase has at most
_LETTER = re.compile(
    r"\W*(?:([A-Z])(?=\W*$|[.):,])|(?i:(?:the )?(?:correct )?(?:answer|option)(?: is)?)\W*([A-Z])(?![\w'’]))"
)


def score_outcome(folder: Folder, question: Question, outcome: Outcome) -> Scores:
    """Score the outcome of one question: return by metric (numerator, denominator), which are summed over questions.

    Metrics that do not apply are missing. A search has the shares of its evidence. An answer that is an abstention or
    an error counts as an empty reply, and has no "citation precision".
    """
    if outcome.method.startswith("search "):
        shares = evidence_shares(folder, question, outcome.found, CUTOFFS[folder.kind])
        return {metric: (share, 1.0) for metric, share in shares.items()}
    reply = "" if outcome.abstained or outcome.error else outcome.answer
    scores = dict(_abstention(question, abstained=outcome.abstained))
    if question.options:
        right = find_chosen_option(reply, question.options) == question.gold
        scores[f"accuracy of {len(question.options)}"] = (float(right), 1.0)
    elif question.answers and not question.unanswerable:
        are_long = all(len(answer.split()) > _LONGEST_PHRASE for answer in question.answers)
        text = reply if are_long or not reply else outcome.short or reply
        for name, metric, given in (("F1", f1, text), ("EM", exact_match, text), ("containment", containment, reply),
                                    ("ROUGE-L", rouge_l, text), ("BLEU-4", bleu, text)):  # fmt: skip
            scores[name] = (max(metric(given, answer) for answer in question.answers), 1.0)
    if question.has_evidence and reply:
        scores["citation precision"] = _count_cited(folder, question, [span for span, _ in outcome.found])
    return scores


def _abstention(question: Question, *, abstained: bool) -> Scores:
    """Return the metrics of abstaining. "refused" counts abstentions from questions that have an answer."""
    if not question.unanswerable:
        return {
            "refused": (float(abstained), 1.0),
            "abstention precision": (0.0, float(abstained)),
            "abstention F1": (0.0, float(abstained)),
        }
    right = float(abstained)
    return {
        "abstention precision": (right, right),
        "abstention recall": (right, 1.0),
        "abstention F1": (2 * right, 1.0 + right),
    }


def _count_cited(folder: Folder, question: Question, citations: Sequence[Span]) -> tuple[float, float]:
    """Return how many citations overlap the evidence: its spans, or the turns or documents that hold it."""
    if question.spans:
        good = sum(
            any(key == other and start < last and first < end for other, first, last in question.spans)
            for key, start, end in citations
        )
    else:
        good = sum(folder.find_evidence_unit(key, start) in question.units for key, start, _ in citations)
    return float(good), float(len(citations))


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────


def f1(reply: str, answer: str) -> float:
    """Return the word F1 of a reply and an answer, from 0 to 1, without case, punctuation and articles.

    >>> round(f1("Peter the rabbit", "Peter Rabbit."), 2), f1("a cat", "the dog")
    (1.0, 0.0)
    """
    ours, theirs = _normalise(reply).split(), _normalise(answer).split()
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0


def exact_match(reply: str, answer: str) -> float:
    """Return 1 if the texts are equal except for case, punctuation, articles and white space, else 0."""
    return float(_normalise(reply) == _normalise(answer))


def containment(reply: str, answer: str) -> float:
    """Return 1 if the reply contains the words of the answer in sequence, else 0; compared as by ``exact_match``.

    >>> containment("It was Peter Rabbit.", "peter rabbit"), containment("It rained on Sunday.", "sun")
    (1.0, 0.0)
    """
    return float(bool(_normalise(answer)) and f" {_normalise(answer)} " in f" {_normalise(reply)} ")


def rouge_l(reply: str, answer: str) -> float:
    """Return the F-measure of ROUGE-L of a reply for an answer, from 0 to 1.

    Raises:
        SettingsError: rouge-score is not installed.
    """
    return float(_rouge().score(answer, reply)["rougeL"].fmeasure)


def bleu(reply: str, answer: str) -> float:
    """Return BLEU of a reply for an answer, from 0 to 1: exponential smoothing, n-grams up to 4 and up to its length.

    Raises:
        SettingsError: sacrebleu is not installed.
    """
    return float(_bleu().sentence_score(reply, [answer]).score) / 100


def find_chosen_option(reply: str, options: Sequence[str]) -> int | None:
    """Return the index of the option of a multiple choice that a reply names; None if it names no single option.

    The letter at the beginning of the reply decides ("B", "(B) …", "Answer: B", "The answer is B."), then the only
    option that the reply contains, then the option that shares most words with the reply.

    >>> options = ("in the garden", "in the shed")
    >>> [find_chosen_option(said, options) for said in ("B. In the shed", "He hid in the shed.", "No.", "B")]
    [1, 1, None, 1]
    """
    letter = _LETTER.match(reply)
    if letter and (place := ord(letter[1] or letter[2]) - ord("A")) < len(options):
        return place
    for metric in (containment, f1):
        gained = [metric(reply, option) for option in options]
        if max(gained) > 0 and gained.count(max(gained)) == 1:
            return gained.index(max(gained))
    return None


def _normalise(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def require_metrics() -> None:
    """Check, before any question is asked, that the packages for ROUGE and BLEU are installed.

    Raises:
        SettingsError: rouge-score or sacrebleu is not installed.
    """
    for package in ("rouge-score", "sacrebleu"):
        if find_spec(package.replace("-", "_")) is None:
            raise SettingsError(
                f"Expected the package {package} for the scores of answers, got none. "
                'Install it: pip install "memgraph_rag[evaluation]", or leave out --strategies to score searches.',
                package=package,
            )


@cache
def _rouge() -> Any:
    require_metrics()
    from rouge_score.rouge_scorer import RougeScorer  # loads nltk, which takes a second

    return RougeScorer(["rougeL"])


@cache
def _bleu() -> Any:
    require_metrics()
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)
