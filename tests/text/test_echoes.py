"""Test which sentences are echoes of the memory's answers, and where they are found again."""

from __future__ import annotations

from dataclasses import replace

from tables import table

from memgraph_rag.text.echoes import find_origins, mark_segments, sentence_ids
from memgraph_rag.types import Citation, Segment

SPACE = "default"
ANSWER = "The keeper left because the lamp had failed twice. He never told his wife about it [1]."


def segment(text: str, *, document: str = "d", index: int = 0, speaker: str = "") -> Segment:
    return Segment(f"{document}{index}", document, index, text, 0, len(text), 9, speaker)


def known(text: str, *read: Segment) -> dict[str, frozenset[str]]:
    return find_origins(SPACE, text, read)


def echoes(*texts: str, of: str = ANSWER, read: tuple[Segment, ...] = (), speaker: str = "") -> list[bool]:
    """Return for each segment of a document whether it is an echo of an answer."""
    segments = [segment(text, document="new", index=place, speaker=speaker) for place, text in enumerate(texts)]
    return [checked.echo for checked in mark_segments(SPACE, segments, known(of, *read))]


@table(
    "text",
    [
        ANSWER,
        ANSWER.upper(),
        "  The keeper left\nbecause the lamp had failed [2, 3] twice.\n\nHe never told his wife about it!",
        "Answer: The keeper left because the lamp had failed twice. He never told his wife about it.",
        "assistant (2026-11-23): The keeper left because the lamp had failed twice. He never told his wife about it.",
        "assistant (2026-11-23T23:05:24+00:00): The keeper left because the lamp had failed twice.",
        "assistant (2026-11-23 23:05:24.5): The keeper left because the lamp had failed twice.",
        "He never told his wife about it.",
        "Yes. He never told his wife about it. No.",
    ],
)
def test_the_same_words_are_the_same_sentence(text: str) -> None:
    assert echoes(text) == [True]


@table(
    "text",
    [
        "The keeper left because the lamp had failed thrice.",
        "The keeper left because the lamp had failed. Twice he had mended it before the ship came in.",
        "He told his wife.",
        "",
        "It rained for nine days, and the river rose above the bridge. He never told his wife about it.",
    ],
)
def test_other_words_are_no_echo(text: str) -> None:
    assert echoes(text) == [False]


def test_short_sentence_is_no_echo() -> None:
    assert known("Yes. In Paris. He did not.") == {}
    assert len(known("守塔人离开了因为灯坏了两次而且他从来没有告诉过他的妻子这件事情。")) == 1


def test_segments_of_answers_in_text_are_echoes() -> None:
    rain = "It rained for nine days, and the river rose above the bridge. The miller lost his boat to it."
    assert echoes(rain, ANSWER, rain + " Nobody in the village was hurt.") == [False, True, False]


def test_a_new_version_of_what_was_quoted_is_no_echo_under_another_key() -> None:
    first = "The keeper left because the lamp had failed twice. "
    rest = "The new keeper came in May with a dog and two goats. He painted the tower white from top to bottom."
    source = segment(first + rest, document="old")
    assert echoes(first, rest, of=first, read=(source,)) == [False, False]
    assert echoes(first, of=first, read=(source,)) == [True], "nothing but what was quoted"


def test_sentence_said_before_answer_is_no_echo_in_its_document() -> None:
    source = segment(ANSWER, document="new")
    assert echoes(ANSWER, read=(source,)) == [False]
    assert echoes(ANSWER, read=(replace(source, document_id="other"),)) == [True]


def test_the_whole_text_that_was_quoted_is_no_echo_under_another_key() -> None:
    source = segment(ANSWER, document="old")
    new = segment(ANSWER, document="new")
    (same,) = mark_segments(SPACE, [new], known(ANSWER, source), same_text=["old"])
    (other,) = mark_segments(SPACE, [new], known(ANSWER, source), same_text=["another"])
    assert (same.echo, other.echo) == (False, True)


def test_a_cited_document_is_an_origin_of_the_quoted_sentence() -> None:
    quote = ANSWER.partition(". ")[0] + "."
    cited = Citation("new", "key", "gone", 0, len(quote), quote, 1.0)
    origins = find_origins(SPACE, ANSWER, [], [cited])
    assert sorted(origins.values(), key=len) == [frozenset(), frozenset({"new"})]


def test_turn_has_its_speaker_as_origin() -> None:
    said = segment(ANSWER, speaker="ann")
    assert echoes(f"ann: {ANSWER}", read=(said,), speaker="ann") == [False]
    assert echoes(f"assistant (2024-05-01): {ANSWER}", read=(said,), speaker="assistant") == [True]


def test_evidence_of_document_stays_evidence() -> None:
    new = segment(ANSWER, document="new")
    (kept,) = mark_segments(SPACE, [new], known(ANSWER), segments_before=[new])
    (marked_again,) = mark_segments(SPACE, [new], known(ANSWER), segments_before=[replace(new, echo=True)])
    assert (kept.echo, marked_again.echo) == (False, True)


def test_ids_are_of_one_namespace() -> None:
    ids = set(find_origins(SPACE, ANSWER, ()))
    assert ids == sentence_ids(SPACE, [segment(ANSWER)])
    assert not ids & sentence_ids("other", [segment(ANSWER)])
