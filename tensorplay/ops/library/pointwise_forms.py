"""Pointwise operators that are others with something fixed: rsub, clamp_min, clamp_max, positive, fill, isposinf, isneginf.

>>> import tensorplay as tp
>>> tp.rsub(tp.tensor([1, 2]), 10), tp.clamp_min(tp.tensor([-1, 2]), 0)
(tensor([9, 8]), tensor([0, 2]))
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
from tensorplay.ops.examples import with_example
from tensorplay.ops.library import arithmetic
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import is_tensor
from tensorplay.ops.values import Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite()
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """`other - alpha * input`. Bools are refused (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.rsub(tp.tensor([1, 2, 3]), 10)
    tensor([9, 8, 7])
    """
    return arithmetic.sub(other, input, alpha=alpha)


@composite(method=True, inplace=True)
def clamp_min(input: Tensor, min: Tensor | Number) -> Tensor:
    """`input`, or `min` where that is larger; NaN stays. At the bound the gradient goes to `input`.

    >>> import tensorplay as tp
    >>> tp.clamp_min(tp.tensor([-3, 0, 5]), 1)
    tensor([1, 1, 5])
    """
    return arithmetic.clamp(input, min)


@composite(method=True, inplace=True)
def clamp_max(input: Tensor, max: Tensor | Number) -> Tensor:
    """`input`, or `max` where that is smaller; NaN stays. At the bound the gradient goes to `input`.

    >>> import tensorplay as tp
    >>> tp.clamp_max(tp.tensor([-3, 0, 5]), 1)
    tensor([-3,  0,  1])
    """
    return arithmetic.clamp(input, None, max)


@composite(method=True)
def positive(input: Tensor) -> Tensor:
    """The tensor itself. Bools are refused (`DTypeError`).

    >>> import tensorplay as tp
    >>> +tp.tensor([1, -2])
    tensor([ 1, -2])
    """
    if input.dtype is dtypes.bool_:
        raise DTypeError("positive: bool tensors have no sign; convert with .int()")
    return input


@composite()
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """A tensor like `input` with every element `value`: a number or a 0-d tensor, converted to its dtype.

    >>> import tensorplay as tp
    >>> tp.fill(tp.tensor([1, 2]), 7)
    tensor([7, 7])
    """
    if is_tensor(value) and value.ndim:  # type: ignore[union-attr]  # a tensor
        raise ShapeError(f"fill: expected a number or a 0-d tensor, found shape {value.shape}")  # type: ignore[union-attr]  # its role says so
    everywhere = tp.ones((), dtype=dtypes.bool_)
    return input.masked_fill(everywhere, value)


def _signed_infinity(name: str, place: float, found: str) -> Operator:
    def declared(input: Value) -> Value:
        if input.dtype.kind == "c":
            raise DTypeError(f"{name}: complex numbers have no sign")
        if not input.dtype.is_floating_point:
            return ops.ne(input, input)
        return ops.eq(input, place)

    declared.__name__ = name
    declared.__doc__ = with_example(
        f"Whether an element is {place}: bool. Complex tensors are refused (`DTypeError`).",
        f"{name}(tp.tensor([float('inf'), float('-inf'), 1.0]))", f"tensor([{found}])",
    )  # fmt: skip
    return pointwise(
        method=True, result=dtypes.bool_, not_differentiable="its result is a truth value"
    )(declared)


isposinf = _signed_infinity("isposinf", math.inf, " True, False, False")
isneginf = _signed_infinity("isneginf", -math.inf, "False,  True, False")


@rsub.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((4,)))
    yield sample(Arg((3, 4), layout="transposed"), 2.0, alpha=0.5)
    yield bad(DTypeError, "bool", Arg((3,), dtypes.bool_), Arg((3,), dtypes.bool_))


@clamp_min.sample
@clamp_max.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 0.5)
    yield sample(Arg((3, 4)), Arg((4,)))
    yield sample(Arg((5,), dtypes.int64, low=-3, high=4), 1)


@positive.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield bad(DTypeError, "bool", Arg((3,), dtypes.bool_))


@fill.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1.5)
    yield sample(Arg((4, 3), layout="transposed"), Arg(()))
    yield bad(ShapeError, "0-d", Arg((3,)), Arg((1,)))


@isposinf.sample
@isneginf.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4,), values=[math.inf, -math.inf, math.nan, 1.0]))
    yield sample(Arg((4,), dtypes.int64))
    yield sample(Arg((2, 3), dtypes.bfloat16, layout="transposed"))
