"""The texts of the prompts with which the model reads.

The texts follow PECAN, appendix (search prompt), in our own words. The module does not know templates or tokens.
Invariant: the part that never changes comes first, so that its cache can be reused; the nodes come last.
"""

from __future__ import annotations

from memgraph_rag.types import Prompt

PROBE_YES = "Yes"
PROBE_NO = "No"

_QUESTION = (
    "Can the question be answered from the information below? Reply with one word, Yes or No, without explanation.\n\n"
    "Question: {question}\n\n"
    "Information:\n"
)


def prompt_text(prompt: Prompt) -> tuple[str, list[tuple[int, int]]]:
    """Return a prompt as one message, and the half-open character range of each input in it.

    The order is: instruction, a blank line, each input with a line end, and the task after a blank line if there is
    one.
    """
    text, characters = prompt.instruction + "\n\n", []
    for line in prompt.inputs:
        characters.append((len(text), len(text) + len(line)))
        text += line + "\n"
    if prompt.task:
        text += "\n" + prompt.task
    return text, characters


def question_head(question: str) -> tuple[str, tuple[int, int]]:
    """Return the search prompt up to its first node, and the half-open character range of the question in it."""
    start = _QUESTION.index("{question}")
    return _QUESTION.replace("{question}", question), (start, start + len(question))


def node_line(text: str) -> tuple[str, tuple[int, int]]:
    """Return a node as a bullet line, and the half-open character range of the node's text in it."""
    return f"* {text}\n", (2, 2 + len(text))


def answer_request(question: str) -> str:
    """Return the usual request for an answer in one short sentence, with the question in it.

    It follows the probe, the request to say Yes or No. Without the question, the 1.5B model answers the probe ("No"),
    or gives only a name.
    """
    return f"Answer the question from the information above, in one short sentence.\n\nQuestion: {question}"
