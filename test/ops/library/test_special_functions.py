"""Special functions as operators: against SciPy, namespaces, dtypes, derivatives at their edges, compiled bits."""

import math

import numpy as np
import pytest
import scipy.special

import tensorplay as tp
from tensorplay.core.errors import ArgumentValueError, DTypeError, NotDifferentiableError

RNG = np.random.default_rng(7)
INF, NAN = math.inf, math.nan

ONE = {
    "bessel_j0": scipy.special.j0, "bessel_j1": scipy.special.j1, "bessel_y0": scipy.special.y0,
    "bessel_y1": scipy.special.y1, "digamma": scipy.special.digamma, "entr": scipy.special.entr,
    "erfcx": scipy.special.erfcx, "expit": scipy.special.expit, "gammaln": scipy.special.gammaln,
    "i0": scipy.special.i0, "i0e": scipy.special.i0e, "i1": scipy.special.i1, "i1e": scipy.special.i1e,
    "log_ndtr": scipy.special.log_ndtr, "modified_bessel_i0": scipy.special.i0, "ndtr": scipy.special.ndtr,
    "modified_bessel_i1": scipy.special.i1, "modified_bessel_k0": scipy.special.k0,
    "modified_bessel_k1": scipy.special.k1, "psi": scipy.special.digamma,
    "scaled_modified_bessel_k0": scipy.special.k0e, "scaled_modified_bessel_k1": scipy.special.k1e,
    "airy_ai": lambda x: scipy.special.airy(x)[0],
    "spherical_bessel_j0": lambda x: scipy.special.spherical_jn(0, x),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_operand_equal_scipys(name):
    x = RNG.uniform(0.1, 12, 200)
    found = getattr(tp.special, name)(tp.from_numpy(x))
    np.testing.assert_allclose(found.numpy(), ONE[name](x), 1e-12, 1e-14)
    assert getattr(tp.special, name)(tp.tensor([1, 2])).dtype is tp.float32


def test_functions_of_two_operands_equal_scipys():
    a, x = RNG.uniform(0.5, 9, 100), RNG.uniform(0.1, 12, 100)
    s, y = tp.from_numpy(a), tp.from_numpy(x)
    pairs = [
        (tp.special.gammainc(s, y), scipy.special.gammainc(a, x)),
        (tp.special.gammaincc(s, y), scipy.special.gammaincc(a, x)),
        (tp.special.zeta(s + 1, y), scipy.special.zeta(a + 1, x)),
        (tp.special.multigammaln(y + 2, 4), [scipy.special.multigammaln(each, 4) for each in x + 2]),
        (y.polygamma(3), scipy.special.polygamma(3, x)),
        (tp.logit(tp.from_numpy(x / 13)), scipy.special.logit(x / 13)),
        (tp.special.ndtri(tp.from_numpy(x / 13)), scipy.special.ndtri(x / 13)),
        (tp.special.shifted_chebyshev_polynomial_u(y / 12, 5), scipy.special.eval_sh_chebyu(5, x / 12)),
        (tp.special.shifted_chebyshev_polynomial_t(y / 12, 5), scipy.special.eval_sh_chebyt(5, x / 12)),
    ]  # fmt: skip
    for found, right in pairs:
        np.testing.assert_allclose(found.numpy(), right, 1e-11, 1e-13)
    with pytest.raises(ArgumentValueError, match="negative"):
        y.polygamma(-1)


def test_names_are_those_of_the_root():
    assert tp.special.gammaln is tp.lgamma
    assert tp.special.psi is tp.digamma
    assert not hasattr(tp, "special_ndtr")
    with pytest.raises(DTypeError):
        tp.lgamma(tp.tensor([1j]))


def test_no_derivative_by_the_order():
    a, x = tp.tensor([2.0], requires_grad=True), tp.tensor([1.0], requires_grad=True)
    with pytest.raises(NotDifferentiableError, match="by the order"):
        tp.igamma(a, x)
    (slope,) = tp.autograd.grad(tp.igamma(a.detach(), x), x)
    assert slope.item() == pytest.approx(math.exp(-1))


def test_derivatives_where_something_special_happens():
    def slope(function, at):
        x = tp.tensor(at, dtype=tp.float64, requires_grad=True)
        (found,) = tp.autograd.grad(function(x), x)
        return found.item()

    assert slope(tp.special.entr, 0.0) == INF
    assert slope(tp.special.i1, 0.0) == 0.5
    assert slope(tp.special.i1e, 0.0) == 0.5
    assert slope(tp.special.bessel_j1, 0.0) == 0.5
    assert slope(tp.special.spherical_bessel_j0, 0.0) == 0.0
    assert slope(tp.special.log_ndtr, -100.0) == pytest.approx(100.01, rel=1e-5)
    assert slope(lambda x: tp.logit(x, 0.2), 0.1) == 0.0
    assert slope(lambda x: tp.igamma(tp.tensor([1]), x).sum(), 0.0) == 1.0


def test_compiled_bits_are_those_of_eager():
    def function(x, a):
        return tp.lgamma(x) * tp.special.i0e(x) + tp.special.bessel_y0(x) - tp.igammac(a, x)

    for dtype in (tp.float32, tp.float64):
        x = tp.from_numpy(RNG.uniform(0.1, 30, 77)).to(dtype)
        a = tp.from_numpy(RNG.uniform(0.1, 30, 77)).to(dtype)
        found = tp.compile(function, strict_native=True)(x, a)
        assert np.array_equal(found.numpy(), function(x, a).numpy())


def test_frexp_takes_floats_apart():
    for dtype in (np.float32, np.float64):
        info = np.finfo(dtype)
        x = np.array(
            [0.0, -0.0, 1.0, -0.3, info.max, info.tiny, info.smallest_subnormal, INF, NAN], dtype
        )
        mantissa, exponent = tp.frexp(tp.from_numpy(x))
        right = np.frexp(x)
        np.testing.assert_array_equal(mantissa.numpy(), right[0])
        np.testing.assert_array_equal(np.signbit(mantissa.numpy()), np.signbit(right[0]))
        np.testing.assert_array_equal(exponent.numpy(), right[1])
        assert exponent.dtype is tp.int32
    z = tp.tensor([6.0], requires_grad=True)
    (slope,) = tp.autograd.grad(tp.frexp(z)[0].sum(), z)
    assert slope.item() == 0.125


def test_infinities_are_told_apart():
    x = tp.tensor([INF, -INF, NAN, 0.0])
    assert x.isposinf().tolist() == [True, False, False, False]
    assert x.isneginf().tolist() == [False, True, False, False]
    assert tp.isposinf(tp.tensor([1])).tolist() == [False]
