"""NumPy functions behind the scalar instructions, where NumPy alone has none with our rule.

Elementary functions call `tensorplay._C`, which computes them with the header that generated kernels include, so that
eager and compiled results have the same bits. Arrays here have compute dtypes (float32, float64, integers, bool, complex).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tensorplay import _C
from tensorplay.core.dtypes import DType

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_NUMPY_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh",
}  # fmt: skip


def unary(name: str) -> Callable[[Array], Array]:
    """The elementary function `name`: from `_C` for real operands, from NumPy for complex ones."""
    complex_function = getattr(np, _NUMPY_NAMES.get(name, name), None)

    def function(x: Array) -> Array:
        if x.dtype.kind == "c":
            return _complex_unary(name, complex_function, x)
        return _C.unary(name, np.asarray(x))

    function.__name__ = name
    return function


def _complex_unary(name: str, function: Callable[[Array], Array] | None, x: Array) -> Array:
    if name == "sigmoid":
        return np.asarray(1 / (1 + np.exp(-x)), x.dtype)
    if function is None:
        msg = f"{name} is not defined for complex numbers"
        raise TypeError(msg)
    return np.asarray(function(x), x.dtype)


def binary(name: str) -> Callable[[Array, Array], Array]:
    """The elementary function `name` of two real operands, from `_C`."""

    def function(a: Array, b: Array) -> Array:
        return _C.binary(name, np.asarray(a), np.asarray(b))

    function.__name__ = name
    return function


def rsqrt(x: Array) -> Array:
    """`1 / sqrt(x)`, two rounded operations."""
    return np.asarray(np.reciprocal(np.sqrt(x)))


def floordiv(a: Array, b: Array) -> Array:
    """Quotient rounded toward minus infinity; of floats, the exact one rounded, as Python's `//`."""
    if a.dtype.kind != "f":
        return np.asarray(np.floor_divide(a, b))
    part = np.fmod(a, b)
    quotient = (a - part) / b
    quotient = np.where((part != 0) & ((b < 0) != (part < 0)), quotient - 1, quotient)
    floor = np.floor(quotient)
    floor = np.where(quotient - floor > 0.5, floor + 1, floor)
    floor = np.where(quotient == 0, np.copysign(0, a / b), floor)
    return np.asarray(np.where(b == 0, a / b, floor), a.dtype)


def remainder(a: Array, b: Array) -> Array:
    """Remainder with the divisor's sign; a zero remainder of floats keeps the dividend's sign."""
    if a.dtype.kind != "f":
        return np.asarray(np.remainder(a, b))
    part = np.fmod(a, b)
    return np.asarray(np.where((part != 0) & ((b < 0) != (part < 0)), part + b, part), a.dtype)


def fmod(a: Array, b: Array) -> Array:
    """Remainder with the dividend's sign."""
    return np.asarray(np.fmod(a, b))


def power(a: Array, b: Array) -> Array:
    """`a ** b`: floats from `_C`, integers wrap and have 0 for negative exponents of other bases than 1 and -1."""
    if a.dtype.kind == "f":
        return _C.binary("pow", np.asarray(a), np.asarray(b))
    if a.dtype.kind == "c":
        return np.asarray(np.power(a, b))
    if b.dtype.kind == "u":
        return np.asarray(np.power(a, b))
    positive = np.power(a, np.maximum(b, b.dtype.type(0)))
    odd = np.where(b & b.dtype.type(1), a, b.dtype.type(1))
    unit = np.where((a == 1) | (a == -1), odd, b.dtype.type(0))
    return np.asarray(np.where(b < 0, unit, positive), a.dtype)


def maximum(a: Array, b: Array) -> Array:
    """The larger, `a` when equal; NaN wins."""
    return np.asarray(np.where((a >= b) | (a != a), a, b))  # noqa: PLR0124  # a != a finds NaN


def minimum(a: Array, b: Array) -> Array:
    """The smaller, `a` when equal; NaN wins."""
    return np.asarray(np.where((a <= b) | (a != a), a, b))  # noqa: PLR0124


def fmax(a: Array, b: Array) -> Array:
    """The larger, `a` when equal; NaN loses."""
    return np.asarray(np.where((a >= b) | (b != b), a, b))  # noqa: PLR0124


def fmin(a: Array, b: Array) -> Array:
    """The smaller, `a` when equal; NaN loses."""
    return np.asarray(np.where((a <= b) | (b != b), a, b))  # noqa: PLR0124


def relu(x: Array) -> Array:
    """0 where `x < 0`, else `x`: NaN and -0 stay."""
    return np.asarray(np.where(x < 0, x.dtype.type(0), x))


def sign(x: Array) -> Array:
    """`(x > 0) - (x < 0)`: 0 for NaN and both zeros."""
    return np.asarray(np.subtract(x > 0, x < 0, dtype=np.int8)).astype(x.dtype)


def lshift(a: Array, b: Array) -> Array:
    """`a << b`; a count outside `[0, width)` shifts every bit out."""
    width = 8 * a.dtype.itemsize
    inside = (b >= 0) & (b < width)
    shifted = np.left_shift(a, np.where(inside, b, b.dtype.type(0)))
    return np.asarray(np.where(inside, shifted, a.dtype.type(0)))


def rshift(a: Array, b: Array) -> Array:
    """`a >> b` keeping the sign; a count outside `[0, width)` leaves only the sign."""
    width = 8 * a.dtype.itemsize
    inside = (b >= 0) & (b < width)
    last = b.dtype.type(width - 1)
    shifted = np.right_shift(a, np.where(inside, b, last))
    if a.dtype.kind == "i":
        return np.asarray(shifted)
    return np.asarray(np.where(inside, shifted, a.dtype.type(0)))


def real(x: Array) -> Array:
    """The real part, copied."""
    return np.array(x.real)


def imag(x: Array) -> Array:
    """The imaginary part, copied."""
    return np.array(x.imag)


# ---- conversion -----------------------------------------------------------------------------------

_THROUGH_INT32 = ("int8", "int16", "int32", "uint8", "uint16")
_TWO_63 = 2.0**63


def _truncate(x: Array, dtype: type[np.signedinteger[Any]]) -> Array:
    """Toward zero; NaN and what does not fit become the least value."""
    least = float(np.iinfo(dtype).min)
    whole = np.trunc(x)
    return np.asarray(np.where((whole >= least) & (whole < -least), whole, least)).astype(dtype)


def convert(x: Array, *, dtype: DType) -> Array:
    """Conversion by the rule of `ops.instructions`."""
    source, target = x.dtype.kind, dtype.numpy
    if x.dtype == target:
        return np.asarray(x)
    if dtype.kind == "b":
        return np.asarray(x != 0)
    if source == "c" and dtype.kind != "c":
        return convert(np.array(x.real), dtype=dtype)
    if dtype.kind not in "iu" or source in "biu":
        return np.asarray(x).astype(target)
    if source != "f":  # a half type of ml_dtypes
        return convert(np.asarray(x).astype(np.float32), dtype=dtype)
    if dtype.name == "uint64":
        high = (x >= _TWO_63) & (x < 2 * _TWO_63)
        low = _truncate(np.where(high, x - x.dtype.type(_TWO_63), x), np.int64).astype(np.uint64)
        return np.asarray(np.where(high, low ^ np.uint64(2**63), low))
    middle: type[np.signedinteger[Any]] = np.int32 if dtype.name in _THROUGH_INT32 else np.int64
    return _truncate(x, middle).astype(target, copy=False)


# ---- random bits ----------------------------------------------------------------------------------

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_ROUNDS = 10
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def _words(x: Array) -> tuple[Array, Array]:
    bits = np.asarray(x).astype(np.int64, copy=False).view(np.uint64)
    return (bits & _LOW).astype(np.uint32), (bits >> _HALF).astype(np.uint32)


def philox(seed: Array, offset: Array, index: Array) -> Array:
    """Philox4x32-10 (Salmon et al., SC 2011): words 0 and 1 (low, high) as uint64.

    Key (seed low, seed high); counter (index low, index high, offset low, offset high).
    """
    c0, c1 = _words(index)
    c2, c3 = _words(offset)
    k0, k1 = _words(seed)
    for _ in range(_ROUNDS):
        a = c0.astype(np.uint64) * _MULTIPLIERS[0]
        b = c2.astype(np.uint64) * _MULTIPLIERS[1]
        c0 = (b >> _HALF).astype(np.uint32) ^ c1 ^ k0
        c1 = (b & _LOW).astype(np.uint32)
        c2 = (a >> _HALF).astype(np.uint32) ^ c3 ^ k1
        c3 = (a & _LOW).astype(np.uint32)
        k0 = np.add(k0, _WEYL[0])
        k1 = np.add(k1, _WEYL[1])
    return np.asarray(c0.astype(np.uint64) | (c1.astype(np.uint64) << _HALF))
