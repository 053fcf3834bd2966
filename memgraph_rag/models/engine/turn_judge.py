"""Judge which turns of a person state what a question asks, all of them in one forward pass.

The turns are branches after a kept prefix of instructions and examples: a branch sees the prefix, the question and
itself. The state of the model at a branch's end, after some of its layers, decides by the weights of a
``TurnCalibration``; without one, P(Yes) decides. The module knows no facts and no time. Invariant: the verdict on a
turn does not depend on the other turns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from memgraph_rag.models.engine.kv_cache import RowCache
from memgraph_rag.models.engine.sampling import share_of_yes
from memgraph_rag.models.engine.shared_batches import Pass
from memgraph_rag.models.engine.window import check_question
from memgraph_rag.types import TurnVerdicts, Usage, as_line, count_attended

if TYPE_CHECKING:
    from memgraph_rag.models.engine.language_model import TransformersModel

_MOST_TURN = 64  # tokens of a turn that are read
_MOST_TOKENS = 1024  # of the branches of a pass: the mask grows with their square

_EXAMPLES = """\
Decide for each message whether it tells the answer to the question, as it is at the time of the message. Messages are \
casual.
Yes: the writer says in any words that it is so, has just become so, or is no longer so.
No: a plan, wish, question, joke, another person's thing, or another matter.

Question: which phone do I use?
Message: my pixel's battery dies at noon every day
Yes: pixel
Message: tempted by the new iphone but 1200 euros
No
Message: sis got herself a galaxy
No
Message: bye pixel, typing this on the fairphone that came today
Yes: fairphone
Message: how do i peel garlic fast
No

Question: where does my aunt work?
Message: aunt Bea burnt the rolls at Hofbäckerei again lol
Yes: Hofbäckerei
Message: i start at the library on monday
No
Message: auntie quit, no job since friday, she says she's free
Yes: no job
Message: maybe the town hall will hire her
No

Question: how many chickens do we have
Message: 6 eggs today
No
Message: the fox got two, so it's five hens now
Yes: five
Message: hm no just counted again. 4
Yes: 4
Message: our neighbour has 20
No

Question: which test runner do we use
Message: should we look at nose2?
No
Message: everything's ported, bye unittest, pytest from here on
Yes: pytest
Message: make the docs shorter
No

"""


def judge_turns(model: TransformersModel, question: str, turns: Sequence[str]) -> TurnVerdicts:
    """Return the probability that each turn of a chat states what a question asks; see ``contracts.TurnJudge``.

    The prefix is read once and kept by the model. The first 64 tokens of each turn are read.

    Raises:
        QuestionError: the question does not fit the window after the prefix.
    """
    started = time.perf_counter()
    encode = model.tokens.encode
    prefix = [*model.tokens.turns.opening, *encode(_EXAMPLES).ids]
    asked = encode(f"Question: {as_line(question)}\n").ids
    newline = encode("\n").ids
    branches = [[*encode(f"Message: {as_line(turn)}").ids[:_MOST_TURN], *newline] for turn in turns]
    check_question(len(asked), len(prefix) + len(asked) + _MOST_TURN + len(newline), model.window)
    most = min(_MOST_TOKENS, model.window - len(prefix) - len(asked))
    probabilities: list[float] = []
    read = passes = attended = 0
    for group in _groups(branches, most):
        past = RowCache(rows=0)
        past.add_row(model.read_prefix(prefix))
        ids = [*asked, *(token for branch in group for token in branch)]
        ends = [len(asked) + end - 1 for end in accumulate(map(len, group))]
        wanted = Pass(ids, past, among=_tree(len(asked), [len(branch) for branch in group]), logits_of=ends)
        probabilities += _read_verdicts(model, wanted).tolist()
        read, passes = read + len(ids), passes + 1
        attended += count_attended(len(asked), before=len(prefix))
        attended += sum(count_attended(len(branch), before=len(prefix) + len(asked)) for branch in group)
    usage = Usage(read, 0, passes, time.perf_counter() - started, attended)
    return TurnVerdicts(tuple(probabilities), model.turn_calibration is not None, usage)


def _read_verdicts(model: TransformersModel, wanted: Pass) -> Tensor:
    calibration = model.turn_calibration
    if calibration is None:
        return share_of_yes(model.read(wanted), model.tokens)
    return calibration.probabilities(model.read_states(wanted, layers=calibration.layers))


def _groups(branches: Sequence[list[int]], most: int) -> Iterator[list[list[int]]]:
    """Yield the branches in groups of at most ``most`` tokens, at least one branch each."""
    group: list[list[int]] = []
    for branch in branches:
        if group and sum(map(len, group)) + len(branch) > most:
            yield group
            group = []
        group.append(branch)
    if group:
        yield group


def _tree(trunk: int, branches: Sequence[int]) -> Tensor:
    """Return which tokens see which, (t, t) bool: the trunk and each branch up to itself, branches the whole trunk."""
    tokens = trunk + sum(branches)
    among = torch.zeros(tokens, tokens, dtype=torch.bool)
    among[:, :trunk] = True
    first = 0
    for length in (trunk, *branches):
        among[first : first + length, first : first + length] = torch.ones(length, length).tril().bool()
        first += length
    return among
