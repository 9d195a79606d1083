"""Reductions made of reductions: sums that leave NaN out, moments in pairs; differences and integrals along a dimension.

>>> import tensorplay as tp
>>> tp.nansum(tp.tensor([1.0, float("nan"), 2.0]))
tensor(3.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorplay.core import dtypes, layout
from tensorplay.core.dtypes import DType, Number
from tensorplay.core.errors import ArgumentValueError, DimensionError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.registry import tp
from tensorplay.ops.results import MinMax
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- without NaN --------------------------------------------------------------------------------------


@composite(method=True)
def nansum(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The sum over dimensions (all by default), NaN counted as 0; bool and integers sum to int64.

    >>> import tensorplay as tp
    >>> tp.nansum(tp.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    numbers = input.masked_fill(input.isnan(), 0) if input.dtype.is_floating_point else input
    return numbers.sum(dim, keepdim, dtype=dtype)


@composite(method=True)
def nanmean(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The mean over dimensions (all by default) of the elements that are not NaN; NaN where all are.

    Only floating-point tensors (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.nanmean(tp.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    if not input.dtype.is_floating_point:
        raise DTypeError(
            f"nanmean: expected a floating-point tensor, found {input.dtype}; convert with .float()"
        )
    result = dtype or input.dtype
    total = nansum(input, dim, keepdim, dtype=result.compute)
    count = input.isnan().logical_not().sum(dim, keepdim)
    return (total / count).to(result)


# ---- pairs ----------------------------------------------------------------------------------------------


@composite(method=True)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:  # noqa: ANN401  # two tensors
    """`(min, max)` along a dimension or of all elements; NaN wins, equal elements share the gradient.

    >>> import tensorplay as tp
    >>> tp.aminmax(tp.tensor([3, 1, 2]))
    MinMax(min=tensor(1), max=tensor(3))
    """
    return MinMax(tp.amin(input, dim, keepdim), tp.amax(input, dim, keepdim))


@composite(public=False)  # its public forms: call_forms
def var_mean(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, correction: Number = 1
) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """`(variance, mean)` over dimensions (all by default), as `var` and `mean` give them.

    >>> import tensorplay as tp
    >>> tp.var_mean(tp.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return tp.var(input, dim, keepdim, correction=correction), tp.mean(input, dim, keepdim)


@composite(public=False)  # its public forms: call_forms
def std_mean(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, correction: Number = 1
) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """`(standard deviation, mean)` over dimensions (all by default), as `std` and `mean` give them.

    >>> import tensorplay as tp
    >>> tp.std_mean(tp.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return tp.std(input, dim, keepdim, correction=correction), tp.mean(input, dim, keepdim)


# ---- along a dimension --------------------------------------------------------------------------------


@composite(method=True)
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along `dim`, taken `n` times; of bools, whether they differ.

    `prepend` and `append` are joined to the input first, unless `n` is 0. A 0-d tensor (`DimensionError`) and a
    negative `n` (`ArgumentValueError`) are refused.

    >>> import tensorplay as tp
    >>> tp.diff(tp.tensor([1, 4, 9, 16]))
    tensor([3, 5, 7])
    >>> tp.diff(tp.tensor([1, 4, 9, 16]), 2)
    tensor([2, 2])
    """
    place = layout.normalize_dim("diff", dim, input.ndim)
    if not input.ndim:
        raise DimensionError("diff: a 0-d tensor has no dimension")
    if n < 0:
        raise ArgumentValueError(f"diff: n must not be negative, found {n}")
    parts = [each for each in (prepend, input, append) if each is not None]
    found: Tensor = tp.cat(parts, place) if len(parts) > 1 else input
    if n == 0:
        return input.clone()
    for _ in range(min(n, found.shape[place])):
        left = max(found.shape[place] - 1, 0)
        later, earlier = (
            found.narrow(place, min(1, found.shape[place]), left),
            found.narrow(place, 0, left),
        )
        found = later.logical_xor(earlier) if input.dtype is dtypes.bool_ else later - earlier
    return found


def _panels(name: str, y: Tensor, x: Tensor | None, dx: Number, dim: int) -> tuple[Tensor, int]:
    """The areas between neighbours."""
    place = layout.normalize_dim(name, dim, y.ndim)
    if not y.ndim:
        raise DimensionError(f"{name}: a 0-d tensor has no dimension")
    left = max(y.shape[place] - 1, 0)
    heights = y.narrow(place, min(1, y.shape[place]), left) + y.narrow(place, 0, left)
    if x is None:
        return heights * (dx / 2), place
    if x.ndim == 1:
        if x.shape[0] != y.shape[place]:
            raise ShapeError(f"{name}: {x.shape[0]} places x for {y.shape[place]} values y")
        x = x.reshape([-1 if d == place else 1 for d in range(y.ndim)])
        return diff(x, 1, place) * heights / 2, place
    return diff(x, 1, place - y.ndim) * heights / 2, place


@composite()
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The integral of `y` along `dim` by the trapezoidal rule: `Σ (x[i+1] - x[i]) * (y[i] + y[i+1]) / 2`.

    Without `x` the values stand `dx` apart; a 1-d `x` holds the places along `dim`.

    >>> import tensorplay as tp
    >>> tp.trapezoid(tp.tensor([1.0, 5.0, 10.0]))
    tensor(10.5000)
    >>> tp.trapezoid(tp.tensor([1.0, 5.0, 10.0]), tp.tensor([0.0, 2.0, 3.0]))
    tensor(13.5000)
    """
    areas, place = _panels("trapezoid", y, x, dx, dim)
    return areas.sum(place)


@composite()
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1
) -> Tensor:
    """The integrals of `trapezoid` up to each place but the first.

    >>> import tensorplay as tp
    >>> tp.cumulative_trapezoid(tp.tensor([1.0, 5.0, 10.0]))
    tensor([ 3.0000, 10.5000])
    """
    areas, place = _panels("cumulative_trapezoid", y, x, dx, dim)
    return areas.cumsum(place)


# ---- samples --------------------------------------------------------------------------------------------


@nansum.sample
@nanmean.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4, 5), layout="transposed"), (0, 2), True)
    yield sample(Arg((2, 3), values=[[1.0, math.nan, 2.0], [math.nan] * 3]), 1)
    yield sample(Arg((3, 4)), 0, dtype=dtypes.float64)
    yield sample(Arg((3, 4), dtypes.bfloat16), 1)
    yield bad(DimensionError, "dimension 2", Arg((3, 4)), 2)


@aminmax.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4), layout="transposed"), dim=1, keepdim=True)
    yield sample(Arg((5,), dtypes.int32, low=-9, high=9), dim=0)
    yield bad(ArgumentValueError, "empty", Arg((0, 3)), dim=0)


@var_mean.sample
@std_mean.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4), layout="transposed"), 1, True, correction=0)
    yield bad(DTypeError, "floating-point", Arg((3,), dtypes.int64))


@diff.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 5)))
    yield sample(Arg((4, 3), layout="transposed"), 2, 0)
    yield sample(Arg((6,), dtypes.bool_))
    yield sample(Arg((2, 3)), 1, -1, Arg((2, 1)), Arg((2, 2)))
    yield sample(Arg((2, 3)), 5)
    yield sample(Arg((3,)), 0)
    yield bad(DimensionError, "0-d", Arg(()))
    yield bad(ArgumentValueError, "negative", Arg((3,)), -1)


@trapezoid.sample
@cumulative_trapezoid.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 5)))
    yield sample(Arg((4, 3), layout="transposed"), dx=0.5, dim=0)
    yield sample(Arg((2, 4)), Arg((4,)))
    yield sample(Arg((2, 4)), Arg((2, 4)), dim=0)
    yield bad(ShapeError, "places x", Arg((2, 4)), Arg((3,)))
