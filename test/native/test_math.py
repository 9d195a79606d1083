"""Elementary functions against exact values: errors in units of the last place, and special values.

The reference is NumPy in extended precision (64 bits of mantissa on x86), mpmath where NumPy has no such function. That
vectors, scalars and every instruction set give these same bits is tested with the instructions (test/stax/codegen).
"""

import mpmath
import numpy as np
import pytest

from tensorplay import _C

WIDE = np.longdouble
pytestmark = pytest.mark.skipif(
    np.finfo(WIDE).nmant < 60, reason="no extended precision to compare with"
)
mpmath.mp.prec = 100


def exactly(function):
    """Lift a function of mpmath to arrays in extended precision."""

    def on_array(x):
        out = np.empty(x.shape, WIDE)
        for i, value in enumerate(x):
            y = function(mpmath.mpf(float(value)))
            high = float(y)
            out[i] = (
                WIDE(high) + WIDE(float(y - mpmath.mpf(high))) if np.isfinite(high) else WIDE(high)
            )
        return out

    return on_array


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


# name: (reference, sample range, bound for float32, bound for float64), in units of the last place
UNARY = {
    "exp": (np.exp, (-110, 90), 1, 1),
    "exp2": (np.exp2, (-152, 128), 1, 1),
    "expm1": (np.expm1, (-20, 89), 1.6, 2),
    "log": (np.log, (0, 1e6), 1, 1),
    "log2": (np.log2, (0, 1e6), 1.2, 1),
    "log10": (np.log10, (0, 1e6), 1.2, 1),
    "log1p": (np.log1p, (-1, 1e6), 1.6, 1.5),
    "sin": (np.sin, (-1e6, 1e6), 1.7, 1),
    "cos": (np.cos, (-1e6, 1e6), 1.7, 1),
    "tan": (np.tan, (-1e6, 1e6), 0.6, 2),
    "asin": (np.arcsin, (-1, 1), 1.3, 1.2),
    "acos": (np.arccos, (-1, 1), 1.2, 1.2),
    "atan": (np.arctan, (-1e3, 1e3), 1.5, 1.8),
    "sinh": (np.sinh, (-89, 89), 1.7, 1.7),
    "cosh": (np.cosh, (-89, 89), 1.6, 1.6),
    "tanh": (np.tanh, (-20, 20), 1.7, 1.7),
    "asinh": (np.arcsinh, (-1e6, 1e6), 0.6, 2),
    "acosh": (np.arccosh, (1, 1e6), 0.6, 2),
    "atanh": (np.arctanh, (-1, 1), 0.6, 2),
    "sigmoid": (sigmoid, (-100, 100), 2, 2),
    "erf": (exactly(mpmath.erf), (-6, 6), 1.2, 1.2),
    "erfc": (exactly(mpmath.erfc), (-6, 10), 0.6, 2),
    "erfinv": (exactly(mpmath.erfinv), (-1, 1), 0.6, 2),
}
SLOW = {"erf", "erfc", "erfinv"}


def sample(rng, low, high, dtype, count):
    """Numbers of all magnitudes inside an interval, most of them near zero and near one."""
    span = max(abs(low), abs(high))
    near = rng.uniform(max(low, -2), min(high, 2), count)
    spread = np.exp2(rng.uniform(-12, np.log2(span), count)) * rng.choice([-1, 1], count)
    uniform = rng.uniform(low, high, count)
    x = np.concatenate([near, spread, uniform]).astype(dtype)
    return x[(x >= low) & (x <= high)]


def errors(found, exact):
    """Distances from the exact values in units of the last place of those."""
    info = np.finfo(found.dtype)
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        size = np.maximum(np.abs(exact), WIDE(info.tiny))
        unit = np.exp2(np.floor(np.log2(size)) - info.nmant)
        distance = np.abs(found.astype(WIDE) - exact) / unit
    same = (found == rounded) | (np.isnan(found) & np.isnan(exact))
    return np.where(
        same, np.minimum(np.nan_to_num(distance), 0.5), np.nan_to_num(distance, nan=np.inf)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UNARY)
def test_error(name, dtype):
    reference, (low, high), single, double = UNARY[name]
    rng = np.random.default_rng(0)
    x = sample(rng, low, high, dtype, 1500 if name in SLOW else 30_000)
    with np.errstate(all="ignore"):
        exact = reference(x.astype(WIDE))
    worst = errors(_C.unary(name, x), exact)
    at = int(np.argmax(worst))
    assert worst[at] <= (single if dtype is np.float32 else double), (name, x[at], worst[at])


def float64_of(values):
    return np.array(values, np.float64)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sigmoid", "log1p", "expm1", "sin"])
def test_every_float_of_some_binades(name):
    """All floats with exponents 2^-3 to 2^1, a million at a time."""
    reference = UNARY[name][0]
    wide = {"erf": np.vectorize(__import__("math").erf)}.get(name, reference)
    for exponent in (-3, -1, 0, 1):
        step = 97 if name == "erf" else 7
        bits = np.arange(0, 1 << 23, step, dtype=np.uint32) + np.uint32((exponent + 127) << 23)
        x = bits.view(np.float32)
        exact = wide(x.astype(np.float64)).astype(WIDE)
        assert errors(_C.unary(name, x), exact).max() <= UNARY[name][2]


SPECIAL = float64_of(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 2.0, -2.0, 0.5, 1e300]
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(set(UNARY) - SLOW))
def test_special_values(name, dtype):
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
        found = _C.unary(name, x)
        exact = UNARY[name][0](x.astype(WIDE)).astype(dtype)
    clear = np.isnan(exact) | np.isinf(exact) | (exact == 0)
    assert np.array_equal(np.isnan(found), np.isnan(exact)), (
        name,
        x[np.isnan(found) != np.isnan(exact)],
    )
    ordinary = clear & ~np.isnan(exact)
    assert np.array_equal(found[ordinary], exact[ordinary]), name
    assert np.array_equal(np.signbit(found[ordinary]), np.signbit(exact[ordinary])), name


def test_special_values_of_the_error_functions():
    x = float64_of([0.0, -0.0, np.inf, -np.inf, np.nan])
    for dtype in (np.float32, np.float64):
        erf = _C.unary("erf", x.astype(dtype))
        assert erf[0] == 0 == erf[1]
        assert not np.signbit(erf[0])
        assert np.signbit(erf[1])
        assert list(erf[2:4]) == [1, -1]
        assert np.isnan(erf[4])
        assert list(_C.unary("erfc", x.astype(dtype))[:4]) == [1, 1, 0, 2]
        inverse = _C.unary("erfinv", float64_of([0, 1, -1, 1.5, np.nan]).astype(dtype))
        assert list(inverse[:3]) == [0, np.inf, -np.inf]
        assert np.isnan(inverse[3:]).all()


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_angles(name, dtype):
    """Arguments up to the largest number are reduced with as many digits of pi as they need."""
    rng = np.random.default_rng(1)
    top = 127 if dtype is np.float32 else 1023
    x = np.exp2(rng.uniform(20, top, 3000)).astype(dtype)
    x = np.concatenate([x, [np.finfo(dtype).max, 2.0**27, 2.0**28, 2.0**100]]).astype(dtype)
    mpmath.mp.prec = 1400
    try:
        exact = exactly(getattr(mpmath, name))(x[::10])
    finally:
        mpmath.mp.prec = 100
    assert (
        errors(_C.unary(name, x)[::10], exact).max() <= UNARY[name][2 if dtype is np.float32 else 3]
    )


# ---- two operands --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pow(dtype):
    rng = np.random.default_rng(0)
    x = np.exp2(rng.uniform(-30, 30, 30_000)).astype(dtype)
    y = rng.uniform(-4, 4, x.size).astype(dtype)
    x[::7] = rng.uniform(0.9, 1.1, x[::7].size)
    y[::7] *= 100
    exact = np.power(x.astype(WIDE), y.astype(WIDE))
    assert errors(_C.binary("pow", x, y), exact).max() <= 1.5
    whole = rng.integers(-5, 6, x.size).astype(dtype)
    exact = np.power(-x.astype(WIDE), whole.astype(WIDE))
    assert errors(_C.binary("pow", -x, whole), exact).max() <= 1.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_special_pairs(name, dtype):
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e30]
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(values, values))
    reference = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}[name]
    with np.errstate(all="ignore"):
        exact = reference(x.astype(WIDE), y.astype(WIDE))
        found, rounded = _C.binary(name, x, y), exact.astype(dtype)
    wrong = errors(found, exact) > 2
    wrong &= ~(np.isinf(found) & np.isinf(rounded) & (found == rounded))
    wrong |= np.isnan(found) != np.isnan(rounded)
    wrong |= (
        ((found == 0) | np.isinf(found))
        & (np.signbit(found) != np.signbit(rounded))
        & ~np.isnan(rounded)
    )
    assert not wrong.any(), list(
        zip(x[wrong], y[wrong], found[wrong], rounded[wrong], strict=True)
    )[:5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_atan2_and_hypot(dtype):
    rng = np.random.default_rng(0)
    x, y = (np.exp2(rng.uniform(-60, 60, 20_000)) * rng.choice([-1, 1], 20_000) for _ in range(2))
    x, y = (
        x.astype(dtype),
        (np.where(rng.random(x.size) < 0.5, y, x * rng.uniform(-2, 2, x.size))).astype(dtype),
    )
    assert errors(_C.binary("atan2", x, y), np.arctan2(x.astype(WIDE), y.astype(WIDE))).max() <= 2
    assert errors(_C.binary("hypot", x, y), np.hypot(x.astype(WIDE), y.astype(WIDE))).max() <= 0.51
