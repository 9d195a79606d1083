"""Scans: partial sums along a dimension.

>>> import tensorplay as tp
>>> tp.cumsum(tp.tensor([1, 2, 3]), 0)
tensor([1, 3, 6])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tensorplay import _C
from tensorplay.core import layout
from tensorplay.core.dtypes import DType, float64, int32, int64
from tensorplay.core.errors import DimensionError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array, convert
from tensorplay.ops.batching import along
from tensorplay.ops.declare import structured
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.shares import in_shares
from tensorplay.ops.signature import dtype_of

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _result_dtype(source: DType, asked: DType | None) -> DType:
    return asked or (int64 if source.kind in "biu" else source)


def _cumsum_meta(input: TensorMeta, dim: int, dtype: DType | None) -> TensorMeta:
    layout.normalize_dim("cumsum", dim, input.ndim)
    return TensorMeta(input.shape, _result_dtype(input.dtype, dtype), input.device)


@structured(meta=_cumsum_meta, method=True, inplace=True, linear=True, batching=along("dim"))
def cumsum(input: Array, dim: int, dtype: DType | None = None) -> Array:
    """Sums of the elements up to and including each place along `dim`. Of integers: int64.

    >>> import tensorplay as tp
    >>> tp.cumsum(tp.tensor([1, 2, 3, 4]), 0)
    tensor([ 1,  3,  6, 10])
    """
    dim = layout.normalize_dim("cumsum", dim, input.ndim)
    result = _result_dtype(dtype_of(input), dtype)
    wide = convert(convert(input, dtype=result), dtype=result.compute)
    sums = _C.empty(wide.shape, result.compute)
    if wide.ndim == 0:
        sums[...] = wide
    elif wide.size:
        _accumulate(wide, dim, sums)
    return convert(sums, dtype=result)


def _accumulate(x: Array, dim: int, out: Array) -> None:
    """Sum along `dim`; threads share out another dimension."""
    if x.ndim == 1:
        x, out, dim = x[None], out[None], 1
    shared = 0 if dim else 1

    def accumulate(begin: int, end: int) -> None:
        part = (*[slice(None)] * shared, slice(begin, end))
        np.add.accumulate(x[part], axis=dim, dtype=x.dtype, out=out[part])

    in_shares(x.shape[shared], x.size, accumulate)


@cumsum.gradient("input")
def _(grad: Tensor, dim: int) -> Tensor:
    return grad.flip(dim).cumsum(dim).flip(dim) if grad.ndim else grad


@cumsum.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1)
    yield sample(Arg((3, 4), layout="transposed"), 0)
    yield sample(Arg((5,), int32, layout="reversed"), -1)
    yield sample(Arg((2, 3)), 0, dtype=float64)
    yield sample(Arg(()), 0)
    yield sample(Arg((0, 3)), 0)
    yield bad(DimensionError, "cumsum", Arg((2, 3)), 2)
