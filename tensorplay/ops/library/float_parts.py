"""Floats taken apart into mantissa and exponent.

>>> import tensorplay as tp
>>> tp.frexp(tp.tensor([6.0, -0.375]))
(tensor([ 0.7500, -0.7500]), tensor([ 3, -1], dtype=tensorplay.int32))
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core import dtypes
from tensorplay.core.errors import DTypeError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import composite, pointwise
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.values import Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

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

    >>> import tensorplay as tp
    >>> tp.frexp(tp.tensor([8.0, -0.75]))
    (tensor([ 0.5000, -0.7500]), tensor([4, 0], dtype=tensorplay.int32))
    """
    if not input.dtype.is_floating_point:
        msg = f"frexp: expected a floating-point tensor, found {input.dtype}; convert with .float()"
        raise DTypeError(msg)
    return frexp_mantissa(input), frexp_exponent(input)


# ---- samples ------------------------------------------------------------------------------------------------------


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
