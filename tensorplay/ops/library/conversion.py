"""Copies and conversions: clone, contiguous, dtypes, devices, memory in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core import dtypes
from tensorplay.core.device import Device, check_available
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import ArgumentValueError
from tensorplay.core.memory_format import checked_format, contiguous_format, preserve_format
from tensorplay.ops.declare import composite, pointwise
from tensorplay.ops.examples import with_example
from tensorplay.ops.registry import Operator
from tensorplay.ops.samples import Arg, Sample, sample
from tensorplay.ops.values import Raw, Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# `input` is the name of the tensor parameter everywhere


@pointwise(method=True)
def clone(input: Value) -> Value:
    """A copy; dense tensors keep their strides.

    >>> import tensorplay as tp
    >>> x = tp.tensor([1.0, 2.0])
    >>> y = x.clone()
    >>> _ = y.zero_()
    >>> x
    tensor([1., 2.])
    """
    return input


@pointwise(shape=lambda input: input.shape, public=False)
def contiguous_copy(input: Value) -> Value:
    """A copy in row-major order."""
    return input


@composite(method=True)
def contiguous(input: Tensor, *, memory_format: object = contiguous_format) -> Tensor:
    """The tensor itself where its elements lie in row-major order, else a copy that does.

    Another `memory_format` asks for its order: `tensorplay.channels_last` of 4 dimensions.

    >>> import tensorplay as tp
    >>> x = tp.ones(2, 3).t()
    >>> x.is_contiguous(), x.contiguous().is_contiguous()
    (False, True)
    """
    found = checked_format("contiguous", memory_format)
    if found is preserve_format:
        msg = "contiguous: preserve_format is no order; use clone()"
        raise ArgumentValueError(msg)
    return laid_out(input, found)


def laid_out(input: Tensor, memory_format: object) -> Tensor:
    """The tensor in a memory format: itself where it lies so, else a copy."""
    found = checked_format("memory_format", memory_format)
    if found is preserve_format:
        return input
    if found is contiguous_format:
        return input if input.is_contiguous() else contiguous_copy(input)
    order = found.order(input.ndim)
    moved = input.permute(order)
    if moved.is_contiguous():
        return input
    return contiguous_copy(moved).permute([order.index(k) for k in range(input.ndim)])


@pointwise(result=lambda input, dtype: dtype, public=False)
def to_copy(input: Raw, dtype: DType) -> Value:
    """A copy converted to a dtype; the conversion rule is in `ops.instructions`."""
    return input


@composite(method=True, public=False)
def _to(
    input: Tensor, *, dtype: DType | None = None, device: Device | None = None, copy: bool = False
) -> Tensor:
    """The tensor in a dtype and on a device; itself where nothing changes.

    >>> import tensorplay as tp
    >>> tp.tensor([1, 2]).to(tp.float64)
    tensor([1., 2.], dtype=tensorplay.float64)
    """
    if device is not None and device != input.device:
        return _moved(input, dtype or input.dtype, device)
    if dtype is None or dtype is input.dtype:
        return clone(input) if copy else input
    return to_copy(input, dtype)


def _moved(input: Tensor, dtype: DType, device: Device) -> Tensor:
    from tensorplay.ops.registry import tp  # creation is a later family

    check_available(device)
    made: Tensor = tp.empty(input.shape, dtype=dtype, device=device)
    return made


def _converter(name: str, dtype: DType) -> Operator:
    def declared(input: Tensor, memory_format: object = preserve_format) -> Tensor:
        return laid_out(input.to(dtype), memory_format)

    declared.__name__ = name
    declared.__doc__ = with_example(
        f"Converted to {dtype.name}; itself where it has that dtype and the memory format.",
        f"tensor([0, 7]).{name}().dtype", f"tensorplay.{dtype.name}",
    )  # fmt: skip
    operator = composite(method=True, public=False)(declared)
    operator.sample(_samples)
    return operator


def _samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((4, 3), layout="transposed"))
    yield sample(Arg((4, 6), layout="strided"))
    yield sample(Arg((3, 4), dtypes.int32, low=-9, high=9))
    yield sample(Arg((3, 4), dtypes.bfloat16))


for _name, _dtype in (
    ("bool", dtypes.bool_), ("byte", dtypes.uint8), ("char", dtypes.int8), ("short", dtypes.int16),
    ("int", dtypes.int32), ("long", dtypes.int64), ("half", dtypes.float16), ("bfloat16", dtypes.bfloat16),
    ("float", dtypes.float32), ("double", dtypes.float64), ("cfloat", dtypes.complex64),
    ("cdouble", dtypes.complex128),
):  # fmt: skip
    _converter(_name, _dtype)


@composite(method=True, public=False)
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Converted to the dtype of `other`.

    >>> import tensorplay as tp
    >>> tp.tensor([1, 2]).type_as(tp.ones(1))
    tensor([1., 2.])
    """
    return input.to(other.dtype)


@type_as.sample
def _type_as_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((1,), dtypes.float64))


@to_copy.sample
def _to_copy_samples() -> Iterator[Sample]:
    for dtype in (
        dtypes.float64,
        dtypes.bfloat16,
        dtypes.float16,
        dtypes.int32,
        dtypes.uint8,
        dtypes.bool_,
    ):
        yield sample(Arg((3, 4), low=-9, high=9), dtype)
    yield sample(Arg((4,), values=[-1.0, -1.9, 255.9, 3.7]), dtypes.uint8)
    yield sample(Arg((3, 4), dtypes.int64, low=-9, high=9), dtypes.float32)
    yield sample(Arg((4, 3), layout="transposed"), dtypes.float64)


clone.sample(_samples)
contiguous_copy.sample(_samples)
contiguous.sample(_samples)
_to.sample(_samples)
