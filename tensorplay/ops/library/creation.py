"""New tensors: pointwise in the index, so that they fuse; and triangles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay import _C
from tensorplay.core import dtypes, layout
from tensorplay.core.device import CPU, Device
from tensorplay.core.dtypes import DType, Number
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import door
from tensorplay.ops import values as ops
from tensorplay.ops.declare import composite, pointwise, structured
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size, Sizes, checked_sizes, dtype_of, has_dtype
from tensorplay.ops.values import Index, Raw, Scalar, Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

    Array = np.ndarray[Any, np.dtype[Any]]

# `input` is the name of the tensor parameter everywhere

_MADE = "it makes a tensor from nothing"


def _fill_dtype(size: object, fill_value: Number, dtype: DType | None, *_: object) -> DType:
    del size
    return dtype or dtypes.dtype_of_number(fill_value)


def _filled_shape(
    size: tuple[int, ...], fill_value: Number, dtype: DType | None, *_: object
) -> tuple[int, ...]:
    dtypes.check_range("full", fill_value, _fill_dtype(size, fill_value, dtype))
    return checked_sizes("full", size)  # type: ignore[no-any-return]  # the sizes


@pointwise(
    shape=_filled_shape,
    result=_fill_dtype,
    factory=True,
    not_differentiable=_MADE,
)
def full(
    size: Size,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Value:
    """A tensor of one number; its dtype is the number's unless given.

    >>> import tensorplay as tp
    >>> tp.full((2, 3), 7.0)
    tensor([[7., 7., 7.],
            [7., 7., 7.]])
    """
    return fill_value


def _number(value: float, dtype: DType) -> Number:
    """A number of the dtype's category, so that nothing is converted."""
    return value if dtype.is_differentiable else int(value)


@composite(factory=True)
def zeros(size: Sizes, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor of zeros, of the default dtype unless given.

    >>> import tensorplay as tp
    >>> tp.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    found = dtype or dtypes.get_default_dtype()
    return door.call(full, (size, _number(0.0, found), found, device))


@composite(factory=True)
def ones(size: Sizes, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor of ones, of the default dtype unless given.

    >>> import tensorplay as tp
    >>> tp.ones(2, 3)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    found = dtype or dtypes.get_default_dtype()
    return door.call(full, (size, _number(1.0, found), found, device))


def _like_strides(input: Tensor) -> bool:
    """Whether a tensor like this one has other strides than row-major ones."""
    meta = input.tensor_meta
    return layout.dense_like(meta.shape, meta.strides) != layout.contiguous_strides(meta.shape)


@pointwise(
    result=lambda input, fill_value, dtype: dtype or dtype_of(input),
    not_differentiable=_MADE,
    public=False,
)
def filled_like(input: Raw, fill_value: Scalar, dtype: DType | None = None) -> Value:
    """A tensor of one number with the shape and strides of `input`."""
    return fill_value


@composite(factory=True)
def full_like(
    input: Tensor, fill_value: Number, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """A tensor of one number, with the shape, dtype and order of dimensions of `input`.

    >>> import tensorplay as tp
    >>> tp.full_like(tp.tensor([1.0, 2.0]), 7)
    tensor([7., 7.])
    """
    found = dtype or input.dtype
    if device is None and _like_strides(input):
        dtypes.check_range("full_like", fill_value, found)
        return filled_like(input, fill_value, found)
    return full(input.shape, fill_value, dtype=found, device=device or input.device)


@composite(factory=True)
def zeros_like(
    input: Tensor, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """Zeros with the shape, dtype and order of dimensions of `input`.

    >>> import tensorplay as tp
    >>> tp.zeros_like(tp.tensor([1, 2]), dtype=tp.float32)
    tensor([0., 0.])
    """
    return full_like(input, _number(0.0, dtype or input.dtype), dtype=dtype, device=device)


@composite(factory=True)
def ones_like(input: Tensor, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """Ones with the shape, dtype and order of dimensions of `input`.

    >>> import tensorplay as tp
    >>> tp.ones_like(tp.tensor([1, 2]))
    tensor([1, 1])
    """
    return full_like(input, _number(1.0, dtype or input.dtype), dtype=dtype, device=device)


@composite(method=True, public=False)
def new_zeros(
    input: Tensor, size: Sizes, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """Zeros of the tensor's dtype.

    >>> import tensorplay as tp
    >>> tp.tensor([1, 2]).new_zeros((3,))
    tensor([0, 0, 0])
    """
    return zeros(size, dtype=dtype or input.dtype, device=device or input.device)


@composite(method=True, public=False)
def new_ones(
    input: Tensor, size: Sizes, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """Ones of the tensor's dtype.

    >>> import tensorplay as tp
    >>> tp.tensor([1, 2]).new_ones((3,))
    tensor([1, 1, 1])
    """
    return ones(size, dtype=dtype or input.dtype, device=device or input.device)


@composite(method=True, public=False)
def new_full(
    input: Tensor,
    size: Size,
    fill_value: Number,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """One number, of the tensor's dtype.

    >>> import tensorplay as tp
    >>> tp.tensor([1, 2]).new_full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    return full(size, fill_value, dtype=dtype or input.dtype, device=device or input.device)


@composite(method=True, public=False)
def new_empty(
    input: Tensor, size: Sizes, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """Uninitialized, of the tensor's dtype.

    >>> import tensorplay as tp
    >>> tp.ones(3).new_empty((2, 2)).shape
    (2, 2)
    """
    return empty(size, dtype=dtype or input.dtype, device=device or input.device)


def _empty_meta(size: Sequence[int], dtype: DType | None, device: Device | None) -> TensorMeta:
    return TensorMeta(
        checked_sizes("empty", size), dtype or dtypes.get_default_dtype(), device or CPU
    )


@structured(meta=_empty_meta, factory=True, not_differentiable=_MADE)
def empty(size: Sizes, *, dtype: DType | None = None, device: Device | None = None) -> Array:
    """A tensor whose elements are whatever the memory holds.

    >>> import tensorplay as tp
    >>> tp.empty(2, 3).shape
    (2, 3)
    """
    meta = _empty_meta(size, dtype, device)
    return _C.empty(meta.shape, meta.dtype)


@composite(factory=True)
def empty_like(
    input: Tensor, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """Uninitialized, with the shape, dtype and order of dimensions of `input`.

    >>> import tensorplay as tp
    >>> tp.empty_like(tp.ones(2, 3)).shape
    (2, 3)
    """
    if device is None and _like_strides(input):
        return filled_like(input, 0, dtype or input.dtype)
    return empty(input.shape, dtype=dtype or input.dtype, device=device or input.device)


# ---- sequences ------------------------------------------------------------------------------------------------------


def _arange_length(start: Number, end: Number, step: Number) -> int:
    if step == 0 or (end - start) / step < 0:  # type: ignore[operator]  # real numbers
        msg = f"arange: a step of {step} does not lead from {start} to {end}"
        raise ArgumentValueError(msg)
    if all(isinstance(each, int) for each in (start, end, step)):
        return -((start - end) // step)  # type: ignore[operator,return-value]  # its role says so
    return math.ceil((end.real - start.real) / step.real)


@pointwise(
    shape=lambda length, *_: (length,), result=lambda length, start, step, dtype, *_: dtype,
    public=False, not_differentiable=_MADE,
)  # fmt: skip
def iota(
    length: int,
    start: Number,
    step: Number,
    dtype: DType,
    device: Device | None,
    index: Index,
) -> Value:
    """`start + step * i` for `i` in `[0, length)`.

    Floats are computed in float64 and rounded once.
    """
    place = index[0]
    if isinstance(start, float) or isinstance(step, float) or dtype.is_floating_point:
        place = ops.to_dtype(place, dtypes.float64)
    scaled = place if step == 1 else place * step
    return scaled if start == 0 else scaled + start


@composite(factory=True)
def arange(
    start: Number, end: Number | None = None, step: Number = 1, *,
    dtype: DType | None = None, device: Device | None = None,
) -> Tensor:  # fmt: skip
    """The numbers from `start` (default 0) to `end`, without it, `step` apart.

    Int64 where all are integers.

    >>> import tensorplay as tp
    >>> tp.arange(5)
    tensor([0, 1, 2, 3, 4])
    >>> tp.arange(1, 2, 0.25)
    tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    first, last = (0, start) if end is None else (start, end)
    found = dtype
    if found is not None and found.is_integral:
        first, last, step = (int(each.real) for each in (first, last, step))
    if found is None:
        integers = all(isinstance(each, int) for each in (first, last, step))
        found = dtypes.int64 if integers else dtypes.get_default_dtype()
    return iota(_arange_length(first, last, step), first, step, found, device)


@pointwise(
    shape=lambda start, end, steps, *_: spaced_shape("linspace", start, end, steps),
    result=lambda start, end, steps, dtype, *_: dtype or dtypes.get_default_dtype(),
    factory=True, not_differentiable=_MADE,
)  # fmt: skip
def linspace(
    start: Value | Number, end: Value | Number, steps: int, *, dtype: DType | None = None, device: Device | None = None,
    index: Index,
) -> Value:  # fmt: skip
    """`steps` numbers from `start` to `end`, both included, evenly spaced.

    Computed in float64 from the nearer end; integer dtypes drop what comes after the point, of `start`
    and `end` and of the results. `start` and `end` may be 0-d tensors, through which no
    gradient flows.

    >>> import tensorplay as tp
    >>> tp.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    first, last = spaced_bound(start, dtype), spaced_bound(end, dtype)
    return evenly_spaced(first, last, steps, index[0])


def spaced_bound(number: Value | Number, dtype: DType | None) -> Value | Number:
    """A bound in float64, of an integer dtype without what comes after the point."""
    whole = dtype is not None and dtype.is_integral
    if not isinstance(number, Value):
        return int(number.real) if whole else number
    wide = ops.to_dtype(number, dtypes.float64)
    return ops.trunc(wide) if whole else wide


def evenly_spaced(start: Value | Number, end: Value | Number, steps: int, place: Value) -> Value:
    """The number at a place among `steps` from `start` to `end`, computed from the nearer end."""
    offset = ops.to_dtype(place, dtypes.float64)
    if steps == 1:
        return offset * 0 + start
    step = (end - start) / (steps - 1)
    return ops.where(
        ops.lt(place, steps // 2), offset * step + start, (offset - (steps - 1)) * step + end
    )


def spaced_shape(name: str, start: Any, end: Any, steps: int) -> tuple[int, ...]:  # noqa: ANN401  # bounds
    """The shape of `steps` numbers between two bounds, numbers or tensors of one element."""
    if steps < 0:
        msg = f"{name}: the number of steps must not be negative, found {steps}"
        raise ArgumentValueError(msg)
    for bound in (start, end):
        if has_dtype(bound) and layout.numel(bound.shape) != 1:
            msg = f"{name}: bounds are numbers or 0-d tensors, found shape {tuple(bound.shape)}"
            raise ShapeError(msg)
    return (steps,)


@pointwise(
    shape=lambda n, m, *_: checked_sizes("eye", (n, n if m is None else m)),
    result=lambda n, m, dtype, *_: dtype or dtypes.get_default_dtype(),
    factory=True, not_differentiable=_MADE,
)  # fmt: skip
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    index: Index,
) -> Value:
    """The identity matrix.

    >>> import tensorplay as tp
    >>> tp.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    return ops.eq(index[0], index[1])


# ---- triangles -------------------------------------------------------------------------------------------------------


@pointwise(method=True, inplace=True)
def tril(input: Value, diagonal: int = 0, *, index: Index) -> Value:
    """The lower triangle of the last two dimensions, zeros above it.

    >>> import tensorplay as tp
    >>> tp.tril(tp.ones(3, 3))
    tensor([[1., 0., 0.],
            [1., 1., 0.],
            [1., 1., 1.]])
    """
    _check_matrix("tril", index)
    return ops.where(ops.le(index[-1] - index[-2], diagonal), input, 0)


@pointwise(method=True, inplace=True)
def triu(input: Value, diagonal: int = 0, *, index: Index) -> Value:
    """The upper triangle of the last two dimensions, zeros below it.

    >>> import tensorplay as tp
    >>> tp.triu(tp.ones(3, 3), 1)
    tensor([[0., 1., 1.],
            [0., 0., 1.],
            [0., 0., 0.]])
    """
    _check_matrix("triu", index)
    return ops.where(ops.ge(index[-1] - index[-2], diagonal), input, 0)


def _check_matrix(name: str, index: Sequence[Value]) -> None:
    if len(index) < 2:
        msg = f"{name}: expected a matrix or a batch of matrices, found a {len(index)}-d tensor"
        raise ShapeError(msg)


# ---- samples ----------------------------------------------------------------------------------------------------------


def _size_samples() -> Iterator[Sample]:
    yield sample((2, 3))
    yield sample((2, 0))
    yield sample((), dtype=dtypes.int64)
    yield bad(ShapeError, "negative", (2, -1))


zeros.sample(_size_samples)
ones.sample(_size_samples)
empty.sample(_size_samples)


@full.sample
def _full_samples() -> Iterator[Sample]:
    yield sample((2, 3), 1.5)
    yield sample((2, 3), 7)
    yield sample((), True)
    yield sample((4,), 2, dtype=dtypes.bfloat16)
    yield bad(ShapeError, "negative", (2, -1), 0)


def _like_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4), layout="transposed"))
    yield sample(Arg((3, 4)), dtype=dtypes.int32)


zeros_like.sample(_like_samples)
ones_like.sample(_like_samples)
empty_like.sample(_like_samples)


@full_like.sample
@filled_like.sample
def _filled_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 2.5)
    yield sample(Arg((3, 4), layout="transposed"), 3)


@new_zeros.sample
@new_ones.sample
@new_empty.sample
def _new_samples() -> Iterator[Sample]:
    yield sample(Arg((3,), dtypes.float64), (2, 2))


@new_full.sample
def _new_full_samples() -> Iterator[Sample]:
    yield sample(Arg((3,), dtypes.float64), (2, 2), 1.5)


@iota.sample
def _iota_samples() -> Iterator[Sample]:
    yield sample(5, 0, 1, dtypes.int64, None)
    yield sample(5, 1, 3, dtypes.float32, None)


@arange.sample
def _arange_samples() -> Iterator[Sample]:
    yield sample(5)
    yield sample(2, 9, 3)
    yield sample(1.0, 2.0, 0.25)
    yield sample(5, 0, -2)
    yield bad(ArgumentValueError, "does not lead", 0, 5, -1)


@linspace.sample
def _linspace_samples() -> Iterator[Sample]:
    yield sample(0.0, 1.0, 5)
    yield sample(3, -2, 4, dtype=dtypes.float64)
    yield sample(4.3, 1, 9, dtype=dtypes.int32)
    yield sample(2.0, 5.0, 1)
    yield sample(Arg(()), 2.0, 4)
    yield sample(1, Arg((), dtypes.int64, low=3, high=9), 5, dtype=dtypes.float64)
    yield bad(ShapeError, "0-d", Arg((2,)), 2.0, 4)


@eye.sample
def _eye_samples() -> Iterator[Sample]:
    yield sample(3)
    yield sample(2, 4, dtype=dtypes.int64)
    yield bad(ShapeError, "eye: sizes must not be negative", -2)


@tril.sample
@triu.sample
def _triangle_samples() -> Iterator[Sample]:
    yield sample(Arg((4, 5)))
    yield sample(Arg((2, 4, 4)), -1)
    yield sample(Arg((4, 5), layout="transposed"), 1)
    yield bad(ShapeError, "matrix", Arg((3,)))
