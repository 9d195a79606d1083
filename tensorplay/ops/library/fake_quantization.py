"""Numbers rounded as if they were stored in few bits: fake quantization, for training what will be quantized.

An affine grid has the numbers `(q - zero_point) * scale` for whole `q` between two bounds. Rounding has no
useful derivative; the gradient passes where the number lies within the bounds, and stops elsewhere (the
straight-through estimator: Bengio, Léonard and Courville, arXiv:1308.3432).

>>> import tensorplay as tp
>>> tp.fake_quantize_per_tensor_affine(tp.tensor([0.05, 0.97, -1.0]), 0.1, 0, 0, 255)
tensor([0., 1., 0.])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorplay.core import layout
from tensorplay.core.dtypes import DType, Number, int32, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import composite, pointwise
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import is_tensor
from tensorplay.ops.values import Raw, Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@pointwise(public=False)
def fake_quantized(
    input: Value, scale: Raw, zero_point: Raw, quant_min: int, quant_max: int
) -> Value:
    """The number on the grid nearest to `input`, of those within the bounds; halves go to even."""
    place, zero = _places(input, scale, zero_point)
    low, high = ops.maximum(place, _like(place, quant_min)), _like(place, quant_max)
    return (ops.minimum(low, high) - zero) * ops.to_dtype(scale, input.dtype)


def _like(value: Value, number: float) -> Value:
    return value.handler.constant(number, value.dtype)


def _places(input: Value, scale: Value, zero_point: Value) -> tuple[Value, Value]:
    """The whole number of the grid's place nearest to `input`, and the place of 0."""
    zero = ops.to_dtype(zero_point, input.dtype)
    return ops.round(input / ops.to_dtype(scale, input.dtype)) + zero, zero


@pointwise(public=False, not_differentiable="it is a truth value as a number")
def fake_quantized_mask(
    input: Value, scale: Raw, zero_point: Raw, quant_min: int, quant_max: int
) -> Value:
    """1 where the place of `input` on the grid lies within the bounds, else 0."""
    place, _ = _places(input, scale, zero_point)
    inside = ops.logical_and(
        ops.ge(place, _like(place, quant_min)), ops.le(place, _like(place, quant_max))
    )
    return ops.to_dtype(inside, input.dtype)


@fake_quantized.gradient("input")
def _(
    grad: Tensor, input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int
) -> Tensor:
    found: Tensor = grad * tp.fake_quantized_mask(input, scale, zero_point, quant_min, quant_max)
    return found


@fake_quantized.tangent
def _(operator: Any, values: Any, result: Any, tangents: Any) -> Tensor | None:  # noqa: ANN401  # tensors, or what an operator takes for one
    del operator, result
    if tangents[0] is None:
        return None
    found: Tensor = tangents[0] * tp.fake_quantized_mask(*values)
    return found


def _checked(name: str, input: Tensor, quant_min: int, quant_max: int) -> None:
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{name}: expected a floating-point tensor, found {input.dtype}")
    if quant_min > quant_max:
        raise ArgumentValueError(
            f"{name}: quant_min must not be above quant_max, found {quant_min} and {quant_max}"
        )


def _tensor(number: Any, dtype: DType) -> Tensor:  # noqa: ANN401  # a tensor or a number
    found: Tensor = number if is_tensor(number) else tp.full((), number, dtype=dtype)
    return found


@composite()
def fake_quantize_per_tensor_affine(
    input: Tensor,
    scale: Tensor | Number,
    zero_point: Tensor | Number,
    quant_min: int,
    quant_max: int,
) -> Tensor:
    """`(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale`.

    `scale` and `zero_point` are numbers or tensors of one element. The gradient passes where nothing is
    clamped. Floating-point tensors only (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.fake_quantize_per_tensor_affine(tp.tensor([0.26, 9.0]), 0.5, 0, -2, 3)
    tensor([0.5000, 1.5000])
    """
    name = "fake_quantize_per_tensor_affine"
    _checked(name, input, quant_min, quant_max)
    step, zero = _tensor(scale, input.dtype), _tensor(zero_point, int64)
    for each in (step, zero):
        if each.numel() != 1:
            raise ShapeError(
                f"{name}: expected one scale and zero_point, found shape {tuple(each.shape)}"
            )
    found: Tensor = tp.fake_quantized(
        input, step.reshape(()), zero.reshape(()), quant_min, quant_max
    )
    return found


@composite()
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each place along `axis`.

    `scale` and `zero_point` are 1-d, as long as `input` along `axis` (`ShapeError`).

    >>> import tensorplay as tp
    >>> x, scale = tp.tensor([[0.26, 0.26]]), tp.tensor([0.5, 0.25])
    >>> tp.fake_quantize_per_channel_affine(x, scale, tp.tensor([0, 0]), 1, -2, 3)
    tensor([[0.5000, 0.2500]])
    """
    name = "fake_quantize_per_channel_affine"
    _checked(name, input, quant_min, quant_max)
    place = layout.normalize_dim(name, axis, input.ndim)
    wanted = (input.shape[place],)
    if tuple(scale.shape) != wanted or tuple(zero_point.shape) != wanted:
        raise ShapeError(
            f"{name}: expected scale and zero_point of shape {wanted}, found {tuple(scale.shape)} and "
            f"{tuple(zero_point.shape)}"
        )
    shape = [-1 if d == place else 1 for d in range(input.ndim)]
    found: Tensor = tp.fake_quantized(
        input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max
    )
    return found


# ---- samples ------------------------------------------------------------------------------------------


# Their gradient is not a slope: a difference of steps says nothing of it.
_X = Arg((2, 3), values=[[0.26, -2.0, 0.7], [0.0, 1.31, 5.0]])


@fake_quantized.sample
@fake_quantized_mask.sample
def _() -> Iterator[Sample]:
    step, zero = Arg((), values=0.3), Arg((), int64, values=1)  # type: ignore[arg-type]  # 0-d values
    yield sample(_X, step, zero, -3, 4)
    yield sample(_X, Arg((3,), low=0.1), Arg((3,), int32, 0, 3), -3, 4)


@fake_quantize_per_tensor_affine.sample
def _() -> Iterator[Sample]:
    yield sample(_X, 0.3, 1, -3, 4)
    yield sample(_X, Arg((1,), low=0.2), Arg((1,), int32, 0, 3), 0, 15)
    yield bad(DTypeError, "floating-point", Arg((3,), int64), 0.3, 1, -3, 4)
    yield bad(ArgumentValueError, "quant_min", Arg((3,)), 0.3, 1, 5, 4)


@fake_quantize_per_channel_affine.sample
def _() -> Iterator[Sample]:
    yield sample(_X, Arg((3,), low=0.1), Arg((3,), int32, 0, 3), 1, -3, 4)
    yield sample(_X, Arg((2,), low=0.1), Arg((2,)), 0, -3, 4)
    yield bad(ShapeError, "expected scale", Arg((3, 4)), Arg((4,)), Arg((4,), int32), 0, -3, 4)
