"""What the model is told when it reads: the words only.

Written in our own words after PECAN, appendix (search prompt). It knows no template and no token. Invariant:
the part that never changes comes first, so that its cache can be reused; the nodes come last.
"""

from __future__ import annotations

from memgraph_rag.types import Prompt

__all__ = ["PROBE_NO", "PROBE_YES", "answer_request", "node_line", "prompt_text", "question_head"]

PROBE_YES = "Yes"
PROBE_NO = "No"

_QUESTION = (
    "Can the question be answered from the information below? Reply with one word, Yes or No, without explanation.\n\n"
    "Question: {question}\n\n"
    "Information:\n"
)


def prompt_text(prompt: Prompt) -> tuple[str, list[tuple[int, int]]]:
    """A prompt as one message, and the characters of it that are each input."""
    text, characters = prompt.instruction + "\n\n", []
    for line in prompt.inputs:
        characters.append((len(text), len(text) + len(line)))
        text += line + "\n"
    if prompt.task:
        text += "\n" + prompt.task
    return text, characters


def question_head(question: str) -> tuple[str, tuple[int, int]]:
    """Everything before the first node, and the characters of it that are the question."""
    start = _QUESTION.index("{question}")
    return _QUESTION.replace("{question}", question), (start, start + len(question))


def node_line(text: str) -> tuple[str, tuple[int, int]]:
    """A node as a bullet line, and the characters of it that are the node's text."""
    return f"* {text}\n", (2, 2 + len(text))


def answer_request(question: str) -> str:
    """What is said after the probe to get the answer.

    The question is said again: without it the 1.5B model answers the probe ("No") or with one name.
    """
    return f"Answer the question from the information above, in one short sentence.\n\nQuestion: {question}"
