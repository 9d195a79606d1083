"""A hash of the elements: the same bits, whatever their order, give the same number.

>>> import tensorplay as tp
>>> tp.hash_tensor(tp.tensor([1, 2, 4]))
tensor(7, dtype=tensorplay.uint64)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import DType, bool_, complex64, float64, int64, uint64
from tensorplay.core.errors import ArgumentValueError, DTypeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array, convert
from tensorplay.ops.declare import structured
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims, dtype_of


def _checked(input: Any, dim: Any, mode: int) -> list[int]:  # noqa: ANN401  # a meta or an array
    if mode != 0:
        raise ArgumentValueError(f"hash_tensor: mode must be 0 (exclusive or), found {mode}")
    if dtype_of(input).is_complex:
        raise DTypeError(f"hash_tensor: expected real numbers, found {dtype_of(input)}")
    if not input.ndim:
        return []
    whole = dim is None or not dim
    return list(
        range(input.ndim) if whole else layout.normalize_dims("hash_tensor", dim, input.ndim)
    )


def _meta(input: TensorMeta, dim: Dims, keepdim: bool, mode: int) -> TensorMeta:
    dims = _checked(input, dim, mode)
    kept = [
        1 if place in dims else size
        for place, size in enumerate(input.shape)
        if keepdim or place not in dims
    ]
    return TensorMeta(kept, uint64, input.device)


def _wide(dtype: DType) -> DType:
    if dtype is uint64:
        return uint64
    return float64 if dtype.is_floating_point else int64


@structured(meta=_meta, method=True, not_differentiable="its result is made of bits")
def hash_tensor(input: Array, dim: Dims = None, *, keepdim: bool = False, mode: int = 0) -> Array:
    """The exclusive or (uint64) of the elements' bits over dimensions, all by default; 0 where there are none.

    Elements are taken as 64-bit floats or integers first. `mode` can only be 0.

    >>> import tensorplay as tp
    >>> tp.hash_tensor(tp.tensor([[1, 2], [4, 4]]), 1)
    tensor([3, 0], dtype=tensorplay.uint64)
    """
    dims = _checked(input, dim, mode)
    bits = np.ascontiguousarray(convert(input, dtype=_wide(dtype_of(input)))).view(np.uint64)
    found = np.bitwise_xor.reduce(bits.reshape(input.shape), axis=tuple(dims), keepdims=True)
    if not keepdim:
        found = found.squeeze(tuple(dims))
    return np.array(found, np.uint64, order="C")


@hash_tensor.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((4, 3), int64, layout="transposed"), 1, keepdim=True)
    yield sample(Arg((2, 3, 2)), (0, -1))
    yield sample(Arg((3,), bool_))
    yield sample(Arg((0, 2)), 0)
    yield bad(ArgumentValueError, "mode must be 0", Arg((3,)), mode=1)
    yield bad(DTypeError, "real numbers", Arg((3,), complex64))
