"""`//` and `%` where the array API standard says more about infinities and signed zeros than PyTorch.

>>> import tensorplay as tp
>>> inf = tp.tensor([float("inf")])
>>> tp.floor_divide(inf, 2.0), floor_quotient(inf, 2.0)
(tensor([nan]), tensor([inf]))
>>> tp.remainder(tp.tensor([-4.0]), 2.0), modulo(tp.tensor([-4.0]), 2.0)
(tensor([-0.]), tensor([0.]))
"""

from __future__ import annotations

import math
from typing import Any

from tensorplay import functions
from tensorplay.tensor import Tensor


def floor_quotient(x1: Any, x2: Any) -> Tensor:  # noqa: ANN401  # a tensor, and a tensor or a number
    """`floor(x1 / x2)`, also of infinities: infinite where `x1` alone is, a zero where `x2` is.

    Python's `//` is NaN in the first case, and -1 in the second where the signs differ.
    """
    found = functions.floor_divide(x1, x2)
    if not found.dtype.is_floating_point:
        return found
    quotient = functions.div(x1, x2)
    for each in (x1, x2):
        if isinstance(each, Tensor):
            found = functions.where(functions.isinf(each), quotient, found)
        elif math.isinf(each):
            return quotient
    return found


def modulo(x1: Any, x2: Any) -> Tensor:  # noqa: ANN401  # a tensor, and a tensor or a number
    """The remainder with the sign of `x2`, zeros too."""
    found = functions.remainder(x1, x2)
    if not found.dtype.is_floating_point:
        return found
    return functions.where(found == 0, functions.copysign(found, x2), found)
