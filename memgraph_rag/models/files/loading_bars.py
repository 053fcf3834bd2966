"""Loading of weights without the progress bars of transformers.

The module knows the hook of transformers for its bars. Invariant: other threads, and this thread afterwards, draw bars
as the host application wants.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_Hook = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

_lock = threading.Lock()
_loading_threads: list[int] = []  # one entry for each load
_host_hooks: list[_Hook | None] = []  # the hook of the host application during a load


@contextmanager
def hide_loading_bars() -> Iterator[None]:
    """Draw no progress bars of transformers in this thread inside the block; other threads draw theirs."""
    from transformers.utils import logging

    this_thread = threading.get_ident()
    with _lock:
        if not _loading_threads:
            _host_hooks.append(logging.set_tqdm_hook(_draw))
        _loading_threads.append(this_thread)
    try:
        yield
    finally:
        with _lock:
            _loading_threads.remove(this_thread)
            if not _loading_threads:
                newest = logging.set_tqdm_hook(_host_hooks.pop())
                if newest is not _draw:  # the host application has set another hook during the load
                    logging.set_tqdm_hook(newest)


def _draw(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if threading.get_ident() in _loading_threads:
        return factory(*args, **{**kwargs, "disable": True})
    host_hook = _host_hooks[-1] if _host_hooks else None
    return host_hook(factory, args, kwargs) if host_hook else factory(*args, **kwargs)
