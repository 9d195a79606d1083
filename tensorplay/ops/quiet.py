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
        self.inside = False
        self.context = Context()
        self.context.run(np.seterr, all="ignore")


LOCAL = _Local()


def quiet(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(*args, **kwargs)` with floating-point warnings ignored; a kernel inside a kernel is a plain call.

    Kernels only: context variables are not seen.
    """
    local = LOCAL
    if local.inside:
        return function(*args, **kwargs)
    local.inside = True
    try:
        return local.context.run(function, *args, **kwargs)
    except RuntimeError as error:
        if "cannot enter context" not in str(error):
            raise
    finally:
        local.inside = False
    with np.errstate(all="ignore"):  # a finalizer inside of what entered the context itself
        return function(*args, **kwargs)
