"""Large NumPy calls in shares, a thread each: NumPy gives up the interpreter's lock inside of its loops, but uses one core.

>>> import numpy as np
>>> x, out = np.ones((600, 1000)), np.empty(600)
>>> def rows(begin, end):
...     np.add.reduce(x[begin:end], axis=1, out=out[begin:end])
>>> in_shares(600, x.size, rows)
>>> float(out.sum())
600000.0
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tensorplay import _C
from tensorplay.ops.quiet import quiet

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

WORTH: Final = 1 << 18
"""Elements from which on a second thread gains more than the 30 us that handing over a share costs."""

_pools: dict[int, ThreadPoolExecutor] = {}
os.register_at_fork(after_in_child=_pools.clear)  # a child has none of its parent's threads


def in_shares(count: int, elements: int, function: Callable[[int, int], object]) -> None:
    """Call `function(begin, end)` for ranges that make up `range(count)`, side by side where `elements` are many.

    The caller's own share runs as the caller does: kernels call this inside of `quiet`.
    """
    threads = min(_C.get_num_threads(), count)
    if threads < 2 or elements < WORTH:
        function(0, count)
        return
    bounds = [count * k // threads for k in range(threads + 1)]
    pool = _pool(threads - 1)
    others = [pool.submit(quiet, function, begin, end) for begin, end in pairwise(bounds[1:])]
    try:
        function(0, bounds[1])
    finally:
        for each in others:
            each.result()


def _pool(threads: int) -> ThreadPoolExecutor:
    found = _pools.get(threads)
    if found is None:
        from concurrent.futures import ThreadPoolExecutor  # 4 ms of import that small programs save

        found = _pools[threads] = ThreadPoolExecutor(threads, "tensorplay-shares")
    return found
