"""Pointwise functions beyond the elementary ones: sums of powers in logarithms, `x log y`, sinc, angles, whole numbers.

>>> import tensorplay as tp
>>> tp.gcd(tp.tensor([12, 18]), tp.tensor([8, 27]))
tensor([4, 9])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import dtypes, layout
from tensorplay.core.dtypes import Number, finfo, float64, int32, int64, result_type
from tensorplay.core.errors import ArgumentError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import values as ops
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import broadcasting
from tensorplay.ops.declare import FLOAT, composite, pointwise, structured
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import dtype_of, is_tensor
from tensorplay.ops.values import Scalar, Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- sums of powers, in logarithms ------------------------------------------------------------------


def _log_of_sum(a: Value, b: Value, power: Callable[[Value], Value], scale: float) -> Value:
    """The larger one, and what the smaller one adds to it; equal infinities are their own sum.

    Complex numbers are compared by their real parts, which give the sizes of their powers.
    """
    if a.dtype.is_complex:
        swap = ops.lt(ops.real(a), ops.real(b))
        high, low = ops.where(swap, b, a), ops.where(swap, a, b)
        endless = ops.logical_and(ops.isinf(ops.real(high)), ops.eq(ops.real(a), ops.real(b)))
        step = ops.log1p(power(ops.where(endless, 0, low - high)))
        return ops.where(endless, high, high + (step if scale == 1 else step * scale))
    same = ops.logical_and(ops.eq(a, b), ops.isinf(a))
    step = ops.log1p(power(-ops.abs(ops.where(same, 0, a - b))))
    return ops.maximum(a, b) + (step if scale == 1 else step * scale)


@pointwise(promotion=FLOAT, method=True)
def logaddexp(input: Value, other: Value) -> Value:
    """`log(exp(input) + exp(other))` without overflow; the operands broadcast, integers become floats.

    >>> import tensorplay as tp
    >>> tp.logaddexp(tp.tensor([0.0, 1000.0]), tp.tensor([0.0, 1000.0]))
    tensor([6.9315e-01, 1.0007e+03])
    """
    return _log_of_sum(input, other, ops.exp, 1)


@pointwise(promotion=FLOAT, method=True)
def logaddexp2(input: Value, other: Value) -> Value:
    """`log2(2**input + 2**other)` without overflow; the operands broadcast, integers become floats.

    >>> import tensorplay as tp
    >>> tp.logaddexp2(tp.tensor([1.0, 1000.0]), tp.tensor([1.0, 1000.0]))
    tensor([   2., 1001.])
    """
    return _log_of_sum(input, other, ops.exp2, 1 / math.log(2))


# ---- products with logarithms and powers ------------------------------------------------------------


@pointwise(promotion=FLOAT, method=True, inplace=True)
def xlogy(input: Scalar, other: Scalar) -> Value:
    """`input * log(other)`, and 0 where `input` is 0, unless `other` is NaN. Integers become floats.

    >>> import tensorplay as tp
    >>> tp.xlogy(tp.tensor([0.0, 2.0]), tp.tensor([0.0, 3.0]))
    tensor([0.0000, 2.1972])
    """
    silent = ops.logical_and(ops.eq(input, 0), ops.logical_not(ops.isnan(other)))
    return ops.where(silent, 0, input * ops.log(other))


@pointwise(promotion=FLOAT, method=True)
def xlog1py(input: Scalar, other: Scalar) -> Value:
    """`input * log(1 + other)`, and 0 where `input` is 0, unless `other` is NaN. Integers become floats.

    >>> import tensorplay as tp
    >>> tp.xlog1py(tp.tensor([0.0, 2.0]), tp.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
    silent = ops.logical_and(ops.eq(input, 0), ops.logical_not(ops.isnan(other)))
    return ops.where(silent, 0, input * ops.log1p(other))


@pointwise(promotion=FLOAT, method=True, inplace=True)
def ldexp(input: Value, other: Scalar) -> Value:
    """`input * 2**other`. Integers become floats.

    >>> import tensorplay as tp
    >>> tp.ldexp(tp.tensor([1.0, 3.0]), tp.tensor([4, -1]))
    tensor([16.0000,  1.5000])
    """
    return input * ops.exp2(other)


@composite(method=True, inplace=True)
def float_power(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """`input ** exponent` in float64 (complex128 for complex operands), whatever the dtypes; one of both is a tensor.

    >>> import tensorplay as tp
    >>> tp.float_power(tp.tensor([1, 2, 3]), 2)
    tensor([1., 4., 9.], dtype=tensorplay.float64)
    """
    if not is_tensor(input) and not is_tensor(exponent):
        raise ArgumentError(f"float_power: needs at least one tensor, got {input} and {exponent}")
    found: Tensor = tp.pow(_widest(input), _widest(exponent))
    return found


def _widest(operand: Any) -> Any:  # noqa: ANN401  # a tensor or a number
    if not is_tensor(operand):
        return operand if isinstance(operand, complex) else float(operand)
    return operand.to(dtypes.complex128 if operand.dtype.kind == "c" else float64)


# ---- one operand --------------------------------------------------------------------------------------


@pointwise(promotion=FLOAT, method=True, inplace=True)
def sinc(input: Value) -> Value:
    """`sin(πx) / (πx)`, 1 at 0. Integers become floats.

    >>> import tensorplay as tp
    >>> tp.sinc(tp.tensor([0.0, 0.5, 1.5]))
    tensor([ 1.0000,  0.6366, -0.2122])
    """
    zero = ops.eq(input, 0)
    angle = ops.where(zero, 1, input * math.pi)
    return ops.where(zero, 1, ops.sin(angle) / angle)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def deg2rad(input: Value) -> Value:
    """Degrees to radians, `input * π / 180`. Integers become floats.

    >>> import tensorplay as tp
    >>> tp.deg2rad(tp.tensor([0.0, 90.0, 180.0]))
    tensor([0.0000, 1.5708, 3.1416])
    """
    return input * (math.pi / 180)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def rad2deg(input: Value) -> Value:
    """Radians to degrees, `input * 180 / π`. Integers become floats.

    >>> import tensorplay as tp
    >>> tp.rad2deg(tp.tensor([0.0, 3.1415927]))
    tensor([  0., 180.])
    """
    return input * (180 / math.pi)


@pointwise(method=True, inplace=True)
def heaviside(input: Value, values: Value) -> Value:
    """0 for negative numbers and NaN, 1 for positive ones, `values` at 0. The operands broadcast.

    >>> import tensorplay as tp
    >>> tp.heaviside(tp.tensor([-1.0, 0.0, 2.0]), tp.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if input.dtype.kind == "b":
        return ops.logical_or(input, values)
    side = ops.where(ops.gt(input, 0), input.handler.constant(1, input.dtype), 0)
    return ops.where(ops.eq(input, 0), values, side)


@composite(method=True, inplace=True)
def nan_to_num(
    input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN replaced by `nan`, infinities by `posinf` and `neginf`.

    Those are the largest and the least finite number of the dtype unless given. Integers and bools
    stay as they are.

    >>> import tensorplay as tp
    >>> tp.nan_to_num(tp.tensor([float("nan"), float("inf"), 1.0]), posinf=9.0)
    tensor([0., 9., 1.])
    """
    if not input.dtype.is_floating_point:
        return input.clone()
    limits = finfo(input.dtype)
    found = input.masked_fill(input.isnan(), nan)
    found = found.masked_fill(input == math.inf, limits.max if posinf is None else posinf)
    return found.masked_fill(input == -math.inf, limits.min if neginf is None else neginf)


# ---- whole numbers ----------------------------------------------------------------------------------------


def _whole(name: str, input: Any, other: Any) -> TensorMeta:  # noqa: ANN401  # metas or arrays
    """Shape and dtype of a function of two whole numbers."""
    kinds = [dtype_of(each) for each in (input, other)]
    for found in kinds:
        if found.kind not in "iu":
            raise DTypeError(
                f"{name}: expected integer tensors, found {found}; convert with .long()"
            )
    shape = layout.broadcast_shapes(name, [tuple(input.shape), tuple(other.shape)])
    wide = [k for k, each in zip(kinds, (input, other), strict=True) if each.ndim]
    narrow = [k for k, each in zip(kinds, (input, other), strict=True) if not each.ndim]
    return TensorMeta(shape, result_type(wide, narrow))


def _of_whole_numbers(name: str, input: Array, other: Array) -> Array:
    dtype = _whole(name, input, other).dtype.numpy
    function = {"gcd": np.gcd, "lcm": np.lcm}[name]
    return np.array(function(input.astype(dtype), other.astype(dtype)), order="C")


_NO_SLOPE = "it is a function of integers"


@structured(
    meta=lambda input, other: _whole("gcd", input, other),
    method=True,
    inplace=True,
    not_differentiable=_NO_SLOPE,
    batching=broadcasting,
)
def gcd(input: Array, other: Array) -> Array:
    """The greatest common divisor of integers, at least 0; `gcd(0, 0)` is 0. The operands broadcast.

    Raises `DTypeError` for other dtypes.

    >>> import tensorplay as tp
    >>> tp.gcd(tp.tensor([4, -6, 0]), tp.tensor([6, 9, 5]))
    tensor([2, 3, 5])
    """
    return _of_whole_numbers("gcd", input, other)


@structured(
    meta=lambda input, other: _whole("lcm", input, other),
    method=True,
    inplace=True,
    not_differentiable=_NO_SLOPE,
    batching=broadcasting,
)
def lcm(input: Array, other: Array) -> Array:
    """The least common multiple of integers, at least 0; 0 where one is 0. The operands broadcast.

    Raises `DTypeError` for other dtypes.

    >>> import tensorplay as tp
    >>> tp.lcm(tp.tensor([4, 6, 0]), tp.tensor([6, 9, 5]))
    tensor([12, 18,  0])
    """
    return _of_whole_numbers("lcm", input, other)


# ---- samples --------------------------------------------------------------------------------------------------


@logaddexp.sample
@logaddexp2.sample
@ldexp.sample
@heaviside.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)))
    yield sample(Arg((3, 1)), Arg((4,)))
    yield sample(Arg((4, 3), layout="transposed"), Arg((4, 3), float64))
    yield sample(
        Arg((3,), values=[math.inf, -math.inf, 0.0]), Arg((3,), values=[2.0, -math.inf, 0.0])
    )
    yield bad(ShapeError, "broadcast", Arg((3,)), Arg((4,)))


@xlogy.sample
@xlog1py.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((4,), low=0.5))
    yield sample(Arg((4, 3), layout="transposed"), Arg((4, 3), low=0.5))
    yield sample(2.0, Arg((3,), low=0.5))
    yield sample(Arg((3,)), 1.5)
    yield sample(Arg((3,), values=[0.0, 0.0, 1.0]), Arg((3,), values=[0.0, math.nan, math.inf]))
    yield bad(ShapeError, "broadcast", Arg((3,)), Arg((4,)))


@float_power.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=0.5), Arg((4,)))
    yield sample(Arg((3,), int32, low=1, high=5), 2.5)
    yield sample(2, Arg((3,)))
    yield bad(ShapeError, "broadcast", Arg((3,)), Arg((4,)))


@sinc.sample
@deg2rad.sample
@rad2deg.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((4, 6), layout="strided"))
    yield sample(Arg((3,), dtypes.bfloat16))
    yield sample(Arg((5,), int64, low=-2, high=3))
    yield sample(Arg((2,), values=[0.0, -0.0]))


@nan_to_num.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4,), values=[math.nan, math.inf, -math.inf, -0.0]))
    yield sample(Arg((3,), dtypes.bfloat16, values=[math.nan, math.inf, -math.inf]), 1.0, 2.0, -2.0)
    yield sample(Arg((4, 3), layout="transposed"))
    yield sample(Arg((3,), int64))


@gcd.sample
@lcm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), int64, low=-20, high=20), Arg((4,), int64, low=-20, high=20))
    yield sample(Arg((3,), int32, values=[0, 6, -4]), Arg((3,), int64, values=[0, 0, 6]))
    yield bad(DTypeError, "integer", Arg((3,)), Arg((3,), int64))
    yield bad(ShapeError, "broadcast", Arg((3,), int64), Arg((4,), int64))
