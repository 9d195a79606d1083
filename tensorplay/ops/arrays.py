"""NumPy functions behind the scalar instructions, where NumPy alone has none with our rule.

Elementary functions call `tensorplay._C`, which computes them with the header that generated
kernels include, so that eager and compiled results have the same bits. Arrays here have compute
dtypes (float32, float64, integers, bool, complex).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from tensorplay import _C
from tensorplay.core.dtypes import DType

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_NUMPY_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh",
}  # fmt: skip


_NATIVE: Final[dict[str, Callable[..., Array]]] = {}


def native(name: str) -> Callable[..., Array]:
    """What the native module computes under a name, on float32 and float64 arrays; it takes `out`."""
    loop = _C.unary if _C.ELEMENT_FUNCTIONS[name] == 1 else _C.binary
    return _NATIVE.setdefault(name, partial(loop, name))


def is_native(name: str, dtype: DType) -> bool:
    """Whether an instruction is `native(name)` itself on operands of a dtype: where the functions below ask for it."""
    return name in _NATIVE and dtype.kind == "f"


def unary(name: str) -> Callable[[Array], Array]:
    """The elementary function `name`: from `_C` for real operands, from NumPy for complex ones."""
    complex_function = getattr(np, _NUMPY_NAMES.get(name, name), None)
    loop = native(name)

    def function(x: Array) -> Array:
        if x.dtype.kind == "c":
            return _complex_unary(name, complex_function, x)
        return loop(np.asarray(x))

    function.__name__ = name
    return function


def _complex_unary(name: str, function: Callable[[Array], Array] | None, x: Array) -> Array:
    if name == "sigmoid":
        return np.asarray(1 / (1 + np.exp(-x)), x.dtype)
    if name == "rsqrt":
        return np.asarray(1 / np.sqrt(x), x.dtype)
    if name == "exp2":
        return np.asarray(np.exp(x * x.real.dtype.type(np.log(2))), x.dtype)
    if function is None:
        msg = f"{name} is not defined for complex numbers"
        raise TypeError(msg)
    return np.asarray(function(x), x.dtype)


def binary(name: str) -> Callable[[Array, Array], Array]:
    """The elementary function `name` of two real operands, from `_C`."""
    loop = native(name)

    def function(a: Array, b: Array) -> Array:
        return loop(np.asarray(a), np.asarray(b))

    function.__name__ = name
    return function


def _of_floats(
    name: str, other: Callable[[Array, Array], Array]
) -> Callable[[Array, Array], Array]:
    """`_C`'s function for floats, another for integers and bools."""
    loop = native(name)

    def function(a: Array, b: Array) -> Array:
        return (
            loop(np.asarray(a), np.asarray(b)) if a.dtype.kind == "f" else np.asarray(other(a, b))
        )

    function.__name__ = name
    return function


floordiv = _of_floats("floordiv", np.floor_divide)
"""Quotient rounded toward minus infinity; of floats, the exact one rounded, as Python's `//`."""
remainder = _of_floats("remainder", np.remainder)
"""Remainder with the divisor's sign; a zero remainder of floats keeps the dividend's sign."""
fmod = _of_floats("fmod", np.fmod)
"""Remainder with the dividend's sign."""
maximum = _of_floats("maximum", np.maximum)
"""The larger, the first when equal; NaN wins."""
minimum = _of_floats("minimum", np.minimum)
"""The smaller, the first when equal; NaN wins."""


rsqrt = unary("rsqrt")


_power_of_floats = native("pow")


def power(a: Array, b: Array) -> Array:
    """`a ** b`: floats from `_C`, integers wrap and have 0 for negative exponents of other bases than 1 and -1."""
    if a.dtype.kind == "f":
        return _power_of_floats(np.asarray(a), np.asarray(b))
    if a.dtype.kind == "c":
        return np.asarray(np.power(a, b))
    if b.dtype.kind == "u":
        return np.asarray(np.power(a, b))
    positive = np.power(a, np.maximum(b, b.dtype.type(0)))
    odd = np.where(b & b.dtype.type(1), a, b.dtype.type(1))
    unit = np.where((a == 1) | (a == -1), odd, b.dtype.type(0))
    return np.asarray(np.where(b < 0, unit, positive), a.dtype)


def fmax(a: Array, b: Array) -> Array:
    """The larger, `a` when equal; NaN loses."""
    return np.asarray(np.where((a >= b) | (b != b), a, b))  # noqa: PLR0124  # NaN differs from itself


def fmin(a: Array, b: Array) -> Array:
    """The smaller, `a` when equal; NaN loses."""
    return np.asarray(np.where((a <= b) | (b != b), a, b))  # noqa: PLR0124  # NaN differs from itself


def relu(x: Array) -> Array:
    """0 where `x < 0`, else `x`: NaN and -0 stay."""
    return maximum(x, np.zeros((), x.dtype))


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


def complex_of(a: Array, b: Array) -> Array:
    """`a + ib`, part by part: infinities and NaN stay in theirs."""
    found = np.empty(np.broadcast_shapes(a.shape, b.shape), np.result_type(a.dtype, np.complex64))
    found.real, found.imag = a, b
    return found


def sgn(x: Array) -> Array:
    """`x / |x|` of complex numbers, 0 at 0."""
    size = np.abs(x)
    return np.asarray(np.where(size == 0, x.dtype.type(0), x / size))


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


def philox(seed: Array, offset: Array, index: Array) -> Array:
    """Philox4x32-10 (Salmon et al., SC 2011): words 0 and 1 (low, high) as uint64.

    Key (seed low, seed high); counter (index low, index high, offset low, offset high).
    """
    if np.size(seed) == np.size(offset) == 1:
        return _C.philox(seed, offset, np.asarray(index))
    return _philox_of_states(*np.broadcast_arrays(seed, offset, index))


def _philox_of_states(seeds: Array, offsets: Array, index: Array) -> Array:
    """The bits of several states (one a sample of a batch), each for a run of elements."""
    seed, offset, places = seeds.reshape(-1), offsets.reshape(-1), index.reshape(-1)
    found = np.empty(places.shape, np.uint64)
    changes = np.flatnonzero((seed[1:] != seed[:-1]) | (offset[1:] != offset[:-1])) + 1
    starts = [0, *changes.tolist()] if places.size else []
    for start, stop in zip(starts, [*starts[1:], places.size], strict=False):
        run = slice(start, stop)
        found[run] = _C.philox(seed[start : start + 1], offset[start : start + 1], places[run])
    return found.reshape(index.shape)
