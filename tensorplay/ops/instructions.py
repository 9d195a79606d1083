"""The table of scalar instructions: one record each, everything known of it in one place.

A record is read by every handler: dtype rule, NumPy function, partial derivatives, interval rule,
cost, C++ and Triton text.

>>> from tensorplay.ops.values import TABLE
>>> TABLE["mul"].cpp
'({0} * {1})'

Rules that libraries disagree on, and ours:

- maximum, minimum: NaN wins; with equal operands (also -0 and +0) the first operand is returned.
  fmax, fmin ignore NaN.
- floordiv, remainder round toward minus infinity; a zero remainder of floats keeps the dividend's
  sign. On integers
  the results wrap (`-2**31 // -1 == -2**31`, remainder 0), and division by zero gives 0 for both.
- Shifts by the width or more, or by a negative count, shift every bit out.
- sign(NaN) and sign(-0) are 0. relu(-0) is -0: `0 if x < 0 else x`.
- Float to integer truncates. int8, int16, int32, uint8 and uint16 go through int32 and keep the low
  bits, uint32 and
  int64 go through int64; what does not fit the intermediate type, and NaN, become its least value
  (what x86's cvttps2dq does). uint64 takes values from 2**63 up exactly. Float to bool is `x != 0`.
- Integer power wraps; a negative exponent gives 0 except for bases 1 and -1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np

from tensorplay.core import dtypes
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import DTypeError
from tensorplay.ops import arrays
from tensorplay.ops import values as ops
from tensorplay.ops.values import (
    TABLE,
    Attrs,
    Bound,
    Instruction,
    Interval,
    RealLinear,
    Undefined,
    Value,
)

Partials = Callable[..., tuple[Value | Undefined | None, ...]]
IntervalRule = Callable[..., Interval]
ResultRule = Callable[[str, Sequence[DType], Attrs], DType]

_CHEAP, _DIVISION, _ELEMENTARY, _HEAVY = 1, 4, 12, 24

# ---- dtype rules --------------------------------------------------------------------------------


def _refuse(name: str, found: Sequence[DType], wanted: str) -> DTypeError:
    texts = ", ".join(dtype.name for dtype in found)
    return DTypeError(f"ops.{name}: expected {wanted}, found ({texts})")


def _same(kinds: str, wanted: str) -> ResultRule:
    def rule(name: str, found: Sequence[DType], _: Attrs) -> DType:
        first = found[0]
        if first.kind not in kinds or any(each is not first for each in found):
            raise _refuse(name, found, wanted)
        return first

    return rule


def _to_bool(kinds: str, wanted: str) -> ResultRule:
    same = _same(kinds, wanted)

    def rule(name: str, found: Sequence[DType], attrs: Attrs) -> DType:
        same(name, found, attrs)
        return dtypes.bool_

    return rule


_NUMERIC = _same("iufc", "numbers of one dtype")
_REAL = _same("iuf", "real numbers of one dtype")
_ORDERED = _same("biuf", "real operands of one dtype")
_INEXACT = _same("fc", "floating-point operands of one dtype")
_FLOAT = FLOAT_RESULT = _same("f", "real floating-point operands of one dtype")
_INTEGER = _same("iu", "integers of one dtype")
_BITS = _same("biu", "integers or bools of one dtype")
_COMPARE = _to_bool("biuf", "real operands of one dtype")
_EQUATE = _to_bool("biufc", "operands of one dtype")
_CLASSIFY = _to_bool("fc", "a floating-point operand")
_LOGIC = _same("b", "bools")


def _abs_result(name: str, found: Sequence[DType], attrs: Attrs) -> DType:
    return dtypes.to_real(_NUMERIC(name, found, attrs))


def _real_part_result(name: str, found: Sequence[DType], attrs: Attrs) -> DType:
    return dtypes.to_real(_same("c", "a complex operand")(name, found, attrs))


def _where_result(name: str, found: Sequence[DType], _: Attrs) -> DType:
    if found[0] is not dtypes.bool_ or found[1] is not found[2]:
        raise _refuse(name, found, "(bool, dtype, the same dtype)")
    return found[1]


def _convert_result(_: str, __: Sequence[DType], attrs: Attrs) -> DType:
    dtype = attrs["dtype"]
    assert isinstance(dtype, DType)  # noqa: S101  # set by ops.to_dtype
    return dtype


def _philox_result(name: str, found: Sequence[DType], _: Attrs) -> DType:
    if any(each is not dtypes.int64 for each in found):
        raise _refuse(name, found, "int64 seed, offset and index")
    return dtypes.uint64


# ---- interval rules (bounds may be infinite; the caller widens on overflow) -----------------------


def _corners(function: Callable[[Bound, Bound], Bound], a: Interval, b: Interval) -> Interval:
    found = [function(x, y) for x in a for y in b]
    return min(found), max(found)


def _times(x: Bound, y: Bound) -> Bound:
    return 0 if x == 0 or y == 0 else x * y


def _interval_floordiv(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0:
        return -math.inf, math.inf

    def quotient(x: Bound, y: Bound) -> Bound:
        if math.isinf(y):
            return -1 if x < 0 else 0
        return x if math.isinf(x) else x // y

    return _corners(quotient, a, b)


def _interval_remainder(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0:
        return -math.inf, math.inf
    if a[0] >= 0 and a[1] < b[0]:
        return a
    return 0, b[1] - 1 if isinstance(b[1], int) else b[1]


def _interval_abs(a: Interval) -> Interval:
    if a[0] >= 0:
        return a
    return (-a[1], -a[0]) if a[1] <= 0 else (0, max(-a[0], a[1]))


def _interval_truth(*_: Interval) -> Interval:
    return 0, 1


def _unit(*_: Interval) -> Interval:
    return -1, 1


def _monotone(function: Callable[[float], float]) -> IntervalRule:
    def rule(a: Interval) -> Interval:
        low, high = (x if math.isinf(x) else function(x) for x in a)
        return low, high

    return rule


# ---- the table ------------------------------------------------------------------------------------


def _put(
    name: str,
    arity: int,
    result: ResultRule,
    array: Callable[..., object],
    partials: Partials | None,
    doc: str,
    *,
    cost: int = _CHEAP,
    interval: IntervalRule | None = None,
    cpp: str | None = None,
    triton: str | None = None,
    parts: RealLinear | None = None,
    header: str = "tp_arith.h",
) -> None:
    slots = ", ".join(f"{{{i}}}" for i in range(arity))
    TABLE[name] = Instruction(
        name, arity, result, array, partials, interval, cost,
        cpp or f"tp::{name}({slots})", triton or f"libdevice.{name}({slots})", doc, parts, header,
    )  # fmt: skip


class _Texts(TypedDict):
    cpp: str
    triton: str


def _infix(sign: str) -> _Texts:
    return {"cpp": f"({{0}} {sign} {{1}})", "triton": f"({{0}} {sign} {{1}})"}


def _arithmetic() -> None:
    _put(
        "add",
        2,
        _NUMERIC,
        np.add,
        lambda g, y, a, b: (g, g),
        "a + b",
        interval=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        **_infix("+"),
    )
    _put(
        "sub",
        2,
        _NUMERIC,
        np.subtract,
        lambda g, y, a, b: (g, -g),
        "a - b",
        interval=lambda a, b: (a[0] - b[1], a[1] - b[0]),
        **_infix("-"),
    )
    _put(
        "mul",
        2,
        _NUMERIC,
        np.multiply,
        lambda g, y, a, b: (g * b, g * a),
        "a * b",
        interval=lambda a, b: _corners(_times, a, b),
        **_infix("*"),
    )
    _put(
        "truediv",
        2,
        _INEXACT,
        np.true_divide,
        lambda g, y, a, b: (g / b, -g * y / b),
        "a / b",
        cost=_DIVISION,
        cpp="({0} / {1})",
        triton="tp_div({0}, {1})",
    )
    _put(
        "floordiv",
        2,
        _REAL,
        arrays.floordiv,
        None,
        "a // b, rounded toward minus infinity",
        cost=2 * _DIVISION,
        interval=_interval_floordiv,
        triton="tp_floordiv({0}, {1})",
    )
    _put(
        "remainder",
        2,
        _REAL,
        arrays.remainder,
        lambda g, y, a, b: (g, -g * ops.floordiv(a, b)),
        "a % b, with the divisor's sign",
        cost=2 * _DIVISION,
        interval=_interval_remainder,
        triton="tp_remainder({0}, {1})",
    )
    _put(
        "fmod",
        2,
        _REAL,
        arrays.fmod,
        lambda g, y, a, b: (g, -g * ops.trunc(a / b)),
        "remainder with the dividend's sign",
        cost=2 * _DIVISION,
        triton="tp_fmod({0}, {1})",
    )
    _put(
        "neg",
        1,
        _NUMERIC,
        np.negative,
        lambda g, y, x: (-g,),
        "-x",
        interval=lambda a: (-a[1], -a[0]),
        cpp="(-{0})",
        triton="(-{0})",
    )
    _put(
        "abs",
        1,
        _abs_result,
        np.absolute,
        lambda g, y, x: (g * ops.sign(x),),
        "absolute value",
        interval=_interval_abs,
        triton="tl.abs({0})",
        parts=RealLinear(
            lambda t, y, x: (ops.real(ops.conj(ops.sgn(x)) * t),),
            lambda g, y, x: (ops.to_dtype(g, x.dtype) * ops.sgn(x),),
        ),
    )
    _put(
        "square",
        1,
        _NUMERIC,
        np.square,
        lambda g, y, x: (g * (x * 2),),
        "x * x",
        interval=lambda a: _corners(_times, _interval_abs(a), _interval_abs(a)),
        triton="({0} * {0})",
    )
    _put(
        "reciprocal",
        1,
        _INEXACT,
        np.reciprocal,
        lambda g, y, x: (-g * (y * y),),
        "1 / x",
        cost=_DIVISION,
        triton="tp_reciprocal({0})",
    )
    _put(
        "sqrt",
        1,
        _INEXACT,
        np.sqrt,
        lambda g, y, x: (g / (y * 2),),
        "square root",
        cost=_DIVISION,
        triton="tp_sqrt({0})",
    )
    _put(
        "rsqrt",
        1,
        _INEXACT,
        arrays.rsqrt,
        lambda g, y, x: (g * (y * y * y) * -0.5,),
        "1 / sqrt(x)",
        cost=2 * _DIVISION,
        triton="tp_rsqrt({0})",
    )
    _put(
        "pow",
        2,
        _NUMERIC,
        arrays.power,
        _pow_partials,
        "a to the power b",
        cost=_HEAVY,
        header="tp_math.h",
        triton="tp_pow({0}, {1})",
    )


def _pow_partials(g: Value, y: Value, a: Value, b: Value) -> tuple[Value | None, ...]:
    base = ops.where(ops.eq(b, 0), 0, g * (b * ops.pow(a, b - 1)))
    dead = ops.logical_and(ops.eq(a, 0), ops.ge(ops.real(b) if b.dtype.is_complex else b, 0))
    return base, g * ops.where(dead, 0, y * ops.log(a))


def _selection() -> None:
    _put(
        "maximum",
        2,
        _ORDERED,
        arrays.maximum,
        _tie_partials(ops.gt),
        "the larger; NaN wins",
        interval=lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
        triton="tp_maximum({0}, {1})",
    )
    _put(
        "minimum",
        2,
        _ORDERED,
        arrays.minimum,
        _tie_partials(ops.lt),
        "the smaller; NaN wins",
        interval=lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
        triton="tp_minimum({0}, {1})",
    )
    _put(
        "fmax",
        2,
        _REAL,
        arrays.fmax,
        lambda g, y, a, b: _choose(g, ops.logical_or(ops.ge(a, b), _is_nan(b))),
        "the larger; NaN loses",
        triton="tp_fmax({0}, {1})",
    )
    _put(
        "fmin",
        2,
        _REAL,
        arrays.fmin,
        lambda g, y, a, b: _choose(g, ops.logical_or(ops.le(a, b), _is_nan(b))),
        "the smaller; NaN loses",
        triton="tp_fmin({0}, {1})",
    )
    _put(
        "where",
        3,
        _where_result,
        np.where,
        lambda g, y, c, a, b: (None, ops.where(c, g, 0), ops.where(c, 0, g)),
        "a where the condition holds, else b",
        interval=lambda c, a, b: (min(a[0], b[0]), max(a[1], b[1])),
        triton="tl.where({0}, {1}, {2})",
    )
    _put(
        "relu",
        1,
        _REAL,
        arrays.relu,
        lambda g, y, x: (ops.where(y > 0, g, 0),),
        "0 if x < 0 else x",
        interval=lambda a: (max(a[0], 0), max(a[1], 0)),
        triton="tp_relu({0})",
    )


def _is_nan(x: Value) -> Value:
    return ops.ne(x, x)


def _choose(g: Value, first: Value) -> tuple[Value | None, ...]:
    return ops.where(first, g, 0), ops.where(first, 0, g)


def _tie_partials(wins: Callable[[Value, Value], Value]) -> Partials:
    """Equal operands share the gradient in halves.

    A NaN operand takes none, as no comparison holds.
    """

    def partials(g: Value, y: Value, a: Value, b: Value) -> tuple[Value | None, ...]:
        half = ops.where(ops.eq(a, b), g * 0.5, 0)
        return ops.where(wins(a, b), g, half), ops.where(wins(b, a), g, half)

    return partials


_Named = tuple[tuple[str, str, Callable[..., Any]], ...]


def _truth() -> None:
    comparisons: _Named = (
        ("lt", "<", np.less), ("le", "<=", np.less_equal), ("gt", ">", np.greater),
        ("ge", ">=", np.greater_equal), ("eq", "==", np.equal), ("ne", "!=", np.not_equal),
    )  # fmt: skip
    for name, sign, function in comparisons:
        rule = _EQUATE if name in {"eq", "ne"} else _COMPARE
        _put(name, 2, rule, function, None, f"a {sign} b", interval=_interval_truth, **_infix(sign))
    logic: _Named = (
        ("logical_and", "&", np.logical_and), ("logical_or", "|", np.logical_or),
        ("logical_xor", "^", np.logical_xor),
    )  # fmt: skip
    for name, sign, function in logic:
        _put(
            name,
            2,
            _LOGIC,
            function,
            None,
            name.replace("_", " "),
            interval=_interval_truth,
            **_infix(sign),
        )
    _put(
        "logical_not",
        1,
        _LOGIC,
        np.logical_not,
        None,
        "logical not",
        interval=_interval_truth,
        triton="(~{0})",
    )
    bits: _Named = (
        ("bitwise_and", "&", np.bitwise_and), ("bitwise_or", "|", np.bitwise_or),
        ("bitwise_xor", "^", np.bitwise_xor),
    )  # fmt: skip
    for name, sign, function in bits:
        _put(name, 2, _BITS, function, None, name.replace("_", " "), **_infix(sign))
    _put("bitwise_not", 1, _BITS, np.invert, None, "bitwise not", triton="(~{0})")
    _put("lshift", 2, _INTEGER, arrays.lshift, None, "a << b", triton="tp_lshift({0}, {1})")
    _put(
        "rshift",
        2,
        _INTEGER,
        arrays.rshift,
        None,
        "a >> b, keeping the sign",
        triton="tp_rshift({0}, {1})",
    )
    _put(
        "signbit",
        1,
        _to_bool("f", "a real floating-point operand"),
        np.signbit,
        None,
        "whether the sign bit is set",
        interval=_interval_truth,
        triton="tp_signbit({0})",
    )
    classes: _Named = (
        ("isnan", "({0} != {0})", np.isnan), ("isinf", "(tl.abs({0}) == float('inf'))", np.isinf),
        ("isfinite", "(tl.abs({0}) < float('inf'))", np.isfinite),
    )  # fmt: skip
    for name, text, function in classes:
        _put(name, 1, _CLASSIFY, function, None, name, interval=_interval_truth, triton=text)


def _rounding() -> None:
    zero: Partials | None = None
    _put(
        "floor",
        1,
        _FLOAT,
        np.floor,
        zero,
        "largest integer below",
        interval=_monotone(math.floor),
        triton="tl.floor({0})",
    )
    _put(
        "ceil",
        1,
        _FLOAT,
        np.ceil,
        zero,
        "smallest integer above",
        interval=_monotone(math.ceil),
        triton="tl.ceil({0})",
    )
    _put("trunc", 1, _FLOAT, np.trunc, zero, "toward zero", interval=_monotone(math.trunc))
    _put(
        "round",
        1,
        _INEXACT,
        np.rint,
        zero,
        "nearest integer, halves to even; of a complex number each part",
        interval=_monotone(round),
        triton="libdevice.rint({0})",
    )
    _put(
        "sign",
        1,
        _REAL,
        arrays.sign,
        zero,
        "-1, 0 or 1; 0 for NaN",
        interval=_unit,
        triton="tp_sign({0})",
    )
    _put(
        "frexp_mantissa",
        1,
        _FLOAT,
        arrays.unary("frexp_mantissa"),
        lambda g, y, x: (g * ops.exp2(-ops.frexp_exponent(x)),),
        "x / 2**frexp_exponent(x), at least 1/2 and below 1",
        cost=_DIVISION,
        triton="tp_frexp_mantissa({0})",
        header="tp_math.h",
    )
    _put(
        "frexp_exponent",
        1,
        _FLOAT,
        arrays.unary("frexp_exponent"),
        zero,
        "the exponent that goes with frexp_mantissa",
        cost=_DIVISION,
        triton="tp_frexp_exponent({0})",
        header="tp_math.h",
    )
    _put(
        "copysign",
        2,
        _FLOAT,
        np.copysign,
        lambda g, y, a, b: (ops.where(ops.eq(a, 0), 0, g * (y / a)), None),
        "|a| with the sign of b",
    )
    _put(
        "nextafter",
        2,
        _FLOAT,
        np.nextafter,
        lambda g, y, a, b: (g, None),
        "the next float from a toward b; it moves with a",
        cost=_DIVISION,
    )


def _elementary() -> None:
    def put(
        name: str,
        partial: Callable[[Value, Value, Value], Value],
        doc: str,
        interval: IntervalRule | None = None,
        triton: str | None = None,
    ) -> None:
        _put(
            name,
            1,
            _INEXACT,
            arrays.unary(name),
            lambda g, y, x: (partial(g, y, x),),
            doc,
            cost=_ELEMENTARY,
            interval=interval,
            triton=triton,
            header="tp_math.h",
        )

    put("exp", lambda g, y, x: g * y, "e**x", interval=lambda a: (0, math.inf))
    put("exp2", lambda g, y, x: g * (y * math.log(2)), "2**x", interval=lambda a: (0, math.inf))
    put("expm1", lambda g, y, x: g * (y + 1), "e**x - 1", interval=lambda a: (-1, math.inf))
    put("log", lambda g, y, x: g / x, "natural logarithm")
    put("log2", lambda g, y, x: g / (x * math.log(2)), "logarithm of base 2")
    put("log10", lambda g, y, x: g / (x * math.log(10)), "logarithm of base 10")
    put("log1p", lambda g, y, x: g / (x + 1), "log(1 + x)")
    put("sin", lambda g, y, x: g * ops.cos(x), "sine", interval=_unit)
    put("cos", lambda g, y, x: g * -ops.sin(x), "cosine", interval=_unit)
    put("tan", lambda g, y, x: g * (1 + y * y), "tangent")
    put("asin", lambda g, y, x: g * ops.rsqrt(1 - x * x), "inverse sine")
    put("acos", lambda g, y, x: g * -ops.rsqrt(1 - x * x), "inverse cosine")
    put("atan", lambda g, y, x: g / (x * x + 1), "inverse tangent")
    put("sinh", lambda g, y, x: g * ops.cosh(x), "hyperbolic sine")
    put("cosh", lambda g, y, x: g * ops.sinh(x), "hyperbolic cosine")
    put("tanh", lambda g, y, x: g * (1 - y * y), "hyperbolic tangent", interval=_unit)
    put("asinh", lambda g, y, x: g * ops.rsqrt(x * x + 1), "inverse hyperbolic sine")
    put("acosh", lambda g, y, x: g * _acosh_slope(x), "inverse hyperbolic cosine")
    put("atanh", lambda g, y, x: g / (1 - x * x), "inverse hyperbolic tangent")
    two_over_sqrt_pi = 2 / math.sqrt(math.pi)
    put(
        "erf",
        lambda g, y, x: g * (ops.exp(-(x * x)) * two_over_sqrt_pi),
        "error function",
        interval=_unit,
    )
    put(
        "erfc",
        lambda g, y, x: g * (ops.exp(-(x * x)) * -two_over_sqrt_pi),
        "1 - erf(x)",
        interval=lambda a: (0, 2),
    )
    put("erfinv", lambda g, y, x: g * (ops.exp(y * y) / two_over_sqrt_pi), "inverse error function")
    put(
        "sigmoid",
        lambda g, y, x: g * ((1 - y) * y),
        "1 / (1 + e**-x)",
        interval=lambda a: (0, 1),
        triton="tp_sigmoid({0})",
    )
    _put(
        "atan2",
        2,
        _FLOAT,
        arrays.binary("atan2"),
        _atan2_partials,
        "angle of the point (b, a)",
        cost=_HEAVY,
        header="tp_math.h",
    )
    _put(
        "hypot",
        2,
        _FLOAT,
        arrays.binary("hypot"),
        lambda g, y, a, b: (g * (a / y), g * (b / y)),
        "sqrt(a*a + b*b) without overflow",
        cost=_ELEMENTARY,
        header="tp_math.h",
    )


def _acosh_slope(x: Value) -> Value:
    """In two roots where it is complex: the root of the product has other branch cuts than acosh."""
    return ops.rsqrt(x - 1) * ops.rsqrt(x + 1) if x.dtype.is_complex else ops.rsqrt(x * x - 1)


def _atan2_partials(g: Value, y: Value, a: Value, b: Value) -> tuple[Value | None, ...]:
    scaled = g / (a * a + b * b)
    return scaled * b, -scaled * a


def _conversion() -> None:
    _put(
        "to_dtype",
        1,
        _convert_result,
        arrays.convert,
        None,
        "conversion; the rule is in the module's text",
        interval=lambda a: a,
        cpp="tp::convert<{dtype}>({0})",
        triton="tp_convert({0}, {dtype})",
    )
    _put(
        "philox",
        3,
        _philox_result,
        arrays.philox,
        None,
        "64 random bits: words 0 and 1 of Philox4x32-10, key seed, counter (index, offset)",
        cost=40,
        triton="tp_philox({0}, {1}, {2})",
    )


def _complex_result(name: str, found: Sequence[DType], attrs: Attrs) -> DType:
    return dtypes.to_complex(_FLOAT(name, found, attrs))


def _sideways(x: Value, t: Value) -> Value:
    """The imaginary part of `conj(x) t`: how far `t` moves across the direction of `x`, times `|x|`."""
    return ops.imag(ops.conj(x) * t)


def _over_square(part: Value, x: Value) -> Value:
    """`part / |x|²`, 0 at 0, in the dtype of `part`."""
    size = ops.abs(x)
    whole = ops.to_dtype(size, part.dtype)
    return ops.where(ops.eq(size, 0), 0, part / whole / whole)


def _sgn_parts(t: Value, y: Value, x: Value) -> tuple[Value, ...]:
    """The tangent across the direction of `x`, over `|x|`: `i y Im(conj(y) t) / |x|`; its own transpose."""
    size = ops.to_dtype(ops.abs(x), x.dtype)
    moved = y * ops.complex(0, _sideways(y, t))
    return (ops.where(ops.eq(size, 0), 0, moved / size),)


def _complex_numbers() -> None:
    one_complex = _same("c", "a complex operand")
    _put(
        "real", 1, _real_part_result, arrays.real, None, "the real part",
        parts=RealLinear(
            lambda t, y, x: (ops.real(t),), lambda g, y, x: (ops.to_dtype(g, x.dtype),)
        ),
    )  # fmt: skip
    _put(
        "imag", 1, _real_part_result, arrays.imag, None, "the imaginary part",
        parts=RealLinear(lambda t, y, x: (ops.imag(t),), lambda g, y, x: (ops.complex(0, g),)),
    )  # fmt: skip
    _put(
        "conj", 1, one_complex, np.conjugate, None, "the complex conjugate",
        parts=RealLinear(lambda t, y, x: (ops.conj(t),), lambda g, y, x: (ops.conj(g),)),
    )  # fmt: skip
    _put(
        "complex", 2, _complex_result, arrays.complex_of, None, "a + ib",
        parts=RealLinear(
            lambda t, y, a, b: (ops.complex(t, 0), ops.complex(0, t)),
            lambda g, y, a, b: (ops.real(g), ops.imag(g)),
        ),
    )  # fmt: skip
    _put(
        "angle", 1, _real_part_result, np.angle, None, "the angle of a complex number",
        cost=_HEAVY,
        parts=RealLinear(
            lambda t, y, x: (_over_square(_sideways(x, t), x),),
            lambda g, y, x: (_over_square(x * ops.complex(0, g), x),),
        ),
    )  # fmt: skip
    _put(
        "sgn", 1, one_complex, arrays.sgn, None, "x / |x|, 0 at 0",
        cost=_HEAVY, parts=RealLinear(_sgn_parts, _sgn_parts),
    )  # fmt: skip


_arithmetic()
_selection()
_truth()
_rounding()
_elementary()
_conversion()
_complex_numbers()


def propagate(instruction: Instruction, dtype: DType, operands: Sequence[Interval]) -> Interval:
    """Bounds of an integer result: the record's rule, widened to the dtype's range where it may wrap."""
    whole = dtype_range(dtype)
    if instruction.interval is None:
        return whole
    low, high = instruction.interval(*operands)
    return (low, high) if whole[0] <= low and high <= whole[1] else whole


def dtype_range(dtype: DType) -> Interval:
    """All values of a dtype as an interval."""
    if dtype.is_integral:
        info = dtypes.iinfo(dtype)
        return info.min, info.max
    return (0, 1) if dtype.kind == "b" else (-math.inf, math.inf)
