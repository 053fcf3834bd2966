"""The choice of the number format in which an embedder reads many texts.

Processors differ: some compute in bfloat16 faster than in float32, some in half its speed, some multiply integers four
times as fast. So each format reads the same text on a trial. The module does not know how a network computes.
Invariant: a format other than float32 is chosen only if its trial is faster by a fifth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from memgraph_rag.models.engine.hardware import INT8, MARGIN, find_dtype, measure_thread_seconds, multiplies_integers

if TYPE_CHECKING:
    from memgraph_rag.models.embedders.embedder import Network

_TEXT = "the cat sat on the mat and a dog ran by " * 12  # about 120 tokens
_TIMES = 3


def choose_format(network: Network, name: str) -> Network:
    """Return the network, or a copy in the number format ``name``. "auto" is the fastest on a CPU by a trial.

    A trial takes about 0.3 s of a processor. Its result is the same on every run, unless a format is faster by just
    about a fifth.

    Raises:
        SettingsError: as ``find_dtype``.
    """
    dtype = find_dtype(name, network.device)
    if name != "auto" or network.device.type != "cpu":
        kept = dtype == torch.float32 and name != INT8
        return network if kept else network.copy_in_format(name)
    if network.has_int8 and multiplies_integers() and _is_faster(integers := network.copy_in_format(INT8), network):
        return integers
    if dtype != torch.float32 and _is_faster(halved := network.copy_in_format(name), network):
        return halved
    return network


def _is_faster(candidate: Network, network: Network) -> bool:
    seconds = [(_trial(candidate), _trial(network)) for _ in range(_TIMES)]  # in turn: the machine may become busy
    return MARGIN * min(ours for ours, _ in seconds) < min(theirs for _, theirs in seconds)


def _trial(network: Network) -> float:
    return measure_thread_seconds(lambda: network.encode([_TEXT]), times=2)
