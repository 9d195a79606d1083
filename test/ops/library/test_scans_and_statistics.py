"""cumprod, cummax, cummin, logcumsumexp, nan reductions, norms, diff and trapezoid against NumPy."""

import math

import numpy as np
import pytest
from checks import LAYOUTS, expect, laid_out, tensor_of

import tensorplay as tp
from tensorplay.core import errors

RNG = np.random.default_rng(7)
X = RNG.normal(size=(4, 5))
HOLES = np.where(RNG.random((4, 5)) < 0.3, np.nan, X)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scans_equal_numpy(layout, dim):
    x = laid_out(X, layout)
    np.testing.assert_allclose(x.cumprod(dim).numpy(), np.cumprod(X, dim), 1e-13)
    right = np.logaddexp.accumulate(X, dim)
    np.testing.assert_allclose(x.logcumsumexp(dim).numpy(), right, 1e-13, 1e-15)
    for name in ("max", "min"):
        values, places = getattr(tp, f"cum{name}")(x, dim)
        expect(values, getattr(np, f"{name}imum").accumulate(X, dim), "float64")
        expect(x.gather(dim, places), values.numpy(), "float64")


def test_integers_multiply_to_int64_and_wrap():
    expect(tp.cumprod(tensor_of([100, 100, -3], "int8"), 0), [100, 10000, -30000], "int64")
    expect(tp.cumprod(tensor_of([True, False, True], "bool"), 0), [1, 0, 0], "int64")
    expect(tp.cumprod(tensor_of([100, 100], "int8"), 0, dtype=tp.int8), [100, 16], "int8")


def test_the_last_of_equal_elements_and_the_last_nan_win():
    x = tp.tensor([1.0, 3.0, 3.0, float("nan"), 5.0, float("nan")])
    assert tp.cummax(x, 0).indices.tolist() == [0, 1, 2, 3, 3, 5]
    assert tp.cummin(tp.tensor([2, 1, 1, 4]), 0).indices.tolist() == [0, 1, 2, 2]


def test_the_gradient_of_cumprod_is_exact_at_zeros():
    x = tp.tensor([2.0, 0.0, 3.0, 0.0], requires_grad=True)
    (grad,) = tp.autograd.grad(tp.cumprod(x, 0).sum(), x)
    assert grad.tolist() == [1.0, 2.0 + 6.0, 0.0, 0.0]


def test_logcumsumexp_of_infinities():
    x = tp.tensor([-math.inf, -math.inf, 1.0, math.inf, 2.0])
    expect(x.logcumsumexp(0), [-math.inf, -math.inf, 1.0, math.inf, math.inf], "float32")


def test_nan_reductions_equal_numpy():
    x = tp.from_numpy(HOLES)
    for dim in (None, 0, 1):
        np.testing.assert_allclose(x.nansum(dim).numpy(), np.nansum(HOLES, dim), 1e-13)
        np.testing.assert_allclose(x.nanmean(dim).numpy(), np.nanmean(HOLES, dim), 1e-13)
    assert tp.tensor([math.nan] * 2).nansum().item() == 0
    assert math.isnan(tp.tensor([math.nan] * 2).nanmean().item())
    t = tp.tensor([1.0, math.nan], requires_grad=True)
    assert tp.autograd.grad(t.nansum(), t)[0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, -2, math.inf, -math.inf])
def test_norms_equal_numpy(order):
    x = tp.from_numpy(X)
    right = np.linalg.norm(X, order, axis=1)
    np.testing.assert_allclose(tp.linalg.vector_norm(x, order, 1).numpy(), right, 1e-12)
    np.testing.assert_allclose(x.norm(order, 1).numpy(), right, 1e-12)
    right = np.linalg.norm(X.reshape(-1), order)
    np.testing.assert_allclose(tp.linalg.vector_norm(x, order).numpy(), right, 1e-12)


@pytest.mark.parametrize("order", [1, 1.5, 2, 3])
def test_the_gradient_of_a_norm_at_zero_is_zero(order):
    x = tp.zeros(3, requires_grad=True)
    assert tp.autograd.grad(tp.linalg.vector_norm(x, order), x)[0].tolist() == [0.0] * 3
    with pytest.raises(errors.ArgumentValueError, match="trace"):
        x.norm("trace")


def test_pairs_are_their_parts():
    x = tp.from_numpy(X)
    low, high = tp.aminmax(x, dim=1)
    expect(low, X.min(1), "float64")
    expect(high, X.max(1), "float64")
    variance, mean = tp.var_mean(x, 0)
    np.testing.assert_allclose(variance.numpy(), X.var(0, ddof=1), 1e-12)
    np.testing.assert_allclose(mean.numpy(), X.mean(0), 1e-12)
    np.testing.assert_allclose(tp.std_mean(x, correction=0)[0].numpy(), X.std(), 1e-12)


def test_diff_and_trapezoid_equal_numpy():
    x, places = tp.from_numpy(X), np.sort(RNG.random(5))
    for n in (0, 1, 2, 4, 5):
        expect(tp.diff(x, n), np.diff(X, n), "float64")
        expect(tp.diff(x, n, 0), np.diff(X, min(n, 4), 0), "float64")
    joined = np.diff(X, 1, 1, prepend=X[:, :1], append=X[:, :2])
    expect(tp.diff(x, 1, 1, x[:, :1], x[:, :2]), joined, "float64")
    expect(tp.diff(tp.tensor([True, True, False])), [False, True], "bool")
    t = tp.from_numpy(places)
    np.testing.assert_allclose(tp.trapezoid(x, t).numpy(), np.trapezoid(X, places), 1e-12)
    np.testing.assert_allclose(
        tp.trapezoid(x, dx=0.5, dim=0).numpy(), np.trapezoid(X, dx=0.5, axis=0), 1e-12
    )
    running = tp.cumulative_trapezoid(x, t)
    np.testing.assert_allclose(running[:, -1].numpy(), np.trapezoid(X, places), 1e-12)


@pytest.mark.parametrize("shape", [(3, 64), (2, 5), (200,), (1, 1)])
def test_sums_and_products_of_bools_are_any_and_all_compiled_too(shape):
    x = tp.from_numpy(np.random.default_rng(0).uniform(size=shape) > 0.1)

    def f(x):
        return (
            x.sum(-1, dtype=tp.bool), x.prod(-1, dtype=tp.bool), x.sum(0, dtype=tp.bool),
            x.prod(0, dtype=tp.bool), x.cumsum(0, dtype=tp.bool), x.float().prod(-1, dtype=tp.bool),
        )  # fmt: skip

    for found, right in zip(tp.compile(f, strict_native=True)(x), f(x), strict=True):
        assert found.dtype is tp.bool
        assert found.tolist() == right.tolist()
    assert f(x)[0].tolist() == x.any(-1).tolist()
    assert f(x)[1].tolist() == x.all(-1).tolist()
