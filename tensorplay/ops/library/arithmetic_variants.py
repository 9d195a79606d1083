"""Arithmetic in other words: one-sided clamps, reversed subtraction, parts of floats.

>>> import tensorplay as tp
>>> tp.frexp(tp.tensor([6.0, -0.375]))
(tensor([ 0.7500, -0.7500]), tensor([ 3, -1], dtype=tensorplay.int32))
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core import dtypes
from tensorplay.core.dtypes import Number
from tensorplay.core.errors import DTypeError, ShapeError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import composite, pointwise
from tensorplay.ops.kinds.pointwise import refuse_bool
from tensorplay.ops.library.arithmetic import clamp, sub
from tensorplay.ops.library.creation import full_like
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import is_tensor
from tensorplay.ops.values import Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- clamps, subtraction, copies -------------------------------------------------------------------------


@composite(method=True, inplace=True)
def clamp_min(input: Tensor, min: Tensor | Number) -> Tensor:
    """`clamp(input, min=min)`: at least `min`; NaN stays."""
    return clamp(input, min)


@composite(method=True, inplace=True)
def clamp_max(input: Tensor, max: Tensor | Number) -> Tensor:
    """`clamp(input, max=max)`: at most `max`; NaN stays."""
    return clamp(input, None, max)


@composite()
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """`other - alpha * input`."""
    return sub(other, input, alpha=alpha)


@pointwise(method=True)
def positive(input: Value) -> Value:
    """`+input`, a copy. Bools are refused."""
    refuse_bool("positive", input, "convert with .int()")
    return input


@composite()
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """A tensor of the shape and dtype of `input` whose elements are `value`, a number or a 0-d tensor."""
    if not is_tensor(value):
        return full_like(input, value)
    filler: Tensor = value  # type: ignore[assignment]  # a tensor
    if filler.ndim:
        msg = f"fill: value must be a number or a 0-d tensor, found shape {tuple(filler.shape)}"
        raise ShapeError(msg)
    return filler.to(input.dtype).expand(input.shape).clone()


# ---- parts of floats ------------------------------------------------------------------------------------------


@pointwise(public=False)
def frexp_mantissa(input: Value) -> Value:
    """`input / 2**e` in [1/2, 1) in size; zeros, infinities and NaN stay."""
    return ops.frexp_mantissa(input)


@pointwise(public=False, result=dtypes.int32, not_differentiable="its result is an integer")
def frexp_exponent(input: Value) -> Value:
    """The integer `e` that goes with `frexp_mantissa`."""
    return ops.frexp_exponent(input)


@composite(method=True)
def frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """Mantissa and exponent: `input == mantissa * 2**exponent`, `1/2 <= |mantissa| < 1`.

    The exponent is int32; zeros, infinities and NaN are their own mantissa, with exponent 0. Raises
    `DTypeError` for integers.
    """
    if not input.dtype.is_floating_point:
        msg = f"frexp: expected a floating-point tensor, found {input.dtype}; convert with .float()"
        raise DTypeError(msg)
    return frexp_mantissa(input), frexp_exponent(input)


# ---- samples ------------------------------------------------------------------------------------------------------


@clamp_min.sample
@clamp_max.sample
@rsub.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 0.5)
    yield sample(Arg((4, 3), layout="transposed"), Arg((3,)))
    yield sample(Arg((3,), dtypes.int64, low=-5, high=5), 1)
    yield bad(ShapeError, "broadcast", Arg((3,)), Arg((4,)))


@positive.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((4, 3), layout="transposed"))
    yield sample(Arg((4,), dtypes.int32, low=-3, high=3))
    yield sample(Arg((3,), dtypes.bfloat16))
    yield sample(Arg((6,), values=[0.0, -0.0, math.inf, -math.inf, math.nan, -2.0]))


@fill.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 2.5)
    yield sample(Arg((4, 3), layout="transposed"), Arg(()))
    yield sample(Arg((3,), dtypes.int64), 2)
    yield bad(ShapeError, "0-d", Arg((3,)), Arg((3,)))


_FLOATS = [0.0, -0.0, 1.0, -0.75, 1e-40, 3.4e38, math.inf, -math.inf, math.nan]


@frexp_mantissa.sample
@frexp_exponent.sample
@frexp.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((4, 3), dtypes.float64, layout="transposed"))
    yield sample(Arg((9,), values=_FLOATS))
    yield sample(Arg((4,), dtypes.bfloat16))
    yield bad(DTypeError, "expected", Arg((3,), dtypes.int32))
