"""Statistical and utility functions of the array API standard: what reduces or accumulates.

>>> from tensorplay import array_api as xp
>>> x = xp.asarray([1, 2, 3], dtype=xp.uint8)
>>> xp.sum(x).dtype, xp.cumulative_sum(x, include_initial=True)
(tensorplay.uint64, tensor([0, 1, 3, 6], dtype=tensorplay.uint64))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from tensorplay import functions
from tensorplay.array_api.array import Array, as_array, convert, promote
from tensorplay.array_api.manipulation import axes_of
from tensorplay.core import dtypes, layout
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import DimensionError
from tensorplay.tensor import Tensor

Axes: TypeAlias = int | tuple[int, ...] | None


def _accumulator(x: Tensor, dtype: DType | None) -> DType:
    """The dtype of sums and products: integers in the widest of their signedness."""
    if dtype is not None:
        return dtype
    if x.dtype.kind == "u":
        return dtypes.uint64
    return x.dtype if x.dtype.is_differentiable else dtypes.int64


def _reduced(
    name: str, x: Tensor, axis: Axes, keepdims: bool, reduce: Callable[..., Tensor]
) -> Array:
    """A reduction; over no axes at all it leaves every element alone."""
    axes = axes_of(name, axis, x.ndim)
    if axes or not x.ndim:
        return as_array(reduce(x, axes or None, keepdims), x)
    return as_array(reduce(x.unsqueeze(0), (0,), False), x)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The largest element along axes; NaN wins."""
    return _reduced("max", x, axis, keepdims, functions.amax)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The smallest element along axes; NaN wins."""
    return _reduced("min", x, axis, keepdims, functions.amin)


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The mean along axes."""
    return _reduced("mean", x, axis, keepdims, functions.mean)


def sum(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """The sum along axes. Integers are added as int64, unsigned ones as uint64, unless `dtype` says otherwise."""
    wide = convert(x, _accumulator(x, dtype))
    return _reduced("sum", wide, axis, keepdims, _in_own_dtype(functions.sum, wide.dtype))


def prod(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """The product along axes. Integers are multiplied as int64, unsigned ones as uint64, unless `dtype` says otherwise."""
    wide = convert(x, _accumulator(x, dtype))
    return _reduced("prod", wide, axis, keepdims, _in_own_dtype(functions.prod, wide.dtype))


def _in_own_dtype(reduce: Callable[..., Tensor], dtype: DType) -> Callable[..., Tensor]:
    return lambda x, axes, keepdims: reduce(x, axes, keepdims, dtype=dtype)


def var(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """The mean square distance from the mean along axes, over `n - correction`; NaN unless that is positive."""
    return _reduced("var", x, axis, keepdims, _corrected(functions.var, correction))


def std(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """The square root of `var`."""
    return _reduced("std", x, axis, keepdims, _corrected(functions.std, correction))


def _corrected(reduce: Callable[..., Tensor], correction: float) -> Callable[..., Tensor]:
    def reduced(x: Tensor, axes: tuple[int, ...] | None, keepdims: bool) -> Tensor:
        found = reduce(x, axes, keepdim=keepdims, correction=correction)
        count = math.prod(x.shape[each] for each in axes or ())
        return found if count > correction else functions.full_like(found, math.nan)

    return reduced


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """The sums of the elements up to each along an axis, which a 1-d array need not name.

    `include_initial` puts the empty sum, 0, in front.
    """
    return _cumulative("cumulative_sum", functions.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """The products of the elements up to each along an axis, which a 1-d array need not name.

    `include_initial` puts the empty product, 1, in front.
    """
    return _cumulative("cumulative_prod", functions.cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(
    name: str,
    scan: Callable[..., Any],
    initial: int,
    x: Tensor,
    axis: int | None,
    dtype: DType | None,
    include_initial: bool,
) -> Array:
    if axis is None:
        if x.ndim > 1:
            msg = f"{name}: axis is needed for an array of {x.ndim} dimensions"
            raise DimensionError(msg)
        axis = 0
    x = x.reshape((1,)) if not x.ndim else x
    place = layout.normalize_dim(name, axis, x.ndim)
    target = _accumulator(x, dtype)
    found = scan(convert(x, target), place, dtype=target)
    if include_initial:
        shape = (*x.shape[:place], 1, *x.shape[place + 1 :])
        found = functions.cat([functions.full(shape, initial, dtype=target), found], place)
    return as_array(found, x)


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Whether all elements along axes are true; NaN is."""
    return _reduced("all", _truth(x), axis, keepdims, functions.all)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Whether some element along axes is true; NaN is."""
    return _reduced("any", _truth(x), axis, keepdims, functions.any)


def _truth(x: Tensor) -> Tensor:
    return x if x.dtype is dtypes.bool_ else x != 0


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Array:
    """The `n`-th differences of neighbours along an axis, with arrays put in front and behind first."""
    place = layout.normalize_dim("diff", axis, x.ndim)
    given = [each for each in (prepend, x, append) if each is not None]
    dtype = promote(given)
    before, behind = (None if each is None else convert(each, dtype) for each in (prepend, append))
    return as_array(functions.diff(convert(x, dtype), n, place, before, behind), *given)


__all__ = [
    "all", "any", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std", "sum", "var",
]  # fmt: skip
