"""Whose turns hold the evidence of a question about a chat with a machine: the human's, the machine's, or both.

It knows folders of questions, no memory.
"""

from __future__ import annotations

from memgraph_rag.evaluation.dataset import Folder
from memgraph_rag.lexical.roles import is_machine
from memgraph_rag.search.speakers import Side

__all__ = ["evidence_sides"]


def evidence_sides(folder: Folder) -> list[Side]:
    """The side of each question, in order; empty of what is not about turns, or where no machine speaks."""
    speaker_of = {
        turn_id: turn.speaker
        for document in folder.documents
        for (_, turn_id), turn in zip(folder.turns.get(document.key or "", ()), document.turns, strict=True)
    }
    if not any(map(is_machine, speaker_of.values())):
        return [""] * len(folder.questions)
    return [
        _side({is_machine(speaker_of[unit]) for unit in each.units if unit in speaker_of}) for each in folder.questions
    ]


def _side(are_machines: set[bool]) -> Side:
    if len(are_machines) > 1:
        return "both"
    return "machine" if True in are_machines else "human" if are_machines else ""
