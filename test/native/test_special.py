"""Special functions against exact values: errors in units of the last place, special values, floats rounded from doubles.

The reference is mpmath. Functions with infinitely many zeros are measured against their size around a zero.
"""

import mpmath as mp
import numpy as np
import pytest
import scipy.special

from tensorplay import _C

INF, NAN = np.inf, np.nan
COUNT = 60


@pytest.fixture(autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield


def unit(exact):
    return mp.mpf(2) ** (mp.floor(mp.log(abs(exact), 2)) - 52)


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_ndtr(x):
    return mp.log1p(-ndtr(-x)) if x > 0 else mp.log(ndtr(x))


def lgamma(x):
    return mp.log(abs(mp.gamma(x))) if x < 1000 else mp.loggamma(x).real


# name: reference, and for each interval the bound in units of the last place
UNARY = {
    "lgamma": (lgamma, {(1e-3, 3): 3, (3, 12): 3, (12, 1e5): 3}),
    "digamma": (mp.digamma, {(1e-3, 2): 3, (2, 10): 3, (10, 1e6): 2}),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), {(-5, 0.5): 3, (0.5, 28): 2, (28, 1e6): 2}),
    "ndtr": (ndtr, {(-37, -1): 3, (-1, 8): 2.5}),
    "log_ndtr": (log_ndtr, {(-1e3, -1): 2, (-1, 20): 4}),
    "i0": (lambda x: mp.besseli(0, x), {(-8, 8): 4, (8, 700): 4}),
    "i1": (lambda x: mp.besseli(1, x), {(-8, 8): 4, (8, 700): 4}),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), {(-8, 8): 4, (8, 1e4): 3}),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), {(-8, 8): 4, (8, 1e4): 3}),
    "k0": (lambda x: mp.besselk(0, x), {(1e-5, 1): 5, (1, 2): 4, (2, 600): 4}),
    "k1": (lambda x: mp.besselk(1, x), {(1e-5, 1): 5, (1, 2): 4, (2, 600): 4}),
    "k0e": (lambda x: mp.besselk(0, x) * mp.exp(x), {(1e-5, 1): 5, (1, 2): 3, (2, 600): 3}),
    "k1e": (lambda x: mp.besselk(1, x) * mp.exp(x), {(1e-5, 1): 5, (1, 2): 3, (2, 600): 3}),
    "spherical_j0": (lambda x: mp.sin(x) / x, {(-10, 10): 3}),
    "airy_ai": (mp.airyai, {(-1, 1): 4, (1, 2.5): 3, (2.5, 100): 4}),
}


def sample(low, high):
    rng = np.random.default_rng(5)
    spread = np.exp2(rng.uniform(-10, np.log2(max(abs(low), abs(high))), COUNT))
    x = np.concatenate([rng.uniform(low, high, COUNT), spread * rng.choice([-1, 1], COUNT)])
    return x[(x >= low) & (x <= high)]


@pytest.mark.parametrize("name", UNARY)
def test_error(name):
    reference, bounds = UNARY[name]
    for (low, high), bound in bounds.items():
        x = sample(low, high)
        for at, found in zip(x, _C.unary(name, x), strict=True):
            exact = reference(mp.mpf(float(at)))
            assert abs(mp.mpf(float(found)) - exact) <= bound * unit(exact), (name, at)


@pytest.mark.parametrize(
    "name, reference",
    [
        ("j0", lambda x: mp.besselj(0, x)), ("j1", lambda x: mp.besselj(1, x)),
        ("y0", lambda x: mp.bessely(0, x)), ("y1", lambda x: mp.bessely(1, x)),
    ],
)  # fmt: skip
def test_error_of_oscillating_bessel_functions(name, reference):
    x = np.abs(np.concatenate([sample(1e-3, 8), sample(8, 1e4)]))
    for at, found in zip(x, _C.unary(name, x), strict=True):
        exact = reference(mp.mpf(float(at)))
        size = abs(exact) + mp.sqrt(2 / (mp.pi * max(at, 1)))
        assert abs(mp.mpf(float(found)) - exact) <= 4 * size * 2.0**-52, (name, at)


def test_error_of_airy_below_zero():
    x = -np.abs(sample(0, 100))
    for at, found in zip(x, _C.unary("airy_ai", x), strict=True):
        size = 0.6 / max(abs(at), 1) ** 0.25
        assert abs(mp.mpf(float(found)) - mp.airyai(mp.mpf(float(at)))) <= 4 * size * 2.0**-52, at


def test_lgamma_and_digamma_below_zero_are_near_relative_to_their_size():
    x = -np.abs(sample(0.01, 20))
    for at, log_gamma, psi in zip(x, _C.unary("lgamma", x), _C.unary("digamma", x), strict=True):
        z = mp.mpf(float(at))
        cot = abs(mp.pi * mp.cot(mp.pi * z))
        assert abs(log_gamma - lgamma(z)) <= 4e-15 * max(1, abs(mp.loggamma(-z).real)), at
        assert abs(psi - mp.digamma(z)) <= 2e-15 * (abs(mp.digamma(-z)) + cot * (1 + abs(z))), at


def test_ndtri_is_the_inverse():
    rng = np.random.default_rng(2)
    p = np.concatenate([rng.uniform(0, 1, 40), np.exp(rng.uniform(-690, 0, 40))])
    for at, found in zip(p, _C.unary("ndtri", p), strict=True):
        y = mp.mpf(float(found))
        for _ in range(3):  # Newton's method on the exact function
            y -= (ndtr(y) - mp.mpf(float(at))) * mp.sqrt(2 * mp.pi) * mp.exp(y * y / 2)
        assert abs(found - y) <= 4 * unit(y), at


def lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


@pytest.mark.parametrize("name, reference", [("igamma", lower), ("igammac", upper)])
@pytest.mark.parametrize("low, high, bound", [(-5, 0, 12), (0, 3, 12), (3, 5, 60)])
def test_error_of_incomplete_gamma(name, reference, low, high, bound):
    """The tails of large orders lose a few more bits, in the exponential of a large number."""
    rng = np.random.default_rng(3)
    a = np.exp(rng.uniform(low, high, 2 * COUNT))
    near = a[COUNT:] * (1 + rng.normal(size=COUNT) / np.sqrt(a[COUNT:]) * 0.8)
    x = np.concatenate([a[:COUNT] * np.exp(rng.uniform(-3, 1.5, COUNT)), np.abs(near) + 1e-9])
    for order, at, found in zip(a, x, _C.binary(name, a, x), strict=True):
        exact = reference(mp.mpf(float(order)), mp.mpf(float(at)))
        if exact > 1e-290:
            assert abs(mp.mpf(float(found)) - exact) <= bound * unit(exact), (order, at)


def hurwitz(s, q):
    return mp.fsum((q + k) ** -s for k in range(400)) if s > 20 else mp.zeta(s, q)


def test_error_of_zeta_and_polygamma():
    rng = np.random.default_rng(4)
    s, q = 1 + np.exp(rng.uniform(-3, 4, COUNT)), np.exp(rng.uniform(-4, 2.5, COUNT))
    for a, b, found in zip(s, q, _C.binary("zeta", s, q), strict=True):
        exact = hurwitz(mp.mpf(float(a)), mp.mpf(float(b)))
        assert abs(mp.mpf(float(found)) - exact) <= 4 * unit(exact), (a, b)
    n, x = rng.integers(1, 8, COUNT).astype(float), np.exp(rng.uniform(-3, 6, COUNT))
    for a, b, found in zip(n, x, _C.binary("polygamma", n, x), strict=True):
        exact = mp.polygamma(int(a), mp.mpf(float(b)))
        assert abs(mp.mpf(float(found)) - exact) <= 5 * unit(exact), (a, b)
    below = -rng.uniform(0.1, 30, 20)
    for b, found in zip(below, _C.binary("polygamma", np.full(20, 2.0), below), strict=True):
        exact = mp.polygamma(2, mp.mpf(float(b)))
        assert abs(found - exact) <= 1e-13 * (1 + abs(exact)), b


def test_polynomials():
    x = np.linspace(-1.5, 1.5, 31)
    for name, reference in (
        ("chebyshev_t", scipy.special.eval_chebyt), ("chebyshev_u", scipy.special.eval_chebyu),
        ("hermite_h", scipy.special.eval_hermite), ("hermite_he", scipy.special.eval_hermitenorm),
        ("laguerre_l", scipy.special.eval_laguerre), ("legendre_p", scipy.special.eval_legendre),
    ):  # fmt: skip
        for n in (0, 1, 2, 5, 9):
            found = _C.binary(name, x, np.full(31, float(n)))
            np.testing.assert_allclose(found, reference(n, x), 1e-12, 1e-12)
    angle = np.linspace(0.1, 3, 20)
    n = np.full(20, 7.0)
    third, fourth = np.cos(7.5 * angle) / np.cos(angle / 2), np.sin(7.5 * angle) / np.sin(angle / 2)
    np.testing.assert_allclose(_C.binary("chebyshev_v", np.cos(angle), n), third, 1e-11, 1e-12)
    np.testing.assert_allclose(_C.binary("chebyshev_w", np.cos(angle), n), fourth, 1e-11, 1e-12)
    assert _C.binary("chebyshev_t", np.array([0.5]), np.array([-1.0]))[0] == 0


SPECIAL = {
    "lgamma": {0.0: INF, -3.0: INF, INF: INF, -INF: INF, NAN: NAN, 1.0: 0.0, 2.0: 0.0},
    "digamma": {0.0: -INF, -1.0: NAN, -2.0: NAN, INF: INF, -INF: NAN, NAN: NAN},
    "erfcx": {INF: 0.0, -INF: INF, -30.0: INF, 0.0: 1.0, NAN: NAN},
    "ndtr": {INF: 1.0, -INF: 0.0, 0.0: 0.5, NAN: NAN},
    "log_ndtr": {INF: 0.0, -INF: -INF, NAN: NAN},
    "ndtri": {0.0: -INF, 1.0: INF, 0.5: 0.0, -0.1: NAN, 1.1: NAN, NAN: NAN},
    "i0": {INF: INF, -INF: INF, 0.0: 1.0, NAN: NAN, 720.0: INF},
    "i1": {INF: INF, -INF: -INF, 0.0: 0.0, NAN: NAN, -720.0: -INF},
    "i0e": {INF: 0.0, -INF: 0.0, 0.0: 1.0, NAN: NAN},
    "i1e": {INF: 0.0, 0.0: 0.0, NAN: NAN},
    "k0": {0.0: INF, INF: 0.0, -1.0: NAN, NAN: NAN},
    "k1": {0.0: INF, INF: 0.0, -1.0: NAN, NAN: NAN},
    "k0e": {0.0: INF, INF: 0.0, -1.0: NAN},
    "k1e": {0.0: INF, INF: 0.0, -1.0: NAN},
    "j0": {0.0: 1.0, INF: 0.0, -INF: 0.0, NAN: NAN},
    "j1": {0.0: 0.0, INF: 0.0, -INF: 0.0, NAN: NAN},
    "y0": {0.0: -INF, -1.0: NAN, INF: 0.0, NAN: NAN},
    "y1": {0.0: -INF, -1.0: NAN, INF: 0.0, NAN: NAN},
    "spherical_j0": {0.0: 1.0, INF: 0.0, NAN: NAN},
    "airy_ai": {INF: 0.0, -INF: 0.0, NAN: NAN},
}
SPECIAL_OF_TWO = {
    "zeta": {(1.0, 2.0): INF, (0.5, 2.0): NAN, (2.0, 0.0): INF, (2.0, -3.0): INF, (2.5, -0.5): NAN,
             (NAN, 1.0): NAN, (2.0, INF): 0.0},
    "polygamma": {(0.0, 0.0): -INF, (1.0, 0.0): INF, (2.0, 0.0): -INF, (1.0, INF): 0.0},
    "igamma": {(0.0, 1.0): 1.0, (0.0, 0.0): NAN, (1.0, 0.0): 0.0, (INF, 1.0): 0.0, (1.0, INF): 1.0,
               (INF, INF): NAN, (-1.0, 1.0): NAN, (1.0, -1.0): NAN, (NAN, 1.0): NAN},
    "igammac": {(0.0, 1.0): 0.0, (0.0, 0.0): NAN, (1.0, 0.0): 1.0, (INF, 1.0): 1.0, (1.0, INF): 0.0},
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values(dtype):
    for name, pairs in SPECIAL.items():
        found = _C.unary(name, np.array(list(pairs), dtype))
        np.testing.assert_array_equal(found, np.array(list(pairs.values()), dtype), name)
    for name, pairs in SPECIAL_OF_TWO.items():
        a, b = np.array(list(pairs), dtype).T.copy()
        np.testing.assert_array_equal(
            _C.binary(name, a, b), np.array(list(pairs.values()), dtype), name
        )
    assert _C.unary("digamma", np.array([-0.0], dtype))[0] == INF


def test_floats_are_rounded_from_doubles():
    x = sample(0.01, 20).astype(np.float32)
    for name in SPECIAL:
        np.testing.assert_array_equal(
            _C.unary(name, x), _C.unary(name, x.astype(np.float64)).astype(np.float32), name
        )


@pytest.mark.parametrize("isa", _C.ELEMENTWISE_ISAS)
def test_every_instruction_set_gives_the_same_bits(isa):
    chosen = _C.elementwise_isa()
    x = np.concatenate([sample(0.01, 30), -sample(0.01, 30)])
    right = {name: _C.unary(name, x) for name in SPECIAL}
    try:
        _C.elementwise_isa(isa)
        for name, values in right.items():
            np.testing.assert_array_equal(_C.unary(name, x), values, name)
    finally:
        _C.elementwise_isa(chosen)
