"""Running products, sums of exponentials, and extremes along a dimension.

Products and sums of exponentials combine each element with the one 1, 2, 4, … places before it: log2(n) pointwise steps, so that
gradients and native code follow, exact also where there are zeros.

>>> import tensorplay as tp
>>> tp.cumprod(tp.tensor([1, 2, 3]), 0)
tensor([1, 2, 6])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import DType, bfloat16, float64, int32, int64
from tensorplay.core.errors import DimensionError, DTypeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array, convert
from tensorplay.ops.batching import along
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.registry import tp
from tensorplay.ops.results import ValuesIndices
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import dtype_of

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _doubled(x: Tensor, dim: int, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Combine each element with all before it, doubling the distance."""
    count = x.shape[dim]
    distance = 1
    while distance < count:
        rest = count - distance
        later = combine(x.narrow(dim, distance, rest), x.narrow(dim, 0, rest))
        x = tp.cat([x.narrow(dim, 0, distance), later], dim)
        distance = distance * 2
    return x


@composite(method=True, inplace=True)
def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Products of the elements up to and including each place along `dim`.

    Of bools and integers: int64, unless `dtype` says otherwise. Half types multiply in float32 and
    round once.

    >>> import tensorplay as tp
    >>> tp.cumprod(tp.tensor([1, 2, 3, 4]), 0)
    tensor([ 1,  2,  6, 24])
    """
    place = layout.normalize_dim("cumprod", dim, input.ndim)
    result = dtype or (int64 if input.dtype.kind in "biu" else input.dtype)
    wide = input.to(result).to(result.compute)
    if not input.ndim:
        return wide.to(result, copy=True)
    return _doubled(wide.contiguous(), place, lambda a, b: a * b).to(result, copy=True)


@composite(method=True)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the sum of `exp` of the elements up to and including each place along `dim`.

    Nothing overflows. Half types are computed in float32 and round once. Only floating-point and
    complex tensors (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.logcumsumexp(tp.tensor([0.0, 0.0, 0.0]), 0)
    tensor([0.0000, 0.6931, 1.0986])
    """
    place = layout.normalize_dim("logcumsumexp", dim, input.ndim)
    if not input.dtype.is_differentiable:
        raise DTypeError(f"logcumsumexp: expected a floating-point tensor, found {input.dtype}")
    wide = input.to(input.dtype.compute)
    if not input.ndim:
        return wide.to(input.dtype, copy=True)
    return _doubled(wide.contiguous(), place, tp.logaddexp).to(input.dtype, copy=True)


# ---- extremes -----------------------------------------------------------------------------------------


def _extreme_places_meta(input: TensorMeta, dim: int, largest: bool) -> TensorMeta:
    if input.dtype.kind == "c":
        raise DTypeError(f"{'cummax' if largest else 'cummin'}: complex numbers have no order")
    layout.normalize_dim("cummax" if largest else "cummin", dim, input.ndim)
    return TensorMeta(input.shape, int64, input.device)


@structured(
    meta=_extreme_places_meta,
    public=False,
    not_differentiable="its results are indices",
    batching=along("dim"),
)
def running_extreme(input: Array, dim: int, largest: bool) -> Array:
    """The place (int64) of the largest or least element up to each place along `dim`.

    The last of equal ones; NaN wins.
    """
    _extreme_places_meta(TensorMeta(input.shape, dtype_of(input)), dim, largest)
    if not input.ndim:
        return np.zeros((), np.int64)
    keys = np.moveaxis(convert(input, dtype=dtype_of(input).compute), dim, -1)
    accumulate = np.maximum.accumulate if largest else np.minimum.accumulate
    best = accumulate(keys, axis=-1)
    # What a place holds wins where it equals the extreme so far, or is NaN itself.
    wins = (keys == best) | (np.isnan(keys) if keys.dtype.kind == "f" else False)
    places = np.where(wins, np.arange(keys.shape[-1]), 0)
    return np.array(
        np.moveaxis(np.maximum.accumulate(places, axis=-1), -1, dim), np.int64, order="C"
    )


def _running(input: Tensor, dim: int, largest: bool) -> ValuesIndices:
    places = tp.running_extreme(input, dim, largest)
    return ValuesIndices(input.gather(dim, places) if input.ndim else input.clone(), places)


@composite(method=True)
def cummax(input: Tensor, dim: int) -> Any:  # noqa: ANN401  # values and indices
    """`(values, indices)`: the largest element up to each place along `dim`, and where it stands (int64).

    The last of equal ones; from a NaN on, NaN. Complex tensors are refused (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.cummax(tp.tensor([1.0, 3.0, 2.0]), 0)
    ValuesIndices(values=tensor([1., 3., 3.]), indices=tensor([0, 1, 1]))
    """
    return _running(input, dim, largest=True)


@composite(method=True)
def cummin(input: Tensor, dim: int) -> Any:  # noqa: ANN401  # values and indices
    """`(values, indices)`: the least element up to each place along `dim`, and where it stands (int64).

    The last of equal ones; from a NaN on, NaN. Complex tensors are refused (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.cummin(tp.tensor([3.0, 1.0, 2.0]), 0)
    ValuesIndices(values=tensor([3., 1., 1.]), indices=tensor([0, 1, 1]))
    """
    return _running(input, dim, largest=False)


# ---- samples ------------------------------------------------------------------------------------------


def _scanned(name: str) -> Iterator[Sample]:
    yield sample(Arg((3, 5)), 1)
    yield sample(Arg((3, 4), layout="transposed"), 0)
    yield sample(Arg((6,), bfloat16, layout="reversed"), -1)
    yield sample(Arg(()), 0)
    yield sample(Arg((0, 3)), 0)
    yield bad(DimensionError, name, Arg((2, 3)), 2)


@cumprod.sample
def _() -> Iterator[Sample]:
    yield from _scanned("cumprod")
    yield sample(Arg((5,), int32, low=-3, high=4), 0)
    yield sample(Arg((2, 3)), 0, dtype=float64)
    yield sample(Arg((4,), values=[2.0, 0.0, 3.0, 0.0]), 0)


@logcumsumexp.sample
def _() -> Iterator[Sample]:
    yield from _scanned("logcumsumexp")
    yield sample(Arg((3,), values=[-math.inf, -math.inf, 1.0]), 0)
    yield sample(Arg((3,), values=[100.0, 200.0, math.inf]), 0)
    yield bad(DTypeError, "floating-point", Arg((3,), int64), 0)


@cummax.sample
def _() -> Iterator[Sample]:
    yield from _scanned("cummax")
    yield sample(Arg((5,), values=[1.0, 3.0, math.nan, 3.0, math.nan]), 0)
    yield sample(Arg((7,), int32, low=0, high=3), 0)


@cummin.sample
def _() -> Iterator[Sample]:
    yield from _scanned("cummin")
    yield sample(Arg((5,), values=[1.0, 3.0, math.nan, 3.0, math.nan]), 0)
    yield sample(Arg((7,), int32, low=0, high=3), 0)


@running_extreme.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 5)), 1, True)
    yield sample(Arg((3, 4), layout="transposed"), 0, False)
    yield bad(DimensionError, "cummax", Arg((2, 3)), 2, True)
