"""Worker threads whose products run on one core each, beside one another.

It knows torch's numbers of threads, not what is computed. Invariant: only the workers' own numbers change. OpenMP and
MKL keep one for each thread; ``torch.set_num_threads`` sets that of the calling thread, and with it the number that
every later thread of the process begins with.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

__all__ = ["open_single_core_pool"]

_PER_THREAD = ("omp_set_num_threads", "MKL_Set_Num_Threads_Local")
"""Each sets the number of the calling thread alone. MKL's, which is there once the host has called
``torch.set_num_threads``, outweighs OpenMP's."""


def open_single_core_pool(name: str) -> ThreadPoolExecutor | None:
    """As many workers as a product of the calling thread has cores; None where a product cannot be kept on one core.

    Args:
        name: of the threads.
    """
    import torch

    cores, torch_library = (
        torch.get_num_threads(),
        ctypes.CDLL(torch._C.__file__),
    )  # a symbol is found in what it links too

    def stay_on_one_core() -> None:
        torch.get_num_threads()  # first: a thread's first use of torch sets its numbers
        for function in _PER_THREAD:
            with suppress(AttributeError):  # not every torch has both
                getattr(torch_library, function)(1)

    pool = ThreadPoolExecutor(cores, name, stay_on_one_core)
    if cores > 1 and pool.submit(torch.get_num_threads).result() == 1:
        return pool
    pool.shutdown()
    return None
