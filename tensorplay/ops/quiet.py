"""Run NumPy code without its floating-point warnings, cheaply and without touching the user's settings.

NumPy keeps its error state in a context variable. Running a kernel inside a private context where
everything is ignored costs 35 ns, `np.errstate` 600 ns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from typing import ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


class _Local(threading.local):
    """One context a thread: two threads may not enter the same one."""

    def __init__(self) -> None:
        self.context = Context()
        self.context.run(np.seterr, all="ignore")


LOCAL = _Local()


def quiet(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(*args, **kwargs)` with floating-point warnings ignored.

    Kernels only: context variables are not seen.
    """
    try:
        run = LOCAL.context.run
        return run(function, *args, **kwargs)
    except RuntimeError as error:
        if "cannot enter context" not in str(error):
            raise
    with np.errstate(all="ignore"):  # a kernel inside a kernel, as from a finalizer
        return function(*args, **kwargs)
