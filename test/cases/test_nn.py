"""B43, B45, B47: softmax of rows without a finite entry, pooling windows, concatenation with nothing."""

from math import exp, inf, log, nan

import numpy as np
import pytest
from checks import FLOATS, LAYOUTS, expect, tensor_of, to_array

import tensorplay as tp
from tensorplay.nn import functional


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_a_row_without_a_finite_entry_is_nan(run, dtype):
    x = tensor_of([[-inf] * 3, [0.0, -inf, -inf]], dtype)
    expect(run(lambda x: tp.softmax(x, -1))(x), [[nan] * 3, [1.0, 0.0, 0.0]], dtype)
    expect(run(lambda x: tp.log_softmax(x, -1))(x), [[nan] * 3, [0.0, -inf, -inf]], dtype)
    expect(run(lambda x: x.logsumexp(-1))(x), [-inf, 0.0], dtype)


def test_softmax_with_plus_infinity_is_nan_and_logsumexp_is_infinite(run):
    x = tensor_of([inf, 1.0])
    expect(run(lambda x: tp.softmax(x, 0))(x), [nan, nan], "float32")
    expect(run(lambda x: x.logsumexp(0))(x), inf, "float32")
    expect(run(lambda x: x.logsumexp(0))(tensor_of([inf, -inf])), inf, "float32")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_softmax_does_not_overflow_in_any_layout(run, layout):
    x = tensor_of([[1e4, 1e4], [-1e4, -1e4], [0.0, 1.0]], "float32", layout)
    found = to_array(run(lambda x: tp.softmax(x, 1))(x))
    e = exp(-1.0)
    assert np.allclose(found, [[0.5, 0.5], [0.5, 0.5], [e / (1 + e), 1 / (1 + e)]], rtol=1e-6)
    logs = to_array(run(lambda x: tp.log_softmax(x, 1))(x))
    assert np.allclose(logs, [[-log(2)] * 2] * 2 + [[-log(1 + exp(1)), -log(1 + e)]], rtol=1e-6)


def test_masked_softmax_has_finite_gradients_where_the_mask_leaves_a_key(run):
    scores = tensor_of([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
    mask = tensor_of([[True, False], [True, True]], "bool")

    def f(scores, mask):
        weights = tp.softmax(tp.where(mask, scores, -inf), -1)
        return (weights * tp.tensor([[1.0, 2.0], [3.0, 4.0]])).sum()

    run(f)(scores, mask).backward()
    p = 1 / (1 + exp(1.0))
    right = [[0.0, 0.0], [-p * (1 - p), p * (1 - p)]]
    assert np.allclose(to_array(scores.grad), right, rtol=1e-5, atol=0)


def test_softmax_of_0d_and_empty(run):
    expect(run(lambda x: tp.softmax(x, 0))(tensor_of(-5.0)), 1.0, "float32")
    expect(
        run(lambda x: tp.softmax(x, 1))(tensor_of(np.zeros((2, 0)))), np.zeros((2, 0)), "float32"
    )


def test_ceil_mode_makes_no_window_outside_the_input(run):
    x = tp.ones(1, 1, 6, 7)
    found = run(lambda x: functional.max_pool2d(x, 1, 2, ceil_mode=True))(x)
    expect(found, np.ones((1, 1, 3, 4)), "float32")
    row = tensor_of([[[[0.0, 1.0, 2.0, 3.0]]]])
    pooled = run(lambda x: functional.max_pool2d(x, (1, 2), (1, 3), (0, 1), ceil_mode=True))(row)
    expect(pooled, [[[[0.0, 3.0]]]], "float32")
    average = run(lambda x: functional.avg_pool2d(x, 1, 2, ceil_mode=True))(x)
    expect(average, np.ones((1, 1, 3, 4)), "float32")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_max_pool_with_ceil_mode_against_windows_written_out(run, size, stride):
    width, kernel, padding = size + 3, 3, 1
    row = np.cos(np.arange(width, dtype=np.float32))
    starts = list(range(-padding, width, stride))
    steps = -(-(width + 2 * padding - kernel) // stride) + 1
    windows = [row[max(s, 0) : s + kernel] for s in starts[:steps]]
    right = [w.max() for w in windows if len(w)]
    x = tensor_of(row.reshape(1, 1, 1, width))
    pool = run(
        lambda x: functional.max_pool2d(x, (1, kernel), (1, stride), (0, padding), ceil_mode=True)
    )
    expect(pool(x), [[[right]]], "float32")


def test_max_pool_keeps_nan_and_infinity(run):
    x = tensor_of([[[[1.0, nan, 3.0, -inf, -inf, -inf]]]])
    expect(run(lambda x: functional.max_pool2d(x, (1, 2)))(x), [[[[nan, 3.0, -inf]]]], "float32")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
def test_concatenating_with_a_1d_empty_tensor(run, dtype):
    nothing, block = tensor_of([], dtype), tensor_of(np.zeros((1, 2, 3, 4)), dtype)
    for dim in (-2, 2, 0, -4):
        found = run(lambda a, b, dim=dim: tp.cat([a, b], dim=dim))(nothing, block)
        expect(found, np.zeros((1, 2, 3, 4)), dtype)
        found = run(lambda a, b, dim=dim: tp.cat([b, a, b], dim=dim))(nothing, block)
        expect(found, np.concatenate([np.zeros((1, 2, 3, 4))] * 2, dim), dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_concatenation_in_every_layout_and_with_promotion(run, layout):
    a = tensor_of([[1, 2], [3, 4]], "int32", layout)
    b = tensor_of([[0.5, -0.0], [nan, inf]], "float32", layout)
    expect(
        run(lambda a, b: tp.cat([a, b], 1))(a, b), [[1, 2, 0.5, -0.0], [3, 4, nan, inf]], "float32"
    )
    expect(
        run(lambda a, b: tp.cat([a, b]) * 2)(a, b),
        [[2, 4], [6, 8], [1, -0.0], [nan, inf]],
        "float32",
    )
    expect(run(lambda a: tp.stack([a, a], 1))(a), [[[1, 2], [1, 2]], [[3, 4], [3, 4]]], "int32")


def test_concatenation_refuses_what_does_not_fit(run):
    with pytest.raises((RuntimeError, ValueError)):
        run(lambda a, b: tp.cat([a, b]))(tensor_of([[1.0]]), tensor_of([[1.0, 2.0]]))
    with pytest.raises((RuntimeError, ValueError)):
        run(lambda a: tp.cat([a, a]))(tensor_of(1.0))
