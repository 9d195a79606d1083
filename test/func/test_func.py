"""`tensorplay.func`: derivatives of every order in any composition, trees, argnums, aux, histories."""

import subprocess
import sys

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import func
from tensorplay.core.errors import ArgumentError, GradientError, ShapeError

X = tp.tensor([0.5, -1.0, 2.0], dtype=tp.float64)
V = tp.tensor([1.0, 0.5, -3.0], dtype=tp.float64)


def scalar(x):
    return (x**3).sum() * x.prod()


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-10, 1e-12)


def test_derivatives_of_every_order():
    quartic = func.grad(func.grad(func.grad(lambda x: x**4)))
    assert quartic(tp.tensor(2.0)).item() == 48.0


def test_inner_derivatives_are_by_their_own_argument():
    one, x = tp.tensor(1.0), tp.tensor(3.0)
    assert func.grad(lambda x: x * func.grad(lambda y: x + y)(one))(x).item() == 1.0
    assert func.grad(lambda x: x * func.grad(lambda y: x * y)(one))(x).item() == 6.0

    def forward(function, at):
        return func.jvp(function, (at,), (tp.tensor(1.0),))[1]

    assert forward(lambda x: x * forward(lambda y: x + y, one), x).item() == 1.0
    assert forward(lambda x: x * forward(lambda y: x * y, one), x).item() == 6.0
    assert func.grad(lambda x: x * forward(lambda y: x * y, one))(x).item() == 6.0
    assert forward(lambda x: x * func.grad(lambda y: x * y)(one), x).item() == 6.0


@pytest.mark.parametrize("outer", [func.jacfwd, func.jacrev])
@pytest.mark.parametrize("inner", [func.jacfwd, func.jacrev, func.grad])
def test_hessians_agree(outer, inner):
    expected = tp.autograd.functional.hessian(scalar, X)
    found = outer(inner(scalar))(X)
    close(found, expected)
    assert not found.requires_grad
    close(func.hessian(scalar)(X), expected)
    close(func.jvp(func.grad(scalar), (X,), (V,))[1], expected @ V)
    close(func.grad(lambda x: func.jvp(scalar, (x,), (V,))[1])(X), expected @ V)


def test_jacobians_in_trees():
    def function(inputs, scale):
        return {"p": inputs["a"] * inputs["b"] * scale, "q": inputs["a"].sum()}

    inputs = {"a": X, "b": V}
    for jacobian in (func.jacfwd, func.jacrev):
        found = jacobian(function)(inputs, 2.0)
        close(found["p"]["a"], tp.eye(3, dtype=tp.float64) * V * 2)
        close(found["p"]["b"], tp.eye(3, dtype=tp.float64) * X * 2)
        close(found["q"]["a"], tp.ones(3))
        close(found["q"]["b"], tp.zeros(3))
        found, aux = jacobian(lambda a, b: (a * b, b), argnums=(1, 0), has_aux=True)(X, V)
        close(found[0], tp.eye(3, dtype=tp.float64) * X)
        close(aux, V)


def test_grad_of_trees_argnums_and_aux():
    def loss(weights, x, *, scale):
        y = (weights["w"] * x).sum() * scale
        return y, {"y": y, "name": "loss"}

    weights = {"w": X, "unused": [V]}
    gradient, aux = func.grad(loss, has_aux=True)(weights, V, scale=2.0)
    close(gradient["w"], V * 2)
    close(gradient["unused"][0], tp.zeros(3))
    assert aux["name"] == "loss"
    assert not aux["y"].requires_grad
    (value, aux), grads = func.value_and_grad(loss, argnums=(0, -1), has_aux=True)(
        weights, V, scale=2.0
    )
    assert value.item() == aux["y"].item()
    close(grads[1], X * 2)
    value, gradient = func.value_and_grad(scalar)(X)
    close(value, scalar(X))
    close(gradient, tp.autograd.functional.vjp(scalar, X)[1])


def test_vjp_and_jvp():
    result, pull = func.vjp(lambda a, b: (a * b, a.sin()), X, V)
    close(result[0], X * V)
    for found in (pull((V, X)), pull(V, X)):
        close(found[0], V * V + X.cos() * X)
        close(found[1], X * V)
    (result, tangent, aux) = func.jvp(lambda x: (x * x, x), (X,), (V,), has_aux=True)
    close(tangent, X * V * 2)
    close(aux, X)
    assert not any(each.requires_grad for each in (result, tangent, aux))
    close(func.jvp(lambda x: V, (X,), (V,))[1], tp.zeros(3))
    with pytest.raises(GradientError, match="does not depend"):
        func.jvp(lambda x: V, (X,), (V,), strict=True)


def test_results_keep_a_history_only_where_it_leads_to_somebody():
    weight = V.clone().requires_grad_()
    for derivative in (
        func.grad(lambda x: (x * x * weight).sum()),
        func.jacrev(lambda x: (x * x * weight).sum()),
        func.jacfwd(lambda x: (x * x * weight).sum()),
        lambda x: func.vjp(lambda x: (x * x * weight).sum(), x)[1](
            tp.tensor(1.0, dtype=tp.float64)
        ),
    ):
        close(tp.autograd.grad(derivative(X).sum(), weight)[0], X * 2)
        with tp.no_grad():
            assert not derivative(X).requires_grad
    x = X.clone().requires_grad_()
    close(tp.autograd.grad(func.grad(scalar)(x).sum(), x)[0], func.hessian(scalar)(X).sum(0))
    assert x.grad is None
    assert weight.grad is None
    assert not func.grad(scalar)(X).requires_grad
    assert not X.requires_grad


def test_errors():
    with pytest.raises(ShapeError, match=r"shape \(\), found \(3,\)"):
        func.grad(lambda x: x)(X)
    with pytest.raises(ShapeError, match="found float"):
        func.grad(lambda x: 1.0)(X)
    with pytest.raises(ArgumentError, match="found float"):
        func.grad(lambda x: x)(1.0)
    with pytest.raises(ArgumentError, match="names argument 1"):
        func.grad(scalar, argnums=1)(X)
    with pytest.raises(ArgumentError, match="once each"):
        func.grad(lambda a, b: (a * b).sum(), argnums=(0, -2))(X, V)
    with pytest.raises(ArgumentError, match=r"\(output, aux\)"):
        func.grad(scalar, has_aux=True)(X)
    with pytest.raises(ShapeError, match="tangents have to have"):
        func.jvp(scalar, (X,), (tp.ones(2),))
    with pytest.raises(ArgumentError, match="tuples"):
        func.jvp(scalar, X, X)
    with pytest.raises(ShapeError, match="cotangents"):
        func.vjp(scalar, X)[1](V)
    assert not tp.dispatch.current_modes()


def test_nothing_is_loaded_before_it_is_used():
    code = (
        "import sys, tensorplay as tp\n"
        "lazy = {'tensorplay.func', 'tensorplay.autograd.forward_ad', 'tensorplay.autograd.functional'}\n"
        "assert not lazy & set(sys.modules)\n"
        "tp.func.grad, tp.autograd.functional.jvp\n"
        "assert lazy <= set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
