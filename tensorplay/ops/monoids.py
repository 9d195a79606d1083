"""Commutative monoids: how a reduction combines elements (Definition 6.3 and Section 6.5).

A monoid's state has one component (`sum`, `prod`, `max`, `min`, `any`, `all`), two (`argmax`,
`argmin`: value and index) or three (`welford`: mean, second central moment, count). `combine`
merges two states; it is written over `ops`, so that the compiler's handlers print it. `reduce` is
its NumPy form.

>>> SUM.identity(dtypes.float32)
0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tensorplay import _C
from tensorplay.core import dtypes
from tensorplay.core.dtypes import DType, Number
from tensorplay.core.layout import contiguous_strides
from tensorplay.ops import values as ops
from tensorplay.ops.shares import WORTH, in_shares
from tensorplay.ops.values import Value

State: TypeAlias = tuple[Value, ...]
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Axes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Monoid:
    """A commutative monoid.

    - `identity(dtype)`: the first component of the neutral state; None where there is none (argmax
      of nothing is an error).
    - `combine(a, b)`: merged states, exact but for rounding.
    - `reduce(array, axes, keepdims)`: the components of the state over `axes`, as arrays.
    - `accumulator(dtype)`: the dtype of the state for elements of a compute dtype.
    """

    name: str
    components: int
    identity: Callable[[DType], Number | None]
    combine: Callable[[State, State], State]
    reduce: Callable[[Array, Axes, bool], tuple[Array, ...]]
    accumulator: Callable[[DType], DType]

    def on(self, dtype: DType) -> Monoid:
        """What it is on elements of a dtype: sums of bools are `any`, products are `all`."""
        return _OF_BOOLS.get(self.name, self) if dtype.kind == "b" else self

    def __repr__(self) -> str:
        """Text as in `monoids.sum`."""
        return f"monoids.{self.name}"


def _itself(dtype: DType) -> DType:
    return dtype


def _doubled(dtype: DType) -> DType:
    return dtypes.complex128 if dtype.is_complex else dtypes.float64


def lowest(dtype: DType) -> Number:
    """The least value, the identity of max."""
    if dtype.kind == "b":
        return False
    return dtypes.iinfo(dtype).min if dtype.is_integral else -math.inf


def highest(dtype: DType) -> Number:
    """The greatest value, the identity of min."""
    if dtype.kind == "b":
        return True
    return dtypes.iinfo(dtype).max if dtype.is_integral else math.inf


def _rows(found: object) -> Array:
    """A reduced array in row-major order (NumPy keeps the order of what it reduced, and strides of sizes of 1)."""
    array = np.asarray(found)
    if not array.flags.c_contiguous:
        return array.copy(order="C")
    if 1 in array.shape:
        return _C.view(array, array.shape, contiguous_strides(array.shape), 0)
    return array


def _reduced(function: Any, x: Array, axes: Axes, keepdims: bool) -> Array:  # noqa: ANN401  # a ufunc
    """Reduce in the array's own dtype (NumPy would widen sums of small integers)."""
    options: dict[str, Any] = {"dtype": x.dtype} if function in (np.add, np.multiply) else {}
    shared = _axis_to_share(x, axes)
    if shared is None:
        return _rows(function.reduce(x, axis=axes, keepdims=keepdims, **options))
    shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
    found = _C.empty(shape, np.dtype(bool) if function in _LOGICAL else x.dtype)

    def reduce(begin: int, end: int) -> None:
        part = (*[slice(None)] * shared, slice(begin, end))
        function.reduce(x[part], axis=axes, keepdims=True, out=found[part], **options)

    in_shares(x.shape[shared], x.size, reduce)
    kept = [size for i, size in enumerate(x.shape) if i not in axes]
    return found if keepdims else found.reshape(kept)


_LOGICAL = (np.logical_or, np.logical_and)


def _axis_to_share(x: Array, axes: Axes) -> int | None:
    """The outermost of the kept dimensions, if threads may share out a large reduction along it."""
    if x.size < WORTH:
        return None
    kept = [i for i in range(x.ndim) if i not in axes and x.shape[i] > 1]
    return max(kept, key=lambda i: abs(x.strides[i]), default=None)


def _sum(x: Array, axes: Axes, keepdims: bool) -> tuple[Array, ...]:  # the protocol
    return (_reduced(np.add, x, axes, keepdims),)


def _prod(x: Array, axes: Axes, keepdims: bool) -> tuple[Array, ...]:
    return (_reduced(np.multiply, x, axes, keepdims),)


def _max(x: Array, axes: Axes, keepdims: bool) -> tuple[Array, ...]:
    return (_reduced(np.maximum, x, axes, keepdims),)


def _min(x: Array, axes: Axes, keepdims: bool) -> tuple[Array, ...]:
    return (_reduced(np.minimum, x, axes, keepdims),)


def _any(x: Array, axes: Axes, keepdims: bool) -> tuple[Array, ...]:
    return (_reduced(np.logical_or, x, axes, keepdims),)


def _all(x: Array, axes: Axes, keepdims: bool) -> tuple[Array, ...]:
    return (_reduced(np.logical_and, x, axes, keepdims),)


def _flat_last(x: Array, axes: Axes) -> Array:
    """The reduced axes moved to the end and merged, in row-major order."""
    kept = [i for i in range(x.ndim) if i not in axes]
    moved = x.transpose([*kept, *axes])
    count = math.prod(x.shape[i] for i in axes)
    return moved.reshape([*(x.shape[i] for i in kept), count])


def _with_kept(found: Array, x: Array, axes: Axes, keepdims: bool) -> Array:
    if not keepdims:
        return found
    return found.reshape([1 if i in axes else size for i, size in enumerate(x.shape)])


def _arg(function: Callable[..., Any]) -> Callable[[Array, Axes, bool], tuple[Array, ...]]:
    def reduce(x: Array, axes: Axes, keepdims: bool) -> tuple[Array, ...]:
        flat = _flat_last(x, axes)
        place = _C.empty(flat.shape[:-1], np.dtype(np.int64))
        rows, found = flat.reshape(-1, flat.shape[-1]), place.reshape(-1)

        def search(begin: int, end: int) -> None:
            function(rows[begin:end], axis=-1, out=found[begin:end])

        in_shares(len(rows), rows.size, search)
        value = np.take_along_axis(flat, place[..., None], -1)[..., 0]
        return _rows(_with_kept(value, x, axes, keepdims)), _rows(
            _with_kept(place, x, axes, keepdims)
        )

    return reduce


def _welford(x: Array, axes: Axes, keepdims: bool) -> tuple[Array, ...]:
    count = math.prod(x.shape[i] for i in axes)
    mean = np.asarray(_reduced(np.add, x, axes, keepdims=True) / x.real.dtype.type(count))
    apart = x - mean
    square = np.square(apart) if x.dtype.kind != "c" else np.asarray(apart * apart.conj())
    moment = _reduced(np.add, square, axes, keepdims)
    return mean.reshape(moment.shape), moment, np.full(moment.shape, count, x.dtype)


def _pick(wins: Callable[[Value, Value], Value]) -> Callable[[State, State], State]:
    """(value, index): NaN first, then the winning value, then the smaller index."""

    def combine(a: State, b: State) -> State:
        (x, i), (y, j) = a, b
        better = wins(x, y)
        same = ops.eq(x, y)
        if x.dtype.is_floating_point:
            nan_x, nan_y = ops.isnan(x), ops.isnan(y)
            better = ops.logical_or(better, ops.logical_and(nan_x, ops.logical_not(nan_y)))
            same = ops.logical_or(same, ops.logical_and(nan_x, nan_y))
        first = ops.logical_or(better, ops.logical_and(same, ops.lt(i, j)))
        return ops.where(first, x, y), ops.where(first, i, j)

    return combine


def _merge_welford(a: State, b: State) -> State:
    """Chan, Golub and LeVeque: merge (mean, second central moment, count).

    An empty side changes nothing.
    """
    (mean_a, moment_a, count_a), (mean_b, moment_b, count_b) = a, b
    count = count_a + count_b
    share = ops.where(ops.eq(count, 0), 0, count_b / count)
    delta = mean_b - mean_a
    square = delta * (ops.conj(delta) if delta.dtype.is_complex else delta)
    return mean_a + delta * share, moment_a + moment_b + square * count_a * share, count


SUM = Monoid("sum", 1, lambda _: 0, lambda a, b: (a[0] + b[0],), _sum, _itself)
PROD = Monoid("prod", 1, lambda _: 1, lambda a, b: (a[0] * b[0],), _prod, _itself)
MAX = Monoid("max", 1, lowest, lambda a, b: (ops.maximum(a[0], b[0]),), _max, _itself)
MIN = Monoid("min", 1, highest, lambda a, b: (ops.minimum(a[0], b[0]),), _min, _itself)
ANY = Monoid("any", 1, lambda _: False, lambda a, b: (ops.logical_or(a[0], b[0]),), _any, _itself)
ALL = Monoid("all", 1, lambda _: True, lambda a, b: (ops.logical_and(a[0], b[0]),), _all, _itself)
ARGMAX = Monoid("argmax", 2, lambda _: None, _pick(ops.gt), _arg(np.argmax), _itself)
ARGMIN = Monoid("argmin", 2, lambda _: None, _pick(ops.lt), _arg(np.argmin), _itself)
WELFORD = Monoid("welford", 3, lambda _: 0, _merge_welford, _welford, _doubled)

_OF_BOOLS = {"sum": ANY, "prod": ALL}

MONOIDS: Sequence[Monoid] = (SUM, PROD, MAX, MIN, ANY, ALL, ARGMAX, ARGMIN, WELFORD)

__all__ = [
    "ALL",
    "ANY",
    "ARGMAX",
    "ARGMIN",
    "MAX",
    "MIN",
    "MONOIDS",
    "PROD",
    "SUM",
    "WELFORD",
    "Monoid",
]
