"""Special values of element-wise functions: the tables of the standard, eager and compiled.

Real functions are compared with NumPy over all pairs of special values, and with the standard's own words where
NumPy departs from them (`//`, `%`). Complex ones are compared with Python's `cmath`, which is Annex G of C99, as the
standard is. Where the standard leaves a sign open, only the magnitude counts.
"""

import cmath
import itertools
import math

import numpy as np
import pytest
from complex_special_cases import CASES, is_met

import tensorplay as tp
from tensorplay import array_api as xp

inf, nan = math.inf, math.nan
VALUES = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, -2.0, 2.5, 3.0, -3.0, 100.0, -100.0, 1e-30, -1e-30, 1e30,
          -1e30, inf, -inf, nan]  # fmt: skip
UNARY = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "log2",
    "log10",
    "negative",
    "positive",
    "reciprocal",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "square",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
BINARY = [
    "add",
    "atan2",
    "copysign",
    "divide",
    "equal",
    "greater",
    "greater_equal",
    "hypot",
    "less",
    "less_equal",
    "logaddexp",
    "multiply",
    "nextafter",
    "not_equal",
    "pow",
    "remainder",
    "subtract",
]


def same(found, expected, rtol):
    """Equal with signs of zeros, both NaN, or close."""
    if found.dtype.kind == "c":
        return same(found.real, expected.real, rtol) & same(found.imag, expected.imag, rtol)
    with np.errstate(all="ignore"):
        signs = np.signbit(found) == np.signbit(expected) if found.dtype.kind == "f" else True
        equal = (found == expected) & signs
        if found.dtype.kind == "f":
            equal |= np.isnan(found) & np.isnan(expected)
            equal |= (expected != 0) & (np.abs(found - expected) <= rtol * np.abs(expected))
    return equal


def check(name, found, expected, *arguments):
    rtol = 4e-6 if found.dtype.itemsize <= 4 or found.dtype == np.complex64 else 1e-13
    wrong = np.flatnonzero(~same(found, expected, rtol))
    lines = [
        f"{name}{tuple(a[i] for a in arguments)}: {found[i]}, not {expected[i]}" for i in wrong
    ]
    assert not lines, "\n".join(lines[:10])


@pytest.fixture(params=["eager", "compiled"])
def called(request):
    """How to call the functions of the namespace: all of a group in one compiled function."""

    def call(names, *arguments):
        def run(*tensors):
            return [getattr(xp, name)(*tensors) for name in names]

        is_real = all(each.dtype.kind == "f" for each in arguments)
        run = run if request.param == "eager" else tp.compile(run, strict_native=is_real)
        return [each.numpy() for each in run(*map(xp.asarray, arguments))]

    return call


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_one_real_number(called, dtype):
    x = np.array(VALUES, dtype)
    with np.errstate(all="ignore"):
        for name, found in zip(UNARY, called(UNARY, x), strict=True):
            check(name, found, np.asarray(getattr(np, name)(x)), x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_two_real_numbers(called, dtype):
    x1, x2 = np.array(list(itertools.product(VALUES, VALUES)), dtype).T.copy()
    with np.errstate(all="ignore"):
        for name, found in zip(BINARY, called(BINARY, x1, x2), strict=True):
            check(name, found, getattr(np, name)(x1, x2), x1, x2)


def quotient_rounded_down(a, b):
    """The standard's table for `floor_divide`."""
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)) or (a == 0 and b == 0):
        return nan
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isinf(a) or b == 0:
        return sign * inf
    if math.isinf(b):
        return math.copysign(0, sign)
    return math.floor(a / b) or math.copysign(0, sign)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floor_divide(called, dtype):
    pairs = [
        (a, b)
        for a, b in itertools.product(VALUES, VALUES)
        if abs(a) in {0, inf} or abs(b) in {0, inf} or a != a
    ]
    x1, x2 = np.array(pairs, dtype).T.copy()
    (found,) = called(["floor_divide"], x1, x2)
    check(
        "floor_divide",
        found,
        np.array([quotient_rounded_down(a, b) for a, b in pairs], dtype),
        x1,
        x2,
    )
    operator = xp.asarray(x1) // xp.asarray(x2)
    check("//", operator.numpy(), found, x1, x2)


@pytest.mark.parametrize(("a", "b", "expected"), [
    (-0.0, 2.0, 0.0), (0.0, -2.0, -0.0), (-4.0, 2.0, 0.0), (4.0, -2.0, -0.0), (1.0, inf, 1.0), (1.0, -inf, -inf),
    (-1.0, inf, inf), (-1.0, -inf, -1.0), (inf, 1.0, nan), (1.0, 0.0, nan), (nan, 1.0, nan),
])  # fmt: skip
def test_remainder(a, b, expected):
    x1, x2 = xp.asarray([a]), xp.asarray([b])
    changed = xp.asarray(x1, copy=True)
    changed %= x2
    for found in (xp.remainder(x1, x2), x1 % x2, a % x2, x1 % b, changed):
        check("%", found.numpy(), np.array([expected], np.float32), [a])


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("correction", [3, 4, 7.5])
def test_more_corrected_than_there_are_is_nan(name, correction):
    x = xp.asarray([[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]])
    found = getattr(xp, name)(x, axis=1, correction=correction)
    assert xp.isnan(found).tolist() == [True, True]
    assert not xp.any(xp.isnan(getattr(xp, name)(x, axis=1, correction=2)))


def test_extremes_prefer_nan():
    x = xp.asarray([nan, 1.0, nan])
    assert xp.isnan(xp.maximum(x, xp.asarray(1.0))).tolist() == [True, False, True]
    assert xp.isnan(xp.minimum(xp.asarray(1.0), x)).tolist() == [True, False, True]
    assert xp.isnan(xp.max(x))
    assert xp.isnan(xp.min(x))
    assert xp.isnan(xp.clip(x, 0.0, 2.0)).tolist() == [True, False, True]


# ---- complex --------------------------------------------------------------------------------------------------

PARTS = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.0, inf, -inf, nan]
COMPLEX_UNARY = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "log",
    "log10",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
OPEN = {  # where the standard, as C99, leaves a sign open, or a value that C11 has mended
    "acos": lambda z: math.isinf(z.real) and math.isnan(z.imag),
    "acosh": lambda z: z.real == 0 and math.isnan(z.imag),
    "asin": lambda z: math.isinf(z.real) and math.isnan(z.imag),
    "atan": lambda z: math.isinf(z.real) and math.isnan(z.imag),
    "cos": lambda z: z.real == 0 and math.isnan(z.imag),
    "cosh": lambda z: math.isnan(z.real) and z.imag == 0,
    "exp": lambda z: z.real == -inf and not math.isfinite(z.imag),
    "sin": lambda z: math.isnan(z.real),
    "sinh": lambda z: z.real == 0 and not math.isfinite(z.imag),
    "tan": lambda z: (
        (not math.isfinite(z.imag) and not math.isfinite(z.real)) or math.isnan(z.real)
    ),
    "tanh": lambda z: z.real == 0 or (math.isinf(z.real) and not math.isfinite(z.imag)),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX_UNARY)
def test_functions_of_one_complex_number(name, dtype):
    numbers, expected = [], []
    for z in (complex(a, b) for a, b in itertools.product(PARTS, PARTS)):
        if name in OPEN and OPEN[name](z):
            continue
        try:
            expected.append(getattr(cmath, name)(z))
        except (ValueError, OverflowError):  # C raises a flag and returns; cmath raises
            continue
        numbers.append(z)
    x = np.array(numbers, dtype)
    assert len(x) > 60
    check(name, getattr(xp, name)(xp.asarray(x)).numpy(), np.array(expected, dtype), x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_special_cases_of_complex_functions(called, dtype):
    numbers = list({repr(case.z): case.z for cases in CASES.values() for case in cases}.items())
    place = {key: k for k, (key, _) in enumerate(numbers)}
    x = np.array([complex(*z) for _, z in numbers], dtype)
    wrong = []
    for name, found in zip(CASES, called(list(CASES), x), strict=True):
        for case in CASES[name]:
            result = found[place[repr(case.z)]]
            if not (is_met(result.real, case.real) and is_met(result.imag, case.imag)):
                wrong.append(f"{name}{case.z}: {result}, not {case[1:]}")
    assert sum(map(len, CASES.values())) > 2000
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize(("name", "z", "expected"), [
    ("sign", 0j, 0j), ("sign", complex(-0.0, -0.0), 0j), ("sign", 3 + 4j, 0.6 + 0.8j), ("sign", complex(nan, 0), complex(nan, nan)),
    ("round", 0.5 + 1.5j, 0 + 2j), ("round", complex(2.5, inf), complex(2, inf)), ("conj", complex(1, 0.0), complex(1, -0.0)),
    ("abs", complex(nan, inf), inf), ("abs", complex(-inf, nan), inf), ("abs", 3 + 4j, 5.0), ("abs", complex(nan, 0), nan),
    ("isfinite", complex(1, nan), False), ("isinf", complex(nan, inf), True), ("isnan", complex(inf, nan), True),
    ("real", complex(-0.0, 1), -0.0), ("imag", complex(1, -0.0), -0.0), ("expm1", complex(-inf, 0.0), -1 + 0j),
    ("expm1", complex(-inf, 1.0), None), ("expm1", complex(-inf, nan), None), ("expm1", complex(-inf, inf), None),
    ("expm1", complex(inf, 0.0), complex(inf, 0)), ("expm1", complex(inf, inf), complex(inf, nan)), ("expm1", complex(nan, -0.0), complex(nan, -0.0)), ("log1p", complex(-1, 0.0), complex(-inf, 0)), ("log1p", complex(-inf, inf), complex(inf, 3 * math.pi / 4)),
    ("expm1", complex(-0.0, 0.0), complex(-0.0, 0.0)),
    ("sqrt", complex(-4, -0.0), complex(0, -2)), ("square", 1 + 2j, -3 + 4j), ("negative", complex(0.0, 1), complex(-0.0, -1)),
])  # fmt: skip
def test_complex_values(name, z, expected):
    found = getattr(xp, name)(xp.asarray([z], dtype=xp.complex128)).numpy()
    if expected is None:  # -1 with an imaginary zero of either sign
        assert found[0].real == -1
        assert found[0].imag == 0
        return
    check(name, found, np.array([expected], found.dtype), [z])
