"""Functions that printed Triton kernels call, as source: each kernel's module carries those that it needs.

They give the rules of `ops.instructions` exactly where Triton's own functions differ: division is rounded to nearest,
NaN wins in ``maximum``, integers wrap and divide toward minus infinity, conversions saturate as on the CPU.

    >>> prelude_source({"tp_relu"}).splitlines()[-1]
    '    return tl.where(x < 0, 0, x)'
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

SOURCE: Final = """
@triton.jit
def tp_div(a, b):
    if a.dtype == tl.float32:
        return tl.div_rn(a, b)
    else:
        return a / b


@triton.jit
def tp_sqrt(x):
    if x.dtype == tl.float32:
        return tl.sqrt_rn(x)
    else:
        return libdevice.sqrt(x)


@triton.jit
def tp_reciprocal(x):
    return tp_div(tl.full([], 1.0, x.dtype), x)


@triton.jit
def tp_rsqrt(x):
    return tp_reciprocal(tp_sqrt(x))


@triton.jit
def tp_sigmoid(x):
    return tp_reciprocal(1.0 + libdevice.exp(-x))


@triton.jit
def tp_maximum(a, b):
    return tl.where((a >= b) | (a != a), a, b)


@triton.jit
def tp_minimum(a, b):
    return tl.where((a <= b) | (a != a), a, b)


@triton.jit
def tp_fmax(a, b):
    return tl.where((a >= b) | (b != b), a, b)


@triton.jit
def tp_fmin(a, b):
    return tl.where((a <= b) | (b != b), a, b)


@triton.jit
def tp_relu(x):
    return tl.where(x < 0, 0, x)


@triton.jit
def tp_sign(x):
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@triton.jit
def tp_frexp_mantissa(x):
    if x.dtype == tl.float64:
        small = tl.abs(x) < 2.2250738585072014e-308
        bits = tl.where(small, x * 4503599627370496.0, x).to(tl.int64, bitcast=True)
        part = ((bits & -9218868437227405313) | 4602678819172646912).to(tl.float64, bitcast=True)
    else:
        small = tl.abs(x) < 1.1754943508222875e-38
        bits = tl.where(small, x * 8388608.0, x).to(tl.int32, bitcast=True)
        part = ((bits & -2139095041) | 1056964608).to(tl.float32, bitcast=True)
    return tl.where((x != 0) & (tl.abs(x) < float("inf")), part, x)


@triton.jit
def tp_frexp_exponent(x):
    if x.dtype == tl.float64:
        small = tl.abs(x) < 2.2250738585072014e-308
        bits = tl.where(small, x * 4503599627370496.0, x).to(tl.int64, bitcast=True)
        part = ((bits >> 52) & 2047).to(tl.float64) - tl.where(small, 1074.0, 1022.0)
    else:
        small = tl.abs(x) < 1.1754943508222875e-38
        bits = tl.where(small, x * 8388608.0, x).to(tl.int32, bitcast=True)
        part = ((bits >> 23) & 255).to(tl.float32) - tl.where(small, 149.0, 126.0)
    return tl.where((x != 0) & (tl.abs(x) < float("inf")), part.to(x.dtype), 0.0)


@triton.jit
def tp_signbit(x):
    if x.dtype == tl.float64:
        return x.to(tl.int64, bitcast=True) < 0
    else:
        return x.to(tl.int32, bitcast=True) < 0


@triton.jit
def tp_fmod(a, b):
    if a.dtype.is_floating():
        return libdevice.fmod(a, b)
    elif a.dtype.is_int_signed():
        trivial = (b == 0) | (b == -1)
        return tl.where(trivial, 0, a % tl.where(trivial, 1, b))
    else:
        return tl.where(b == 0, 0, a % tl.where(b == 0, 1, b))


@triton.jit
def tp_remainder(a, b):
    part = tp_fmod(a, b)
    return tl.where((part != 0) & ((b < 0) != (part < 0)), part + b, part)


@triton.jit
def tp_floordiv(a, b):
    if a.dtype.is_floating():
        part = libdevice.fmod(a, b)
        quotient = tp_div(a - part, b)
        quotient = tl.where((part != 0) & ((b < 0) != (part < 0)), quotient - 1.0, quotient)
        floor = libdevice.floor(quotient)
        floor = tl.where(quotient - floor > 0.5, floor + 1.0, floor)
        whole = tp_div(a, b)
        floor = tl.where(quotient == 0.0, libdevice.copysign(tl.zeros_like(floor), whole), floor)
        return tl.where(b == 0.0, whole, floor)
    elif a.dtype.is_int_signed():
        zero = b == 0
        minus = b == -1
        safe = tl.where(zero | minus, 1, b)
        quotient = a // safe
        part = a - quotient * safe
        quotient = tl.where((part != 0) & ((part < 0) != (safe < 0)), quotient - 1, quotient)
        return tl.where(zero, 0, tl.where(minus, 0 - a, quotient))
    else:
        return tl.where(b == 0, 0, a // tl.where(b == 0, 1, b))


@triton.jit
def tp_pow(a, b):
    if a.dtype.is_floating():
        return libdevice.pow(a, b)
    else:
        width: tl.constexpr = a.dtype.primitive_bitwidth
        result = tl.zeros_like(a) + 1
        power = a
        left = b
        for _ in tl.static_range(width):
            result = tl.where((left & 1) != 0, result * power, result)
            power = power * power
            left = left >> 1
        if a.dtype.is_int_signed():
            unit = tl.where((b & 1) != 0, a, 1)
            one = (a == 1) | (a == -1)
            return tl.where(b < 0, tl.where(one, unit, 0), result)
        else:
            return result


@triton.jit
def tp_lshift(a, b):
    width: tl.constexpr = a.dtype.primitive_bitwidth
    inside = (b >= 0) & (b < width)
    return tl.where(inside, a << tl.where(inside, b, 0), 0)


@triton.jit
def tp_rshift(a, b):
    width: tl.constexpr = a.dtype.primitive_bitwidth
    inside = (b >= 0) & (b < width)
    shifted = a >> tl.where(inside, b, width - 1)
    if a.dtype.is_int_signed():
        return shifted
    else:
        return tl.where(inside, shifted, 0)


@triton.jit
def tp_truncate(x, dtype: tl.constexpr):
    least: tl.constexpr = -2147483648.0 if dtype == tl.int32 else -9223372036854775808.0
    whole = libdevice.trunc(x)
    return tl.where((whole >= least) & (whole < -least), whole, least).to(dtype)


@triton.jit
def tp_convert_wide(x, dtype: tl.constexpr):
    if dtype == tl.int1:
        return x != 0
    elif dtype == tl.bfloat16:
        return x.to(tl.float32).to(tl.bfloat16)
    elif x.dtype.is_floating() and dtype.is_int():
        if dtype == tl.uint64:
            high = (x >= 9223372036854775808.0) & (x < 18446744073709551616.0)
            low = tp_truncate(tl.where(high, x - 9223372036854775808.0, x), tl.int64).to(tl.uint64)
            return tl.where(high, low ^ (tl.full([], 1, tl.uint64) << 63), low)
        elif dtype == tl.int64 or dtype == tl.uint32:
            return tp_truncate(x, tl.int64).to(dtype)
        else:
            return tp_truncate(x, tl.int32).to(dtype)
    else:
        return x.to(dtype)


@triton.jit
def tp_convert(x, dtype: tl.constexpr):
    if x.dtype == tl.float16 or x.dtype == tl.bfloat16:
        return tp_convert_wide(x.to(tl.float32), dtype)
    else:
        return tp_convert_wide(x, dtype)


@triton.jit
def tp_philox(seed, offset, index):
    c0 = index.to(tl.uint32)
    c1 = (index >> 32).to(tl.uint32)
    c2 = offset.to(tl.uint32)
    c3 = (offset >> 32).to(tl.uint32)
    k0 = seed.to(tl.uint32)
    k1 = (seed >> 32).to(tl.uint32)
    for _ in tl.static_range(10):
        a = c0.to(tl.uint64) * 0xD2511F53
        b = c2.to(tl.uint64) * 0xCD9E8D57
        c0 = (b >> 32).to(tl.uint32) ^ c1 ^ k0
        c1 = b.to(tl.uint32)
        c2 = (a >> 32).to(tl.uint32) ^ c3 ^ k1
        c3 = a.to(tl.uint32)
        k0 = (k0.to(tl.uint64) + 0x9E3779B9).to(tl.uint32)
        k1 = (k1.to(tl.uint64) + 0xBB67AE85).to(tl.uint32)
    return c0.to(tl.uint64) | (c1.to(tl.uint64) << 32)


@triton.jit
def tp_add(a, b):
    return a + b


@triton.jit
def tp_mul(a, b):
    return a * b


@triton.jit
def tp_or(a, b):
    return a | b


@triton.jit
def tp_and(a, b):
    return a & b


@triton.jit
def tp_xor(a, b):
    return a ^ b


@triton.jit
def tp_argmax(value, index, other, other_index):
    nan = value != value
    other_nan = other != other
    equal = (value == other) | (nan & other_nan)
    first = ((value > other) | (nan & ~other_nan)) | (equal & (index < other_index))
    first = first & ~(other_nan & ~nan)
    return tl.where(first, value, other), tl.where(first, index, other_index)


@triton.jit
def tp_argmin(value, index, other, other_index):
    nan = value != value
    other_nan = other != other
    equal = (value == other) | (nan & other_nan)
    first = ((value < other) | (nan & ~other_nan)) | (equal & (index < other_index))
    first = first & ~(other_nan & ~nan)
    return tl.where(first, value, other), tl.where(first, index, other_index)


@triton.jit
def tp_welford(mean, m2, count, other, other_m2, other_count):
    total = count + other_count
    share = tl.where(total == 0, 0.0, tp_div(other_count, tl.where(total == 0, 1.0, total)))
    delta = other - mean
    return mean + delta * share, m2 + other_m2 + delta * delta * count * share, total
"""

FUNCTIONS: Final = {
    match[1]: match[0].strip()
    for match in re.finditer(r"@triton\.jit\ndef (tp_\w+)\(.*?(?=\n\n\n@|\Z)", SOURCE, re.DOTALL)
}


def prelude_source(names: Iterable[str]) -> str:
    """Return the functions of these names and those that they call, callees first."""
    wanted = set(names)
    pending = list(wanted)
    while pending:
        for called in called_functions(FUNCTIONS[pending.pop()]):
            if called not in wanted:
                wanted.add(called)
                pending.append(called)
    return "\n\n\n".join(text for name, text in FUNCTIONS.items() if name in wanted)


def called_functions(text: str) -> set[str]:
    """Return the functions of the prelude that a text names."""
    return set(re.findall(r"\btp_\w+", text)) & FUNCTIONS.keys()
