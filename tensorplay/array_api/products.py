"""Products of arrays in the array API standard: `matmul`, `tensordot`, `vecdot`, `matrix_transpose`.

>>> from tensorplay import array_api as xp
>>> xp.vecdot(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0]))
tensor(11.)
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorplay import functions
from tensorplay.array_api.array import Array, as_array, operands
from tensorplay.array_api.manipulation import axes_of
from tensorplay.core.errors import ShapeError
from tensorplay.tensor import Tensor


def matmul(x1: Tensor, x2: Tensor, /) -> Array:
    """The product of matrices, `x1 @ x2`."""
    x1, x2 = operands("matmul", x1, x2)
    return as_array(functions.matmul(x1, x2))


def matrix_transpose(x: Tensor, /) -> Array:
    """The last two axes exchanged, as a view."""
    return as_array(x.mT)


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """The sum of products over axes: so many last and first ones, or those named for each array."""
    x1, x2 = operands("tensordot", x1, x2)
    pairs = axes if isinstance(axes, int) else tuple(tuple(each) for each in axes)
    return as_array(functions.tensordot(x1, x2, pairs))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Array:
    """The dot product of vectors along an axis; the first is conjugated, the other axes broadcast."""
    x1, x2 = operands("vecdot", x1, x2)
    if -1 >= axis >= -min(x1.ndim, x2.ndim) or x1.ndim == x2.ndim:
        (first,), (second,) = axes_of("vecdot", axis, x1.ndim), axes_of("vecdot", axis, x2.ndim)
    else:  # an axis counted from the front is that of the broadcast shape
        depth = max(x1.ndim, x2.ndim)
        (place,) = axes_of("vecdot", axis, depth)
        first, second = place - depth + x1.ndim, place - depth + x2.ndim
    sizes = x1.shape[first], x2.shape[second]
    if sizes[0] != sizes[1]:
        msg = f"vecdot: the vectors have {sizes[0]} and {sizes[1]} elements"
        raise ShapeError(msg)
    rows = functions.movedim(x1, first, -1).unsqueeze(-2)
    columns = functions.movedim(x2, second, -1).unsqueeze(-1)
    rows = rows.conj() if rows.is_complex() else rows
    return as_array(functions.matmul(rows, columns).squeeze(-1).squeeze(-1))


__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]
