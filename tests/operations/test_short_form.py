"""The short form of an answer, with scripted replies; what real models make of it is measured in docs/results.md."""

from __future__ import annotations

import pytest

from memgraph_rag.errors import WindowExceeded
from memgraph_rag.operations.short_form import short_form
from memgraph_rag.testing import FakeLanguageModel

QUESTION = "Where did Ann find the fox?"
SENTENCE = "Ann found the red fox in the old barn."


def shortened(sentence: str, *replies: str) -> tuple[str, int]:
    """The short form, and how many requests it cost."""
    with FakeLanguageModel(said=replies).open_session(QUESTION) as session:
        session.append(["Ann found the red fox in the old barn."])
        before = session.usage.model_calls
        phrase = short_form(session, QUESTION, sentence)
        return phrase, session.usage.model_calls - before


@pytest.mark.parametrize(
    ("reply", "phrase"),
    [
        ("in the old barn", "in the old barn"),
        ("a barn", "a barn"),
        (' "The old barn." ', "The old barn"),
        ("\n\nthe old barn\nBecause she looked there.", "the old barn"),
        ("", "Ann found the red fox in the old barn"),
        ("Yes.", "Yes"),
        ("It was in the old barn, as the information above says twice.", "Ann found the red fox in the old barn"),
    ],
)
def test_short_form_is_one_line_of_the_reply(reply: str, phrase: str) -> None:
    assert shortened(SENTENCE, reply) == (phrase, 1)


@pytest.mark.parametrize(
    ("sentence", "phrase"), [("Yes.", "Yes"), ("Ann Lee.", "Ann Lee"), ("B", "B"), ("1.5 km", "1.5 km")]
)
def test_short_answer_is_its_own_short_form(sentence: str, phrase: str) -> None:
    assert shortened(sentence) == (phrase, 0)


def test_full_window_leaves_short_form_empty() -> None:
    with FakeLanguageModel().open_session(QUESTION) as session:
        session.reply = _full  # type: ignore[method-assign]
        assert short_form(session, QUESTION, SENTENCE) == ""


def _full(*_: object, **__: object) -> str:
    raise WindowExceeded("full", tokens=9, window=8)
