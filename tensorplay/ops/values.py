"""Scalar values, the functions over them, and the handlers that give them a meaning.

A scalar function is ordinary Python over `Value`s. Which handler made its operands decides what
happens: arrays are computed, an expression is recorded, text is printed, an interval is propagated.
The text `ops.exp(x)` needs no ambient state, because operands carry their handler.

    from tensorplay.ops import values as ops

    def gelu(x: Value) -> Value:
        return x * 0.5 * (1 + ops.erf(x * 0.7071067811865476))

Operands of one instruction have one dtype; a Python number becomes a constant of that dtype. Only
`load`, `constant`, `index_expr`, `indirect` and `philox` need the handler itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, Protocol, TypeAlias, TypeVar

from tensorplay.core.dtypes import DType, Number
from tensorplay.core.errors import DTypeError

Attrs: TypeAlias = Mapping[str, object]
Bound: TypeAlias = int | float
Interval: TypeAlias = tuple[Bound, Bound]
NO_ATTRS: Attrs = {}


@dataclass(frozen=True, slots=True)
class RealLinear:
    """The derivative of a function that is not holomorphic: a map that is linear over the reals.

    `forward(t, y, *operands)` applies it to the tangent of each operand, `adjoint(g, y, *operands)` its
    transpose to the gradient of the result; both give one value an operand. A gradient is `∂L/∂x + i ∂L/∂y`
    for the operand `x + iy`, so that `-gradient` is the direction of steepest descent.
    """

    forward: Callable[..., tuple[Value, ...]]
    adjoint: Callable[..., tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class Undefined:
    """What a partial derivative is that an operand does not have; asking for it is an error."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Instruction:
    """Everything known of one scalar instruction.

    - `result(name, operand dtypes, attrs)` is the dtype rule; it refuses operands that do not fit.
    - `array(*arrays, **attrs)` computes it on NumPy arrays of compute dtypes.
    - `partials(g, y, *operands)` gives, for each operand, `g` times the partial derivative at
      (operands, result `y`), None
      where that is zero everywhere, `Undefined` where there is none. The whole is None where no
      operand has a derivative.
    - `parts`: for complex operands, where the function is not holomorphic (abs, conj, real, …).
    - `interval(*intervals)` bounds the result; None when nothing is known.
    - `cost` counts an addition as 1.
    - `cpp`, `triton`: text with `{0}`, `{1}`, … for the operands and `{dtype}` for a `dtype`
      attribute; `triton` is None where there is no text yet.
    - `header` is the file of `tensorplay/include` that has what `cpp` calls.
    """

    name: str
    arity: int
    result: Callable[[str, Sequence[DType], Attrs], DType]
    array: Callable[..., object]
    partials: Callable[..., tuple[Value | Undefined | None, ...]] | None
    interval: Callable[..., Interval] | None
    cost: int
    cpp: str
    triton: str | None
    doc: str
    parts: RealLinear | None = None
    header: str = "tp_arith.h"

    def __repr__(self) -> str:
        """Text as in `ops.exp`."""
        return f"ops.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Pickle by name."""
        return instruction_named, (self.name,)


TABLE: dict[str, Instruction] = {}
"""All instructions by name, filled by `ops.instructions`."""


def instruction_named(name: str) -> Instruction:
    """The instruction called `name`."""
    return TABLE[name]


Data = TypeVar("Data")


class Handler(Protocol):
    """An interpretation of scalar programs."""

    def apply(self, instruction: Instruction, operands: Sequence[Value], attrs: Attrs) -> Value:
        """Give an instruction its meaning."""
        ...

    def constant(self, number: Number, dtype: DType) -> Value:
        """A constant of a dtype."""
        ...


class Value:
    """A scalar under some handler: its dtype, and `data`, which only the handler understands."""

    __slots__ = ("data", "dtype", "handler")

    def __init__(self, handler: Handler, dtype: DType, data: object) -> None:
        """Made by handlers."""
        self.handler = handler
        self.dtype = dtype
        self.data = data

    def __repr__(self) -> str:
        """Text for debugging."""
        return f"Value({self.dtype.name}, {self.data!r})"

    def __bool__(self) -> bool:
        """Refuse: a scalar function is run once for all elements."""
        msg = "a scalar function cannot branch on a Value; use ops.where(condition, a, b)"
        raise DTypeError(msg)

    def __add__(self, other: Operand) -> Value:
        return apply("add", self, other)

    def __radd__(self, other: Number) -> Value:
        return apply("add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return apply("sub", self, other)

    def __rsub__(self, other: Number) -> Value:
        return apply("sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return apply("mul", self, other)

    def __rmul__(self, other: Number) -> Value:
        return apply("mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return apply("truediv", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return apply("truediv", other, self)

    def __floordiv__(self, other: Operand) -> Value:
        return apply("floordiv", self, other)

    def __rfloordiv__(self, other: Number) -> Value:
        return apply("floordiv", other, self)

    def __mod__(self, other: Operand) -> Value:
        return apply("remainder", self, other)

    def __rmod__(self, other: Number) -> Value:
        return apply("remainder", other, self)

    def __neg__(self) -> Value:
        return apply("neg", self)

    def __abs__(self) -> Value:
        return apply("abs", self)

    def __lt__(self, other: Operand) -> Value:
        return apply("lt", self, other)

    def __le__(self, other: Operand) -> Value:
        return apply("le", self, other)

    def __gt__(self, other: Operand) -> Value:
        return apply("gt", self, other)

    def __ge__(self, other: Operand) -> Value:
        return apply("ge", self, other)

    def __and__(self, other: Operand) -> Value:
        return apply("bitwise_and", self, other)

    def __or__(self, other: Operand) -> Value:
        return apply("bitwise_or", self, other)

    def __xor__(self, other: Operand) -> Value:
        return apply("bitwise_xor", self, other)

    def __invert__(self) -> Value:
        return apply("bitwise_not", self)

    def __lshift__(self, other: Operand) -> Value:
        return apply("lshift", self, other)

    def __rshift__(self, other: Operand) -> Value:
        return apply("rshift", self, other)


Operand: TypeAlias = Value | Number


@dataclass(frozen=True, slots=True)
class Marker(Generic[Data]):
    """A mark on a parameter of a declaration, carried by `Annotated`."""

    name: Data


Scalar: TypeAlias = Annotated[Value, Marker("scalar")]
"""A parameter that takes a tensor or a Python number.

The scalar function sees a `Value` either way.
"""
Mask: TypeAlias = Annotated[Value, Marker("mask")]
"""A tensor parameter that takes no part in promotion and is seen as bool."""
Raw: TypeAlias = Annotated[Value, Marker("raw")]
"""A tensor parameter that takes no part in promotion and is seen in its own compute dtype."""
Index: TypeAlias = Annotated[tuple[Value, ...], Marker("index")]
"""Not a parameter of the operator: the int64 indices of the element being computed."""
Linear: TypeAlias = Annotated[Value, Marker("linear")]
"""Not a parameter of the operator: the int64 row-major index of the element being computed."""


def apply(name: str, *operands: Operand, **attrs: object) -> Value:
    """Apply the instruction called `name`; numbers take the dtype of the first `Value` operand."""
    first: Value | None = None
    for operand in operands:
        if isinstance(operand, Value):
            first = operand
            break
    if first is None:
        msg = f"ops.{name} needs at least one Value operand; make a constant with handler.constant"
        raise DTypeError(msg)
    handler, dtype = first.handler, first.dtype
    values = [
        each if isinstance(each, Value) else handler.constant(each, dtype) for each in operands
    ]
    return handler.apply(TABLE[name], values, attrs or NO_ATTRS)


def result_dtype(instruction: Instruction, operands: Sequence[Value], attrs: Attrs) -> DType:
    """The dtype of an instruction's result; raises where the operands do not fit."""
    return instruction.result(instruction.name, [each.dtype for each in operands], attrs)


def _unary(name: str) -> Callable[[Value], Value]:
    def function(x: Value) -> Value:
        return apply(name, x)

    function.__name__ = function.__qualname__ = name
    return function


def _binary(name: str) -> Callable[[Operand, Operand], Value]:
    def function(a: Operand, b: Operand) -> Value:
        return apply(name, a, b)

    function.__name__ = function.__qualname__ = name
    return function


add, sub, mul, truediv = _binary("add"), _binary("sub"), _binary("mul"), _binary("truediv")
floordiv, remainder, fmod = _binary("floordiv"), _binary("remainder"), _binary("fmod")
pow, atan2, hypot = _binary("pow"), _binary("atan2"), _binary("hypot")
copysign, nextafter = _binary("copysign"), _binary("nextafter")
maximum, minimum = _binary("maximum"), _binary("minimum")
fmax, fmin = _binary("fmax"), _binary("fmin")
lt, le, gt, ge = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
eq, ne = _binary("eq"), _binary("ne")
logical_and, logical_or = _binary("logical_and"), _binary("logical_or")
logical_xor, logical_not = _binary("logical_xor"), _unary("logical_not")
bitwise_and, bitwise_or = _binary("bitwise_and"), _binary("bitwise_or")
bitwise_xor, bitwise_not = _binary("bitwise_xor"), _unary("bitwise_not")
lshift, rshift = _binary("lshift"), _binary("rshift")
neg, abs, sign, signbit = _unary("neg"), _unary("abs"), _unary("sign"), _unary("signbit")
square, reciprocal, sqrt, rsqrt = (
    _unary("square"), _unary("reciprocal"), _unary("sqrt"), _unary("rsqrt"),
)  # fmt: skip
floor, ceil, trunc, round = _unary("floor"), _unary("ceil"), _unary("trunc"), _unary("round")
isnan, isinf, isfinite = _unary("isnan"), _unary("isinf"), _unary("isfinite")
exp, exp2, expm1 = _unary("exp"), _unary("exp2"), _unary("expm1")
log, log2, log10, log1p = _unary("log"), _unary("log2"), _unary("log10"), _unary("log1p")
sin, cos, tan = _unary("sin"), _unary("cos"), _unary("tan")
asin, acos, atan = _unary("asin"), _unary("acos"), _unary("atan")
sinh, cosh, tanh = _unary("sinh"), _unary("cosh"), _unary("tanh")
asinh, acosh, atanh = _unary("asinh"), _unary("acosh"), _unary("atanh")
erf, erfc, erfinv = _unary("erf"), _unary("erfc"), _unary("erfinv")
sigmoid, relu = _unary("sigmoid"), _unary("relu")
frexp_mantissa, frexp_exponent = _unary("frexp_mantissa"), _unary("frexp_exponent")
lgamma, digamma, airy_ai = _unary("lgamma"), _unary("digamma"), _unary("airy_ai")
polygamma, zeta = _binary("polygamma"), _binary("zeta")
igamma, igammac = _binary("igamma"), _binary("igammac")
erfcx, ndtr, log_ndtr, ndtri = (
    _unary("erfcx"), _unary("ndtr"), _unary("log_ndtr"), _unary("ndtri"),
)  # fmt: skip
i0, i1, i0e, i1e = _unary("i0"), _unary("i1"), _unary("i0e"), _unary("i1e")
k0, k1, k0e, k1e = _unary("k0"), _unary("k1"), _unary("k0e"), _unary("k1e")
j0, j1, y0, y1 = _unary("j0"), _unary("j1"), _unary("y0"), _unary("y1")
spherical_j0 = _unary("spherical_j0")
chebyshev_t, chebyshev_u = _binary("chebyshev_t"), _binary("chebyshev_u")
chebyshev_v, chebyshev_w = _binary("chebyshev_v"), _binary("chebyshev_w")
hermite_h, hermite_he = _binary("hermite_h"), _binary("hermite_he")
laguerre_l, legendre_p = _binary("laguerre_l"), _binary("legendre_p")
real, imag, conj = _unary("real"), _unary("imag"), _unary("conj")
sgn, angle, complex = _unary("sgn"), _unary("angle"), _binary("complex")


def where(condition: Value, a: Operand, b: Operand) -> Value:
    """`a` where the bool `condition` holds, else `b`."""
    dtype = next(each.dtype for each in (a, b, condition) if isinstance(each, Value))
    handler = condition.handler
    a = a if isinstance(a, Value) else handler.constant(a, dtype)
    b = b if isinstance(b, Value) else handler.constant(b, dtype)
    return handler.apply(TABLE["where"], (condition, a, b), NO_ATTRS)


def to_dtype(x: Value, dtype: DType) -> Value:
    """`x` converted to `dtype`; `x` itself when it has that dtype."""
    if x.dtype is dtype:
        return x
    return x.handler.apply(TABLE["to_dtype"], (x,), {"dtype": dtype})


def philox(seed: Value, offset: Value, index: Value) -> Value:
    """64 random bits (uint64): words 0 and 1 of Philox4x32-10, key `seed`, counter `(index, offset)`."""
    return seed.handler.apply(TABLE["philox"], (seed, offset, index), NO_ATTRS)
