"""`//` and `%` where the array API standard says more about infinities and signed zeros than PyTorch.

>>> import tensorplay as tp
>>> inf = tp.tensor([float("inf")])
>>> tp.floor_divide(inf, 2.0), floor_quotient(inf, 2.0)
(tensor([nan]), tensor([inf]))
>>> tp.remainder(tp.tensor([-4.0]), 2.0), modulo(tp.tensor([-4.0]), 2.0)
(tensor([-0.]), tensor([0.]))
"""

from __future__ import annotations

from typing import Any

from tensorplay import functions
from tensorplay.tensor import Tensor


def floor_quotient(x1: Any, x2: Any) -> Tensor:  # noqa: ANN401  # a tensor, and a tensor or a number
    """`floor(x1 / x2)`: infinite where `x1` alone is."""
    found = functions.floor_divide(x1, x2)
    if not found.dtype.is_floating_point:
        return found
    quotient = functions.div(x1, x2)
    is_lost = functions.logical_and(functions.isinf(quotient), functions.isnan(found))
    return functions.where(is_lost, quotient, found)


def modulo(x1: Any, x2: Any) -> Tensor:  # noqa: ANN401  # a tensor, and a tensor or a number
    """The remainder with the sign of `x2`, zeros too."""
    found = functions.remainder(x1, x2)
    if not found.dtype.is_floating_point:
        return found
    return functions.where(found == 0, functions.copysign(found, x2), found)
