"""Element-wise functions of the array API standard.

>>> from tensorplay import array_api as xp
>>> xp.add(xp.asarray([1, 2]), 3)
tensor([4, 5])
>>> xp.logaddexp(xp.asarray([0.0]), xp.asarray(0.0, dtype=xp.float64)).dtype
tensorplay.float64
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorplay import functions
from tensorplay.array_api.array import Array, Scalar, as_array, convert, operands
from tensorplay.array_api.division import floor_quotient, modulo
from tensorplay.core import dtypes
from tensorplay.ops.registry import tp
from tensorplay.ops.signature import Role
from tensorplay.tensor import Tensor


def _unary(name: str, doc: str, operator: str = "") -> Callable[[Tensor], Array]:
    operate = getattr(functions, operator or name)

    def function(x: Tensor, /) -> Array:
        return as_array(operate(x), x)

    return _named(function, name, doc)  # type: ignore[no-any-return]  # the function


def _binary(
    name: str, doc: str, operator: str = ""
) -> Callable[[Tensor | Scalar, Tensor | Scalar], Array]:
    operate = getattr(functions, operator or name)
    first, second = tp[operator or name].signature.parameters[:2]
    keep = all(each.role in _NUMBER_ROLES for each in (first, second))

    def function(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Array:
        x1, x2 = operands(name, x1, x2, keep_numbers=keep)
        return as_array(operate(x1, x2), x1, x2)

    return _named(function, name, doc)  # type: ignore[no-any-return]  # the function


_NUMBER_ROLES = frozenset({Role.SCALAR, Role.STATIC})
"""Parameters that take a number as it is."""


def _named(function: Any, name: str, doc: str) -> Any:  # noqa: ANN401  # the function
    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return function


acos = _unary("acos", "The inverse cosine.")
acosh = _unary("acosh", "The inverse hyperbolic cosine.")
asin = _unary("asin", "The inverse sine.")
asinh = _unary("asinh", "The inverse hyperbolic sine.")
atan = _unary("atan", "The inverse tangent.")
atanh = _unary("atanh", "The inverse hyperbolic tangent.")
bitwise_invert = _unary("bitwise_invert", "Every bit inverted.", "bitwise_not")
ceil = _unary("ceil", "The smallest integer not below.")
conj = _unary("conj", "The complex conjugate.")
cos = _unary("cos", "The cosine.")
cosh = _unary("cosh", "The hyperbolic cosine.")
exp = _unary("exp", "`e ** x`.")
floor = _unary("floor", "The largest integer not above.")
imag = _unary("imag", "The imaginary part.")
isfinite = _unary("isfinite", "Whether neither infinite nor NaN.")
isinf = _unary("isinf", "Whether infinite.")
isnan = _unary("isnan", "Whether NaN.")
log = _unary("log", "The natural logarithm.")
log10 = _unary("log10", "The logarithm of base 10.")
log1p = _unary("log1p", "`log(1 + x)`, exact near 0.")
log2 = _unary("log2", "The logarithm of base 2.")
logical_not = _unary("logical_not", "Not.")
negative = _unary("negative", "`-x`.", "neg")
real = _unary("real", "The real part.")
reciprocal = _unary("reciprocal", "`1 / x`.")
round = _unary("round", "The nearest integer, halves to even.")
signbit = _unary("signbit", "Whether the sign bit is set, as it is of -0.0.")
sin = _unary("sin", "The sine.")
sinh = _unary("sinh", "The hyperbolic sine.")
sqrt = _unary("sqrt", "The square root.")
square = _unary("square", "`x * x`.")
tan = _unary("tan", "The tangent.")
tanh = _unary("tanh", "The hyperbolic tangent.")
trunc = _unary("trunc", "The integer part, toward zero.")

add = _binary("add", "`x1 + x2`.")
atan2 = _binary("atan2", "The angle of the point `(x2, x1)`.")
bitwise_and = _binary("bitwise_and", "`x1 & x2`.")
bitwise_left_shift = _binary("bitwise_left_shift", "`x1 << x2`.")
bitwise_or = _binary("bitwise_or", "`x1 | x2`.")
bitwise_right_shift = _binary("bitwise_right_shift", "`x1 >> x2`, with the sign kept.")
bitwise_xor = _binary("bitwise_xor", "`x1 ^ x2`.")
copysign = _binary("copysign", "The magnitude of `x1` with the sign of `x2`.")
divide = _binary("divide", "`x1 / x2`.", "div")
equal = _binary("equal", "`x1 == x2`.", "eq")
greater = _binary("greater", "`x1 > x2`.", "gt")
greater_equal = _binary("greater_equal", "`x1 >= x2`.", "ge")
hypot = _binary("hypot", "`sqrt(x1**2 + x2**2)` without overflow.")
less = _binary("less", "`x1 < x2`.", "lt")
less_equal = _binary("less_equal", "`x1 <= x2`.", "le")
logaddexp = _binary("logaddexp", "`log(exp(x1) + exp(x2))` without overflow.")
logical_and = _binary("logical_and", "Both.")
logical_or = _binary("logical_or", "One or both.")
logical_xor = _binary("logical_xor", "One, and not both.")
maximum = _binary("maximum", "The larger of two; NaN wins.")
minimum = _binary("minimum", "The smaller of two; NaN wins.")
multiply = _binary("multiply", "`x1 * x2`.", "mul")
nextafter = _binary("nextafter", "The next float from `x1` toward `x2`.")
not_equal = _binary("not_equal", "`x1 != x2`.", "ne")
pow = _binary("pow", "`x1 ** x2`.")
subtract = _binary("subtract", "`x1 - x2`.", "sub")


def abs(x: Tensor, /) -> Array:
    """The absolute value; of complex numbers the magnitude."""
    return as_array(functions.abs(x), x)


def expm1(x: Tensor, /) -> Array:
    """`e ** x - 1`, exact near 0; of infinite complex numbers what `exp` gives, and 1 less."""
    found = functions.expm1(x)
    if x.dtype.is_complex:
        found = functions.where(functions.isnan(found), functions.exp(x) - 1, found)
    return as_array(found, x)


def floor_divide(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Array:
    """`x1 // x2`, rounded toward minus infinity."""
    return as_array(floor_quotient(*operands("floor_divide", x1, x2)))


def remainder(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Array:
    """`x1 % x2`, with the sign of `x2`."""
    return as_array(modulo(*operands("remainder", x1, x2)))


def sign(x: Tensor, /) -> Array:
    """-1, 0 or 1; of a complex number `x / |x|`, or 0. NaN stays NaN."""
    found = functions.sgn(x)
    if x.dtype.is_floating_point:  # PyTorch's sign of NaN is 0
        found = functions.where(functions.isnan(x), x, found)
    return as_array(found, x)


def positive(x: Tensor, /) -> Array:
    """`+x`, of numeric dtypes."""
    return as_array(+x)  # type: ignore[operator]  # attached in `tensorplay.methods`


def clip(
    x: Tensor, /, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None
) -> Array:
    """`x` inside `[min, max]`, in the dtype of `x`; NaN stays. A bound that is None does not bind."""
    if min is None and max is None:
        return positive(x) if x.dtype is not dtypes.bool_ else as_array(x, x)
    bounds = [convert(each, x.dtype) if isinstance(each, Tensor) else each for each in (min, max)]
    result = functions.clamp(x, *bounds)
    return as_array(convert(result, x.dtype), x)


__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip
