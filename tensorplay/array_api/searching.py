"""Searching, indexing, sorting and set functions of the array API standard.

>>> from tensorplay import array_api as xp
>>> x = xp.asarray([3, 1, 3, 2])
>>> xp.nonzero(x == 3), xp.sort(x, descending=True)
((tensor([0, 2]),), tensor([3, 3, 2, 1]))
>>> xp.unique_counts(x)
UniqueCounts(values=tensor([1, 2, 3]), counts=tensor([1, 1, 2]))
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from tensorplay import functions
from tensorplay.array_api.array import Array, Scalar, as_array, convert, nonzero_places, operands
from tensorplay.array_api.manipulation import axes_of
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentError, DimensionError
from tensorplay.ops.registry import tp
from tensorplay.tensor import Tensor

# ---- searching ----------------------------------------------------------------------------------------


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The place of the first largest element along an axis, or in the flattened array."""
    return as_array(functions.argmax(x, axis, keepdims))


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The place of the first smallest element along an axis, or in the flattened array."""
    return as_array(functions.argmin(x, axis, keepdims))


def count_nonzero(
    x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Array:
    """How many elements are not zero, along axes."""
    axes = axes_of("count_nonzero", axis, x.ndim)
    is_set = x if x.dtype is dtypes.bool_ else x != 0
    counted = is_set.to(dtypes.int64)
    return as_array(counted.sum(axes, keepdims) if axes else counted)


def nonzero(x: Tensor, /) -> tuple[Array, ...]:
    """The indices of the elements that are not zero, one array for each axis, in row-major order.

    In a compiled function their number is asked of the data: another number compiles it again.
    """
    if not x.ndim:
        msg = "nonzero: a 0-d array has no axes to index; use reshape(x, (1,))"
        raise DimensionError(msg)
    places = nonzero_places(x)
    return tuple(as_array(places.select(1, k)) for k in range(x.ndim))


def searchsorted(
    x1: Tensor,
    x2: Tensor,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Array:
    """The places at which the elements of `x2` keep the ascending 1-d `x1` sorted if inserted there."""
    x1, x2 = operands("searchsorted", x1, x2, keep_numbers=False)
    order = None if sorter is None else convert(sorter, dtypes.int64)
    return as_array(functions.searchsorted(x1, x2, side=side, sorter=order))


def where(condition: Tensor, x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Array:
    """The elements of `x1` where the condition holds, else those of `x2`; one of them may be a number."""
    x1, x2 = operands("where", x1, x2, keep_numbers=False)
    return as_array(functions.where(condition, x1, x2))


def isin(x1: Tensor | Scalar, x2: Tensor | Scalar, /, *, invert: bool = False) -> Array:
    """Whether each element of `x1` is among those of `x2` (of the standard's next version)."""
    elements, known = operands("isin", x1, x2, keep_numbers=False)
    return as_array(functions.isin(elements, known, invert=invert))


# ---- indexing -----------------------------------------------------------------------------------------


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Array:
    """The elements of `x` at 1-d `indices` along an axis, which a 1-d array need not name."""
    if axis is None:
        if x.ndim != 1:
            msg = f"take: axis is needed for an array of {x.ndim} dimensions"
            raise ArgumentError(msg)
        axis = 0
    (place,) = axes_of("take", axis, x.ndim)
    found = functions.index_select(x, place, _index(indices, x.shape[place]))
    return as_array(found)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Array:
    """`x[…, indices[…, i, …], …]`: the elements at `indices` along an axis; the others broadcast."""
    (place,) = axes_of("take_along_axis", axis, x.ndim)
    found = functions.take_along_dim(x, _index(indices, x.shape[place]), place)
    return as_array(found)


def _index(indices: Tensor, size: int) -> Tensor:
    """Indices as int64, counted from the front."""
    found = convert(indices, dtypes.int64)
    return functions.where(found < 0, found + size, found) if indices.dtype.is_signed else found


# ---- sorting ------------------------------------------------------------------------------------------


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements in order along an axis."""
    return as_array(functions.sort(x, axis, descending, stable=stable)[0])


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    """The places that put the elements in order along an axis; equal ones keep theirs if `stable`."""
    return as_array(functions.argsort(x, axis, descending, stable=stable))


# ---- sets ---------------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """What `unique_all` finds."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """What `unique_counts` finds."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """What `unique_inverse` finds."""

    values: Array
    inverse_indices: Array


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different elements, where each stands first, where each element is among them, how often each occurs."""
    values, inverse, counts = _parts(x)
    size = inverse.numel()
    order = functions.arange(size)
    first = functions.full((values.shape[0],), size).scatter_reduce(
        0, inverse.reshape((-1,)), order, "amin"
    )
    return UniqueAll(*map(as_array, (values, first, inverse, counts)))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different elements, and how often each occurs."""
    values, _, counts = _parts(x)
    return UniqueCounts(as_array(values), as_array(counts))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different elements, and where each element of `x` is among them."""
    values, inverse, _ = _parts(x)
    return UniqueInverse(as_array(values), as_array(inverse))


def unique_values(x: Tensor, /) -> Array:
    """The different elements in ascending order; every NaN is different."""
    return as_array(_parts(x)[0])


def _parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Values, inverse, counts. In a compiled function the number of values is asked of the data."""
    if x.array is not None:
        found: Any = tp.unique_parts(x, None)
    else:
        found = tp.unique_parts_static(x, int(tp.count_unique(x)))
    values, inverse, counts = found
    return values, inverse, counts


__all__ = [
    "argmax", "argmin", "argsort", "count_nonzero", "isin", "nonzero", "searchsorted", "sort", "take", "take_along_axis",
    "unique_all", "unique_counts", "unique_inverse", "unique_values", "where",
]  # fmt: skip
