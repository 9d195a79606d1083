"""`autograd.functional`: products against explicit Jacobians and Hessians, `create_graph`, `strict`."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.autograd import functional
from tensorplay.core.errors import ArgumentError, ArgumentValueError, GradientError, ShapeError

X = tp.tensor([0.5, -1.0, 2.0], dtype=tp.float64)
V = tp.tensor([1.0, 0.5, -3.0], dtype=tp.float64)


def scalar(x):
    return (x.exp() * x.prod()).sum() + x.softmax(0)[0]


def pair(a, b):
    return a * b.sum(), b.sin()


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-10, 1e-12)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians(strategy):
    (aa, ab), (ba, bb) = functional.jacobian(pair, (X, V), strategy=strategy)
    close(aa, tp.eye(3, dtype=tp.float64) * V.sum())
    close(ab, X.reshape(3, 1).expand(3, 3))
    close(ba, tp.zeros(3, 3))
    close(bb, tp.eye(3, dtype=tp.float64) * V.cos())
    one = functional.jacobian(lambda x: x.reshape(3, 1).expand(3, 2) * x[0], X, strategy=strategy)
    assert one.shape == (3, 2, 3)
    assert functional.jacobian(lambda x: x * 2, tp.zeros(0), strategy=strategy).shape == (0, 0)


def test_products_are_those_of_the_jacobian():
    jacobian = functional.jacobian(lambda x: x.softmax(0), X)
    value, forward = functional.jvp(lambda x: x.softmax(0), X, V)
    close(value, X.softmax(0))
    close(forward, jacobian @ V)
    close(functional.vjp(lambda x: x.softmax(0), X, V)[1], V @ jacobian)
    outputs, tangents = functional.jvp(pair, (X, V), (V, X))
    close(tangents[0], V * V.sum() + X * X.sum())
    close(tangents[1], V.cos() * X)
    assert [each.requires_grad for each in (*outputs, *tangents)] == [False] * 4


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_hessian_products(strategy):
    hessian = functional.hessian(scalar, X, outer_jacobian_strategy=strategy)
    close(hessian, hessian.t())
    for product in (functional.hvp, functional.vhp):
        value, found = product(scalar, X, V)
        close(value, scalar(X))
        close(found, hessian @ V)
        assert not found.requires_grad
    step = 1e-6
    numeric = (
        functional.vjp(scalar, X + V * step)[1] - functional.vjp(scalar, X - V * step)[1]
    ) / (2 * step)
    np.testing.assert_allclose((hessian @ V).numpy(), numeric.numpy(), 1e-6, 1e-7)


def test_hessian_of_several_inputs():
    found = functional.hessian(lambda a, b: (a * a * b).sum(), (X, V))
    close(found[0][0], tp.eye(3, dtype=tp.float64) * V * 2)
    close(found[0][1], tp.eye(3, dtype=tp.float64) * X * 2)
    close(found[1][1], tp.zeros(3, 3))
    products = functional.hvp(lambda a, b: (a * a * b).sum(), (X, V), (V, X))[1]
    close(products[0], V * V * 2 + X * X * 2)
    close(products[1], X * V * 2)


@pytest.mark.parametrize("product", [functional.jvp, functional.hvp, functional.vhp])
def test_results_can_be_differentiated(product):
    x = X.clone().requires_grad_()
    found = product(lambda x: (x**4).sum(), x, V, create_graph=True)[1]
    (slope,) = tp.autograd.grad(found.sum(), x)
    close(slope, V * x * x * 12 if product is functional.jvp else V * x * 24)
    assert x.grad is None


def test_vjp_and_jacobian_can_be_differentiated():
    x = X.clone().requires_grad_()
    found = functional.vjp(lambda x: (x**3).sum(), x, create_graph=True)[1]
    close(tp.autograd.grad(found.sum(), x)[0], x * 6)
    for strategy in ("reverse-mode", "forward-mode"):
        found = functional.jacobian(lambda x: x**3, x, create_graph=True, strategy=strategy)
        close(tp.autograd.grad(found.sum(), x)[0], x * 6)


def test_a_default_direction_is_for_one_element():
    one = tp.tensor(3.0)
    assert functional.jvp(lambda x: x * x, one)[1].item() == 6.0
    assert functional.hvp(lambda x: x**3, one)[1].item() == 18.0
    with pytest.raises(ArgumentError, match="one element only"):
        functional.jvp(lambda x: x * x, X)


def test_strict():
    constant = tp.ones(3, dtype=tp.float64)
    for function in (functional.jvp, functional.vjp):
        close(function(lambda x: constant, X, V)[1], tp.zeros(3))
        with pytest.raises(GradientError, match="result 0 does not depend"):
            function(lambda x: constant, X, V, strict=True)
    with pytest.raises(GradientError, match="do not depend on input 1"):
        functional.vjp(lambda a, b: a * 2, (X, V), V, strict=True)
    for strategy in ("reverse-mode", "forward-mode"):
        with pytest.raises(GradientError, match="not depend"):
            functional.jacobian(lambda a, b: a * 2, (X, V), strict=True, strategy=strategy)
    for product in (functional.hvp, functional.vhp):
        close(product(lambda x: x.sum(), X, V)[1], tp.zeros(3))
        with pytest.raises(GradientError, match="not depend"):
            product(lambda x: x.sum(), X, V, strict=True)


def test_errors():
    with pytest.raises(ArgumentError, match="number 0 is float"):
        functional.jvp(lambda x: x, 1.0)
    with pytest.raises(ShapeError, match="shapes of the inputs"):
        functional.jvp(lambda x: x, X, tp.ones(2))
    with pytest.raises(ShapeError, match="one element"):
        functional.hvp(lambda x: x, X, V)
    with pytest.raises(ArgumentError, match="results of the function"):
        functional.vjp(lambda x: 1.0, X)
    with pytest.raises(ArgumentValueError, match="strategy"):
        functional.jacobian(lambda x: x, X, strategy="both")
    assert not tp.dispatch.current_modes()


# ---- all rows or columns at once -----------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_vectorized_jacobians(strategy):
    a = tp.tensor([0.5, -1.0, 2.0], dtype=tp.float64)
    b = tp.tensor([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]], dtype=tp.float64)

    def function(a, b):
        return (b @ a).sin(), a.sum() * b, tp.ones(2, dtype=tp.float64)

    expected = functional.jacobian(function, (a, b))
    found = functional.jacobian(function, (a, b), vectorize=True, strategy=strategy)
    for row, other in zip(found, expected, strict=True):
        for x, y in zip(row, other, strict=True):
            assert x.shape == y.shape
            assert tp.allclose(x, y)
    a.requires_grad_()
    kept = functional.jacobian(
        lambda a: a.sin() * a.sum(), a, create_graph=True, vectorize=True, strategy=strategy
    )
    (second,) = tp.autograd.grad(kept.sum(), a)
    again = functional.jacobian(lambda a: a.sin() * a.sum(), a, create_graph=True)
    assert tp.allclose(second, tp.autograd.grad(again.sum(), a)[0])
    found = functional.hessian(
        lambda a: (a**3).sum() * a.prod(), a, vectorize=True, outer_jacobian_strategy=strategy
    )
    assert tp.allclose(found, functional.hessian(lambda a: (a**3).sum() * a.prod(), a))


def test_vectorize_and_strict_exclude_each_other():
    with pytest.raises(ArgumentValueError, match="vectorize=False"):
        functional.jacobian(lambda x: x, tp.ones(2), strict=True, vectorize=True)


def test_a_batch_of_gradients():
    x = tp.tensor([0.5, -1.0, 2.0], dtype=tp.float64, requires_grad=True)
    w = tp.ones(3, dtype=tp.float64, requires_grad=True)
    y, z = (x * w).sin(), x.sum()
    rows = tp.eye(3, dtype=tp.float64)
    (found,) = tp.autograd.grad(y, x, rows, retain_graph=True, is_grads_batched=True)
    assert tp.allclose(found, (x.cos()).diag())
    both = tp.autograd.grad(
        [y, z], [x, w], [rows, tp.ones(3, dtype=tp.float64)], create_graph=True,
        is_grads_batched=True,
    )  # fmt: skip
    assert tp.allclose(both[0], x.cos().diag() + 1)
    assert tp.autograd.grad(both[1].sum(), x)[0].shape == (3,)
    with pytest.raises(ArgumentValueError, match="first dimension"):
        tp.autograd.grad(x.sum(), x, tp.tensor(1.0), is_grads_batched=True)
