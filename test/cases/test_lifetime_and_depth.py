"""B59, B61, B63: results live as long as they are held, graphs may be deep, derivatives have any order."""

import sys
import time

import numpy as np
import pytest
from checks import expect, tensor_of, to_array

import tensorplay as tp


def test_a_second_call_leaves_the_first_result_alone(run):
    f = run(lambda x: x + 1)
    x = tensor_of([0.0])
    first = f(x)
    second = f(tensor_of([1.0]))
    expect(first, [1.0], "float32")
    expect(second, [2.0], "float32")
    same = [f(x) for _ in range(3)]
    same[0].zero_()
    expect(same[1], [1.0], "float32")
    expect(f(f(x)), [2.0], "float32")


def test_large_results_are_not_overwritten_while_they_are_held(run):
    """The blocks are large enough to come from the pool, which gives memory back only when it is free."""
    f = run(lambda x: x + 1)
    x = tp.zeros(1 << 19)
    held = [f(x)]
    for _ in range(4):
        held.append(f(held[-1]))
    for step, y in enumerate(held):
        assert np.all(to_array(y) == step + 1)
    view = held[0][5:]
    del held
    f(x)
    assert np.all(to_array(view) == 1.0)


def test_gradients_accumulate_over_calls(run):
    w = tensor_of([1.0, 2.0]).requires_grad_()
    f = run(lambda w, x: (w * x).sum())
    losses = [f(w, tensor_of([float(k), 1.0])) for k in range(1, 4)]
    for loss in losses:
        loss.backward()
    expect(w.grad, [6.0, 3.0], "float32")


def test_two_forwards_before_their_backwards(run):
    w = tensor_of([1.0]).requires_grad_()
    f = run(lambda w, x: (w * x).exp().sum())
    first, second = f(w, tensor_of([0.0])), f(w, tensor_of([1.0]))
    second.backward()
    assert abs(float(w.grad) - np.exp(1.0)) < 1e-5
    first.backward()
    assert abs(float(w.grad) - np.exp(1.0)) < 1e-5


@pytest.mark.parametrize("depth", [1500, 20_000])
def test_a_deep_chain(run, depth):
    def f(x):
        for _ in range(depth):
            x = 1.0 * x
        return x

    limit = sys.getrecursionlimit()
    expect(run(f)(tensor_of([1.0])), [1.0], "float32")
    assert sys.getrecursionlimit() == limit


def test_a_deep_chain_differentiates(run):
    def f(x):
        y = x
        for _ in range(1500):
            y = y + x * 0.001
        return y.sum()

    x = tensor_of([1.0], "float64").requires_grad_()
    run(f)(x).backward()
    assert abs(float(x.grad) - 2.5) < 1e-9


@pytest.mark.alone
def test_compile_time_grows_linearly():
    def seconds(depth):
        def f(x):
            for k in range(depth):
                x = x * (1.0 + k) if k % 3 else tp.sin(x)
            return x

        start = time.perf_counter()
        tp.compile(f, strict_native=True)(tensor_of([1.0]))
        return time.perf_counter() - start

    seconds(50)
    assert seconds(4000) / seconds(1000) < 8


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_three_derivatives_of_a_cube(run, dtype):
    x = tensor_of(2.0, dtype).requires_grad_()
    y = run(lambda x: x**3)(x)
    for right in (12.0, 12.0, 6.0):
        (y,) = tp.autograd.grad(y, x, create_graph=True)
        expect(y, right, dtype)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "reversed"])
def test_second_derivatives_of_a_function_with_reductions(run, layout):
    x = tensor_of([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], "float64", layout).requires_grad_()
    y = run(lambda x: (tp.exp(x) * x.sum(1, keepdim=True)).sum())(x)
    (g,) = tp.autograd.grad(y, x, create_graph=True)
    (h,) = tp.autograd.grad(g.sum(), x)
    a = to_array(x)
    e = np.exp(a)
    right = e * (a.sum(1, keepdims=True) + 3) + e.sum(1, keepdims=True)
    assert np.allclose(to_array(h), right, rtol=1e-12)


def test_a_backward_through_the_gradient_reaches_the_other_input(run):
    x, w = tensor_of(3.0, "float64").requires_grad_(), tensor_of(2.0, "float64").requires_grad_()
    y = run(lambda x, w: (x * w) ** 2)(x, w)
    (g,) = tp.autograd.grad(y, x, create_graph=True)
    g.backward()
    expect(w.grad, 24.0, "float64")
    expect(x.grad, 8.0, "float64")
