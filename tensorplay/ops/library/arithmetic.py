"""Arithmetic, powers, rounding, and the elementary functions: pointwise operators that read like their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tensorplay.core import dtypes
from tensorplay.core.dtypes import Number
from tensorplay.core.errors import ArgumentError, ArgumentValueError, ShapeError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import COMMON, FLOAT, pointwise
from tensorplay.ops.examples import with_example
from tensorplay.ops.kinds.pointwise import Promotion, refuse_bool
from tensorplay.ops.registry import Operator
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.values import Scalar, Value

# ---- two operands -------------------------------------------------------------------------------------


@pointwise(method=True, inplace=True)
def add(input: Scalar, other: Scalar, *, alpha: Number = 1) -> Value:
    """`input + alpha * other`. Of bools: logical or; with an `alpha` of 0, `other` counts as false.

    >>> import tensorplay as tp
    >>> tp.add(tp.tensor([1.0, 2.0]), tp.tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """
    if input.dtype.kind == "b":
        counted = (
            other if alpha else ops.logical_and(other, other.handler.constant(False, other.dtype))
        )
        return ops.logical_or(input, counted)
    return input + (other if alpha == 1 else other * alpha)


@pointwise(method=True, inplace=True)
def sub(input: Scalar, other: Scalar, *, alpha: Number = 1) -> Value:
    """`input - alpha * other`.

    >>> import tensorplay as tp
    >>> tp.sub(tp.tensor([5, 6]), tp.tensor([1, 2]), alpha=2)
    tensor([3, 2])
    """
    refuse_bool("subtraction", input, "use ^ or logical_xor")
    return input - (other if alpha == 1 else other * alpha)


@pointwise(method=True, inplace=True)
def mul(input: Scalar, other: Scalar) -> Value:
    """`input * other`. Of bools: logical and.

    >>> import tensorplay as tp
    >>> tp.mul(tp.tensor([1.0, 2.0]), tp.tensor([[2.0], [3.0]]))
    tensor([[2., 4.],
            [3., 6.]])
    """
    return ops.logical_and(input, other) if input.dtype.kind == "b" else input * other


def _division(input: Scalar, other: Scalar, rounding_mode: str | None) -> Promotion:
    """A quotient that is rounded keeps integers."""
    del input, other
    return FLOAT if rounding_mode is None else COMMON


@pointwise(promotion=_division, method=True, inplace=True)
def div(input: Scalar, other: Scalar, *, rounding_mode: str | None = None) -> Value:
    """True division; integers become floats.

    `rounding_mode="trunc"` or `"floor"` rounds the quotient, and integers stay integers; division of
    integers by zero then gives 0.

    >>> import tensorplay as tp
    >>> tp.div(tp.tensor([-7, 7]), 2)
    tensor([-3.5000,  3.5000])
    >>> tp.div(tp.tensor([-7, 7]), 2, rounding_mode="trunc")
    tensor([-3,  3])
    """
    if rounding_mode is None:
        return input / other
    if rounding_mode not in {"trunc", "floor"}:
        msg = f"div: rounding_mode must be None, 'trunc' or 'floor', found {rounding_mode!r}"
        raise ArgumentValueError(msg)
    refuse_bool("rounded division", input, "convert with .int()")
    if rounding_mode == "floor":
        return ops.floordiv(input, other)
    if input.dtype.is_differentiable:
        return ops.trunc(input / other)
    below = ops.floordiv(input, other)
    is_rounded = ops.ne(ops.remainder(input, other), 0)
    is_negative = ops.ne(ops.lt(input, 0), ops.lt(other, 0))
    return ops.where(ops.logical_and(is_rounded, is_negative), below + 1, below)


@pointwise(method=True, inplace=True)
def floor_divide(input: Scalar, other: Scalar) -> Value:
    """The quotient rounded toward minus infinity, as Python's `//`.

    Integer division by zero gives 0.

    >>> import tensorplay as tp
    >>> tp.floor_divide(tp.tensor([-7, 7]), 2)
    tensor([-4,  3])
    """
    refuse_bool("floor division", input, "convert with .int()")
    return ops.floordiv(input, other)


@pointwise(method=True, inplace=True)
def remainder(input: Scalar, other: Scalar) -> Value:
    """The remainder with the divisor's sign, as Python's `%`.

    >>> import tensorplay as tp
    >>> tp.remainder(tp.tensor([-3.0, 3.5]), 2)
    tensor([1.0000, 1.5000])
    """
    refuse_bool("remainder", input, "convert with .int()")
    return ops.remainder(input, other)


@pointwise(method=True, inplace=True)
def fmod(input: Scalar, other: Scalar) -> Value:
    """The remainder with the dividend's sign, as C's `fmod`.

    >>> import tensorplay as tp
    >>> tp.fmod(tp.tensor([-3.0, 3.5]), 2)
    tensor([-1.0000,  1.5000])
    """
    refuse_bool("fmod", input, "convert with .int()")
    return ops.fmod(input, other)


@pointwise(method=True, inplace=True)
def pow(input: Value | Number, exponent: Value | Number) -> Value:  # PyTorch's name
    """`input ** exponent`. Integer powers wrap.

    A negative integer exponent of an integer tensor is refused.

    >>> import tensorplay as tp
    >>> tp.pow(tp.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    >>> tp.pow(2, tp.tensor([1, 2, 3]))
    tensor([2, 4, 8])
    """
    if isinstance(input, Value) and isinstance(exponent, Value):
        return ops.pow(input, exponent)
    if isinstance(exponent, Value):
        return ops.pow(input, exponent)
    assert isinstance(input, Value)  # noqa: S101  # one of them is a tensor
    return _power_by_number(input, exponent)


def _power_by_number(base: Value, exponent: Number) -> Value:
    """Exponents that have an exact short form use it."""
    refuse_bool("pow", base, "convert with .int()")
    if base.dtype.is_integral and exponent.real < 0:
        msg = "pow: integers to negative integer powers are not integers; convert with .float()"
        raise ArgumentValueError(msg)
    if exponent == 1:
        return base
    if exponent == 2:
        return base * base
    if exponent == 3:
        return base * base * base
    if exponent == -1:
        return ops.reciprocal(base)
    return ops.pow(base, exponent)


def _binary_samples(low: float = -2.0, *, positive: bool = False) -> Callable[[], Iterator[Sample]]:
    """Equal shapes, broadcasting, layouts, numbers, mixed dtypes."""
    floor = 0.5 if positive else low

    def samples() -> Iterator[Sample]:
        yield sample(Arg((3, 4), low=low), Arg((3, 4), low=floor))
        yield sample(Arg((3, 4), low=low, layout="transposed"), Arg((4,), low=floor))
        yield sample(Arg((2, 1, 3), low=low), Arg((4, 1), low=floor))
        yield sample(Arg((), low=low), Arg((5,), low=floor))
        yield sample(Arg((0, 3), low=low), Arg((1, 3), low=floor))
        yield sample(Arg((3, 4), low=low), 1.5)
        yield sample(Arg((3, 4), low=low, dtype=dtypes.float64), Arg((3, 4), low=floor))
        yield bad(ShapeError, "broadcast", Arg((3, 4)), Arg((3, 5)))

    return samples


for _operator in (sub, mul):
    _operator.sample(_binary_samples())
for _operator in (floor_divide, remainder, fmod):
    _operator.sample(_binary_samples(positive=True))


@add.sample
def _add_samples() -> Iterator[Sample]:
    yield from _binary_samples()()
    yield sample(Arg((3, 4)), Arg((4,)), alpha=-2.5)
    for alpha in (True, False):
        yield sample(Arg((3, 4), dtypes.bool_), Arg((4,), dtypes.bool_), alpha=alpha)


@div.sample
def _div_samples() -> Iterator[Sample]:
    yield from _binary_samples(positive=True)()
    integers = Arg((5,), dtypes.int64, values=[7, -7, 7, -7, -6])
    divisors = Arg((5,), dtypes.int32, values=[2, 2, -2, -2, 2])
    for mode in ("trunc", "floor"):
        yield sample(Arg((3, 4)), Arg((4,), low=0.5), rounding_mode=mode)
        yield sample(integers, divisors, rounding_mode=mode)
        yield sample(integers, -3, rounding_mode=mode)
    yield bad(ArgumentValueError, "rounding_mode", Arg((3,)), 2, rounding_mode="up")


@pow.sample
def _pow_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=0.3), Arg((3, 4)))
    yield sample(Arg((3, 4), low=0.3), Arg((4,)))
    for exponent in (2, 3, -1, 0, 0.5, 1, 2.5):
        yield sample(Arg((3, 4), low=0.3), exponent)
    yield sample(2.0, Arg((3, 4)))
    yield sample(Arg((5,), dtypes.int32, low=-3, high=4), 3)
    yield bad(ArgumentValueError, "negative", Arg((5,), dtypes.int32), -1)


# ---- one operand: signs, powers, rounding ----------------------------------------------------------------


def _unary_samples(low: float, high: float) -> Callable[[], Iterator[Sample]]:
    def samples() -> Iterator[Sample]:
        yield sample(Arg((3, 4), low=low, high=high))
        yield sample(Arg((4, 3), low=low, high=high, layout="transposed"))
        yield sample(Arg((4, 6), low=low, high=high, layout="strided"))
        yield sample(Arg((), low=low, high=high))
        yield sample(Arg((2, 0), low=low, high=high))
        yield sample(Arg((3, 4), dtypes.float64, low=low, high=high))
        yield sample(Arg((3, 4), dtypes.bfloat16, low=low, high=high))

    return samples


@pointwise(method=True, inplace=True)
def neg(input: Value) -> Value:
    """`-input`.

    >>> import tensorplay as tp
    >>> -tp.tensor([-2.0, 3.0])
    tensor([ 2., -3.])
    """
    refuse_bool("negation", input, "use ~ or logical_not")
    return -input


@pointwise(method=True, inplace=True)
def abs(input: Value) -> Value:  # PyTorch's name
    """The absolute value; its derivative at 0 is 0.

    >>> import tensorplay as tp
    >>> tp.abs(tp.tensor([-2.0, 0.5]))
    tensor([2.0000, 0.5000])
    """
    return input if input.dtype.kind in "bu" else ops.abs(input)


@pointwise(method=True, inplace=True)
def sign(input: Value) -> Value:
    """-1, 0 or 1; 0 for NaN.

    >>> import tensorplay as tp
    >>> tp.sign(tp.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """
    return input if input.dtype.kind == "b" else ops.sign(input)


@pointwise(method=True, inplace=True)
def square(input: Value) -> Value:
    """`input * input`; of bools an integer.

    >>> import tensorplay as tp
    >>> tp.square(tp.tensor([-2.0, 0.5, 3.0]))
    tensor([4.0000, 0.2500, 9.0000])
    """
    return ops.to_dtype(input, dtypes.int64) if input.dtype.kind == "b" else ops.square(input)


def _rounding(name: str, doc: str, at: str, found: str) -> Operator:
    """Integers are their own rounding. The example gives `found` at the elements `at`."""
    function: Callable[..., Value] = getattr(ops, name)

    def declared(input: Value) -> Value:
        return function(input) if input.dtype.is_differentiable else input

    declared.__name__ = name
    declared.__doc__ = with_example(doc, f"{name}(tp.tensor([{at}]))", f"tensor([{found}])")
    return pointwise(method=True, inplace=True)(declared)


floor = _rounding("floor", "The largest integer not above.", "1.7, -1.2", " 1., -2.")
ceil = _rounding("ceil", "The smallest integer not below.", "1.2, -1.7", " 2., -1.")
trunc = _rounding("trunc", "The integer part, toward zero.", "1.7, -1.7", " 1., -1.")


@pointwise(method=True, inplace=True)
def round(input: Value, *, decimals: int = 0) -> Value:  # PyTorch's name
    """The nearest integer, halves to even; of a complex number each part.

    With `decimals`, the nearest multiple of `10**-decimals`.

    >>> import tensorplay as tp
    >>> tp.round(tp.tensor([0.5, 1.5, -2.6]))
    tensor([ 0.,  2., -3.])
    >>> tp.round(tp.tensor([1.234, 5.678]), decimals=1)
    tensor([1.2000, 5.7000])
    """
    if not input.dtype.is_differentiable:
        return input
    if decimals == 0:
        return ops.round(input)
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    return ops.round(input * scale) / scale if decimals > 0 else ops.round(input / scale) * scale


@pointwise(method=True, inplace=True)
def frac(input: Value) -> Value:
    """The part after the decimal point, with the sign of the number.

    >>> import tensorplay as tp
    >>> tp.frac(tp.tensor([1.25, -2.5, 3.0]))
    tensor([ 0.2500, -0.5000,  0.0000])
    """
    return input - ops.trunc(input)


for _operator in (neg, abs, sign, square, floor, ceil, trunc, round, frac):
    _operator.sample(_unary_samples(-3.0, 3.0))


# ---- one operand: elementary functions ----------------------------------------------------------------------


def _elementary(  # the columns of the table below
    name: str, doc: str, at: str, found: str, low: float = -2.0, high: float = 2.0
) -> Operator:
    """The instruction of that name, on floats; integers become floats. Its example gives `found` at the elements `at`."""
    function: Callable[..., Value] = getattr(ops, name)

    def declared(input: Value) -> Value:
        return function(input)

    declared.__name__ = name
    declared.__doc__ = with_example(doc, f"{name}(tp.tensor([{at}]))", f"tensor([{found}])")
    operator = pointwise(promotion=FLOAT, method=True, inplace=True)(declared)
    operator.sample(_unary_samples(low, high))
    return operator


sqrt = _elementary("sqrt", "The square root.", "4.0, 2.0", "2.0000, 1.4142", 0.1)
rsqrt = _elementary("rsqrt", "`1 / sqrt(input)`.", "4.0, 0.25", "0.5000, 2.0000", 0.1)
reciprocal = _elementary("reciprocal", "`1 / input`.", "4.0, -0.5", " 0.2500, -2.0000", 0.5)
exp = _elementary("exp", "`e ** input`.", "0.0, 1.0", "1.0000, 2.7183")
exp2 = _elementary("exp2", "`2 ** input`.", "3.0, 0.5", "8.0000, 1.4142")
expm1 = _elementary(
    "expm1", "`e ** input - 1`, exact near 0.", "1e-06, 1.0", "1.0000e-06, 1.7183e+00"
)
log = _elementary("log", "The natural logarithm.", "1.0, 10.0", "0.0000, 2.3026", 0.1)
log2 = _elementary("log2", "The logarithm of base 2.", "8.0, 0.5", " 3., -1.", 0.1)
log10 = _elementary("log10", "The logarithm of base 10.", "100.0, 0.5", " 2.0000, -0.3010", 0.1)
log1p = _elementary(
    "log1p", "`log(1 + input)`, exact near 0.", "1e-06, 1.0", "1.0000e-06, 6.9315e-01", -0.5
)
sin = _elementary("sin", "The sine.", "0.0, 1.0", "0.0000, 0.8415")
cos = _elementary("cos", "The cosine.", "0.0, 1.0", "1.0000, 0.5403")
tan = _elementary("tan", "The tangent.", "0.0, 1.0", "0.0000, 1.5574", -1.2, 1.2)
asin = _elementary("asin", "The inverse sine.", "0.5, 1.0", "0.5236, 1.5708", -0.9, 0.9)
acos = _elementary("acos", "The inverse cosine.", "1.0, 0.5", "0.0000, 1.0472", -0.9, 0.9)
atan = _elementary("atan", "The inverse tangent.", "0.0, 1.0", "0.0000, 0.7854")
sinh = _elementary("sinh", "The hyperbolic sine.", "0.0, 1.0", "0.0000, 1.1752")
cosh = _elementary("cosh", "The hyperbolic cosine.", "0.0, 1.0", "1.0000, 1.5431")
tanh = _elementary("tanh", "The hyperbolic tangent.", "1.0, -20.0", " 0.7616, -1.0000")
asinh = _elementary("asinh", "The inverse hyperbolic sine.", "0.0, 1.0", "0.0000, 0.8814")
acosh = _elementary(
    "acosh", "The inverse hyperbolic cosine.", "1.0, 2.0", "0.0000, 1.3170", 1.2, 4.0
)
atanh = _elementary(
    "atanh", "The inverse hyperbolic tangent.", "0.0, 0.5", "0.0000, 0.5493", -0.9, 0.9
)
erf = _elementary("erf", "The error function.", "0.0, 1.0", "0.0000, 0.8427")
erfc = _elementary(
    "erfc", "`1 - erf(input)`, exact for large arguments.", "0.0, 1.0", "1.0000, 0.1573"
)
erfinv = _elementary(
    "erfinv", "The inverse of the error function.", "0.0, 0.5", "0.0000, 0.4769", -0.9, 0.9
)


# ---- two operands: elementary functions and selections --------------------------------------------------------


@pointwise(promotion=FLOAT, method=True, inplace=True)
def atan2(input: Value, other: Value) -> Value:
    """The angle of the point `(other, input)`.

    >>> import tensorplay as tp
    >>> tp.atan2(tp.tensor([0.0, 1.0, 1.0]), tp.tensor([-1.0, 0.0, 1.0]))
    tensor([3.1416, 1.5708, 0.7854])
    """
    return ops.atan2(input, other)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def hypot(input: Value, other: Value) -> Value:
    """`sqrt(input**2 + other**2)` without overflow.

    >>> import tensorplay as tp
    >>> tp.hypot(tp.tensor([3.0, 5.0]), tp.tensor([4.0, 12.0]))
    tensor([ 5., 13.])
    """
    return ops.hypot(input, other)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def copysign(input: Value, other: Scalar) -> Value:
    """The magnitude of `input` with the sign of `other`.

    >>> import tensorplay as tp
    >>> tp.copysign(tp.tensor([1.0, -2.0, 3.0]), tp.tensor([-0.0, 1.0, -1.0]))
    tensor([-1.,  2., -3.])
    """
    return ops.copysign(input, other)


@pointwise(method=True, inplace=True)
def nextafter(input: Value, other: Value) -> Value:
    """The next float from `input` toward `other`; the derivative by `input` is 1.

    >>> import tensorplay as tp
    >>> tp.nextafter(tp.tensor([1.0]), tp.tensor([2.0])) - 1
    tensor([1.1921e-07])
    """
    return ops.nextafter(input, other)


@pointwise(method=True)
def maximum(input: Value, other: Value) -> Value:
    """The larger of two; NaN wins. Equal operands share the gradient.

    >>> import tensorplay as tp
    >>> tp.maximum(tp.tensor([1.0, float("nan")]), tp.tensor([2.0, 3.0]))
    tensor([2., nan])
    """
    return ops.maximum(input, other)


@pointwise(method=True)
def minimum(input: Value, other: Value) -> Value:
    """The smaller of two; NaN wins. Equal operands share the gradient.

    >>> import tensorplay as tp
    >>> tp.minimum(tp.tensor([1.0, float("nan")]), tp.tensor([2.0, 3.0]))
    tensor([1., nan])
    """
    return ops.minimum(input, other)


@pointwise(method=True)
def fmax(input: Value, other: Value) -> Value:
    """The larger of two; a number wins over NaN.

    >>> import tensorplay as tp
    >>> tp.fmax(tp.tensor([1.0, float("nan")]), tp.tensor([2.0, 3.0]))
    tensor([2., 3.])
    """
    return ops.logical_or(input, other) if input.dtype.kind == "b" else ops.fmax(input, other)


@pointwise(method=True)
def fmin(input: Value, other: Value) -> Value:
    """The smaller of two; a number wins over NaN.

    >>> import tensorplay as tp
    >>> tp.fmin(tp.tensor([1.0, float("nan")]), tp.tensor([2.0, 3.0]))
    tensor([1., 3.])
    """
    return ops.logical_and(input, other) if input.dtype.kind == "b" else ops.fmin(input, other)


@pointwise(method=True, inplace=True)
def clamp(input: Value, min: Scalar | None = None, max: Scalar | None = None) -> Value:
    """`input` inside `[min, max]`; NaN stays. At the bounds the gradient passes.

    >>> import tensorplay as tp
    >>> tp.clamp(tp.tensor([-3.0, 0.5, 7.0]), -1, 2)
    tensor([-1.0000,  0.5000,  2.0000])
    >>> tp.clamp(tp.tensor([-3, 0, 7]), min=tp.tensor([0, 1, 2]))
    tensor([0, 1, 7])
    """
    if min is None and max is None:
        msg = "clamp: give min, max, or both"
        raise ArgumentError(msg)
    found = input
    if min is not None:
        found = ops.where(_outside(ops.lt(input, min), min), min, input)
    if max is not None:
        found = ops.where(_outside(ops.gt(found, max), max), max, found)
    return found


def _outside(condition: Value, bound: Value) -> Value:
    """A NaN bound makes the result NaN."""
    return (
        ops.logical_or(condition, ops.isnan(bound)) if bound.dtype.is_floating_point else condition
    )


@pointwise(method=True, inplace=True)
def lerp(input: Value, end: Value, weight: Scalar) -> Value:
    """`input + weight * (end - input)`, from the nearer end, so that both ends are exact.

    >>> import tensorplay as tp
    >>> tp.lerp(tp.tensor([0.0, 10.0]), tp.tensor([1.0, 20.0]), 0.25)
    tensor([ 0.2500, 12.5000])
    """
    near = ops.lt(ops.abs(weight), 0.5)
    step = end - input
    return ops.where(near, input + weight * step, end - step * (1 - weight))


@pointwise(method=True, inplace=True)
def addcmul(input: Value, tensor1: Value, tensor2: Value, *, value: Number = 1) -> Value:
    """`input + value * tensor1 * tensor2`.

    >>> import tensorplay as tp
    >>> tp.addcmul(tp.tensor([1.0, 2.0]), tp.tensor([3.0, 4.0]), tp.tensor([5.0, 6.0]), value=0.5)
    tensor([ 8.5000, 14.0000])
    """
    product = tensor1 * tensor2
    return input + (product if value == 1 else product * value)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def addcdiv(input: Value, tensor1: Value, tensor2: Value, *, value: Number = 1) -> Value:
    """`input + value * tensor1 / tensor2`.

    >>> import tensorplay as tp
    >>> tp.addcdiv(tp.tensor([1.0, 2.0]), tp.tensor([3.0, 4.0]), tp.tensor([2.0, 8.0]), value=2)
    tensor([4., 3.])
    """
    return input + (tensor1 if value == 1 else tensor1 * value) / tensor2


def _two_tensor_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)))
    yield sample(Arg((3, 1)), Arg((4,)))
    yield sample(Arg((4, 3), layout="transposed"), Arg((4, 3), layout="transposed"))
    yield sample(Arg((0,)), Arg((1,)))


for _operator in (atan2, hypot, copysign, nextafter, maximum, minimum, fmax, fmin):
    _operator.sample(_two_tensor_samples)


@clamp.sample
def _clamp_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), -1.0, 1.0)
    yield sample(Arg((3, 4)), min=-1.0)
    yield sample(Arg((3, 4)), max=0.5)
    yield sample(Arg((3, 4)), Arg((4,), low=-2.0, high=-1.0), Arg((3, 1), low=1.0))
    yield sample(Arg((7,), dtypes.int64, low=-5, high=5), -2, 2)
    yield bad(ArgumentError, "give min, max", Arg((3,)))


@lerp.sample
def _lerp_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)), 0.3)
    yield sample(Arg((3, 4)), Arg((4,)), Arg((3, 1), low=0.0, high=1.0))


@addcmul.sample
@addcdiv.sample
def _addc_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)), Arg((4,), low=0.5))
    yield sample(Arg((3, 4)), Arg((3, 1)), Arg((3, 4), low=0.5), value=0.5)
