"""Distances between the rows of two matrices.

>>> import tensorplay as tp
>>> tp.cdist(tp.tensor([[0.0, 0.0]]), tp.tensor([[3.0, 4.0]]))
tensor([[5.]])

The gradient of a distance of 0 is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.linalg_norms import linalg_vector_norm
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


@composite()
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = _MODES[0]) -> Tensor:
    """The p-norms (..., P, R) of the differences of the rows of `x1` (..., P, M) and `x2` (..., R, M).

    p ≥ 0; 0 counts different elements, inf is the largest difference. Batch sizes broadcast. Differences
    are formed, whatever `compute_mode` allows, so that near rows have exact distances.

    >>> import tensorplay as tp
    >>> tp.cdist(tp.tensor([[0.0, 0.0]]), tp.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode not in _MODES:
        raise ArgumentValueError(
            f"cdist: compute_mode is one of {', '.join(_MODES)}, found {compute_mode!r}"
        )
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            f"cdist: expected rows of one size, (..., P, M) and (..., R, M), found shapes {tuple(x1.shape)} and {tuple(x2.shape)}"
        )
    if not (x1.dtype.is_floating_point and x2.dtype.is_floating_point):
        raise DTypeError(f"cdist: expected floating-point tensors, found {x1.dtype} and {x2.dtype}")
    if p < 0:
        raise ArgumentValueError(f"cdist: p must not be negative, found {p}")
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if not x1.shape[-1]:
        return apart.sum(-1)
    return linalg_vector_norm(apart, p, -1)


@cdist.sample
def _() -> Iterator[Sample]:
    for p in (2.0, 1.0, 3.0, float("inf")):
        yield sample(Arg((3, 4)), Arg((2, 4)), p)
    yield sample(Arg((2, 1, 3, 4)), Arg((5, 2, 4)))
    yield sample(Arg((3, 4)), Arg((2, 4)), 0.0)
    yield bad(ShapeError, "rows of one size", Arg((3, 4)), Arg((2, 3)))
    yield bad(DTypeError, "floating-point", Arg((3, 4), int64), Arg((2, 4), int64))
    yield bad(ArgumentValueError, "negative", Arg((3, 4)), Arg((2, 4)), -1.0)
