"""New tensors in other ways: on a logarithmic scale, of one number, with given strides or order of dimensions.

>>> import tensorplay as tp
>>> tp.logspace(0, 2, 3)
tensor([  1.,  10., 100.])
>>> tp.empty_permuted((2, 3), (1, 0)).stride()
(1, 2)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tensorplay.core import dtypes, layout
from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType, Number
from tensorplay.core.errors import ArgumentValueError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import composite, pointwise
from tensorplay.ops.library.creation import (
    empty,
    evenly_spaced,
    full,
    spaced_bound,
    spaced_shape,
)
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size
from tensorplay.ops.values import Index, Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@pointwise(
    shape=lambda start, end, steps, *_: spaced_shape("logspace", start, end, steps),
    result=lambda start, end, steps, base, dtype, *_: dtype or dtypes.get_default_dtype(),
    factory=True, not_differentiable="it makes a tensor from nothing",
)  # fmt: skip
def logspace(
    start: Value | Number, end: Value | Number, steps: int, base: float = 10.0, *, dtype: DType | None = None,
    device: Device | None = None, index: Index,
) -> Value:  # fmt: skip
    """`base ** x` for `steps` numbers x from `start` to `end`, both included, evenly spaced.

    Computed in float64 and rounded once; integer dtypes drop what comes after the
    point, of `start` and `end` and of the results. `start` and `end` may be 0-d tensors, through
    which no gradient flows.

    >>> import tensorplay as tp
    >>> tp.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    first, last = (spaced_bound(each, dtype) for each in (start, end))
    return ops.pow(base, evenly_spaced(first, last, steps, index[0]))


@composite(factory=True)
def scalar_tensor(s: Number, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A 0-d tensor of one number, of the default dtype unless given.

    >>> import tensorplay as tp
    >>> tp.scalar_tensor(3)
    tensor(3.)
    """
    return full((), s, dtype=dtype or dtypes.get_default_dtype(), device=device)


@composite(factory=True)
def empty_strided(
    size: Size, stride: Size, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """Uninitialized, with the given strides, which count elements and are not negative.

    >>> import tensorplay as tp
    >>> tp.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if len(size) != len(stride):
        raise ArgumentValueError(
            f"empty_strided: {len(size)} sizes but {len(stride)} strides: {tuple(size)}, {tuple(stride)}"
        )
    if any(each < 0 for each in (*size, *stride)):
        raise ArgumentValueError(
            f"empty_strided: sizes and strides must not be negative, found {tuple(size)}, {tuple(stride)}"
        )
    count = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    return empty((count,), dtype=dtype, device=device).as_strided(size, stride)


@composite(method=True, public=False, not_differentiable="its values are what the memory held")
def new_empty_strided(
    input: Tensor,
    size: Size,
    stride: Size,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """Uninitialized, with the given strides, of the tensor's dtype.

    >>> import tensorplay as tp
    >>> tp.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    found: Tensor = empty_strided(
        size, stride, dtype=dtype or input.dtype, device=device or input.device
    )
    return found


@composite(factory=True)
def empty_permuted(
    size: Size,
    physical_layout: Size,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """Uninitialized, dense, with its dimensions in memory in the order `physical_layout`, slowest first.

    >>> import tensorplay as tp
    >>> tp.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    order = _order(physical_layout, len(size))
    dense = empty([size[k] for k in order], dtype=dtype, device=device)
    return dense.permute([order.index(k) for k in range(len(size))])


def _order(physical_layout: Sequence[int], ndim: int) -> tuple[int, ...]:
    found = layout.normalize_dims("empty_permuted", physical_layout, ndim)
    if len(found) != ndim:
        raise ArgumentValueError(
            f"empty_permuted: {tuple(physical_layout)} does not name each of {ndim} dimensions once"
        )
    return tuple(found)


@logspace.sample
def _() -> Iterator[Sample]:
    yield sample(0, 2, 5)
    yield sample(-1.5, 1.0, 4, 2.0, dtype=dtypes.float64)
    yield sample(1, 3, 1)
    yield sample(Arg(()), 2.0, 4)
    yield sample(0, Arg((), low=1.0, high=3.0), 4, dtype=dtypes.int64)
    yield bad(ArgumentValueError, "negative", 0, 1, -1)


@scalar_tensor.sample
def _() -> Iterator[Sample]:
    yield sample(2.5)
    yield sample(3, dtype=dtypes.int32)


@empty_strided.sample
def _() -> Iterator[Sample]:
    yield sample((2, 3), (1, 2))
    yield sample((2, 0), (3, 1), dtype=dtypes.int64)
    yield bad(ArgumentValueError, "strides", (2, 3), (1,))
    yield bad(ArgumentValueError, "negative", (2,), (-1,))


@new_empty_strided.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3,), dtypes.float64), (2, 3), (3, 1))


@empty_permuted.sample
def _() -> Iterator[Sample]:
    yield sample((2, 3, 4), (0, 2, 1))
    yield bad(ArgumentValueError, "once", (2, 3), (0,))
