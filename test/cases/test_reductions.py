"""B23, B26, B28: reductions and scans of 0-d tensors, variance at its corners and at the ends of the range."""

from math import inf, nan

import numpy as np
import pytest
from checks import FLOATS, LAYOUTS, expect, tensor_of, to_array

import tensorplay as tp
from tensorplay.core import errors

KEEP_VALUE = (
    "sum",
    "prod",
    "mean",
    "amax",
    "amin",
    "logsumexp",
    "cumsum",
    "softmax",
    "log_softmax",
)
OF_THREE = dict.fromkeys(KEEP_VALUE, 3.0) | {"softmax": 1.0, "log_softmax": 0.0}


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", KEEP_VALUE)
def test_a_0d_tensor_is_reduced_over_its_only_place(run, name, dtype, dim):
    expect(run(lambda x: getattr(x, name)(dim))(tensor_of(3.0, dtype)), OF_THREE[name], dtype)


@pytest.mark.parametrize("dim", [0, -1])
def test_a_0d_tensor_counts_and_finds_its_only_place(run, dim):
    x = tensor_of(3.0)
    for name in ("argmax", "argmin"):
        expect(run(lambda x, name=name: getattr(x, name)(dim))(x), 0, "int64")
    for name in ("any", "all"):
        expect(run(lambda x, name=name: getattr(x, name)(dim))(x), True, "bool")
    values, indices = run(lambda x: x.max(dim))(x)
    expect(values, 3.0, "float32")
    expect(indices, 0, "int64")
    expect(run(lambda x: x.max())(x), 3.0, "float32")
    expect(run(lambda x: x.var(dim))(x), nan, "float32")
    with pytest.raises(IndexError):
        run(lambda x: x.sum(1))(x)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "cumsum"])
def test_reductions_after_pointwise_work_on_a_0d_tensor(run, name):
    expect(run(lambda x: getattr(x * 2 + 1, name)(0) - 1)(tensor_of(1.0)), 2.0, "float32")


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_integer_scans_and_sums_of_a_0d_tensor(run, dtype):
    expect(run(lambda x: x.cumsum(0))(tensor_of(3, dtype)), 3, "int64")
    expect(run(lambda x: x.sum(0))(tensor_of(3, dtype)), 3, "int64")
    expect(run(lambda x: x.amax(0))(tensor_of(3, dtype)), 3, dtype)


def test_reductions_of_nothing(run):
    x = tensor_of(np.zeros((0, 3)))
    expect(run(lambda x: x.sum(0))(x), [0.0] * 3, "float32")
    expect(run(lambda x: x.prod(0))(x), [1.0] * 3, "float32")
    expect(run(lambda x: x.mean(0))(x), [nan] * 3, "float32")
    expect(run(lambda x: x.logsumexp(0))(x), [-inf] * 3, "float32")
    expect(run(lambda x: x.any(0))(x), [False] * 3, "bool")
    expect(run(lambda x: x.all(0))(x), [True] * 3, "bool")
    expect(run(lambda x: x.sum(1))(x), [], "float32")
    expect(run(lambda x: x.cumsum(0))(x), np.zeros((0, 3)), "float32")
    expect(run(lambda x: tp.softmax(x, 0))(x), np.zeros((0, 3)), "float32")
    for refused in ("amax", "amin", "argmax", "argmin"):
        with pytest.raises(errors.TensorPlayError, match=refused):
            run(lambda x, refused=refused: getattr(x, refused)(0))(x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_variance_with_too_few_degrees_of_freedom(run, dtype):
    x = tensor_of([2.5], dtype)
    expect(run(lambda x: x.var(0))(x), nan, dtype)
    expect(run(lambda x: x.var(correction=0))(x), 0.0, dtype)
    expect(run(lambda x: x.var(correction=3))(x), nan, dtype)
    expect(run(lambda x: x.std(0))(x), nan, dtype)
    two = tensor_of([1.0, 3.0], dtype)
    expect(run(lambda x: x.var(correction=2))(two), inf, dtype)
    expect(run(lambda x: x.var(correction=3))(two), inf, dtype)
    expect(run(lambda x: x.var(correction=1))(two), 2.0, dtype)
    expect(run(lambda x: x.var(correction=0))(two), 1.0, dtype)
    expect(run(lambda x: x.var(0))(tensor_of([], dtype)), nan, dtype)
    expect(run(lambda x: x.var())(tensor_of(2.5, dtype)), nan, dtype)
    expect(run(lambda x: x.var(correction=0))(tensor_of(2.5, dtype)), 0.0, dtype)


def test_variance_that_is_folded_at_compile_time(run):
    def folded(x):
        one = tp.full((1,), 2.5)
        return x + one.var(0), x + one.var(correction=0), x + one.var(correction=3)

    first, second, third = run(folded)(tensor_of(0.0))
    expect(first, nan, "float32")
    expect(second, 0.0, "float32")
    expect(third, nan, "float32")


def test_deviation_of_tiny_and_variance_of_huge_numbers(run):
    tiny = tensor_of([1e-25, 2e-25, 4e-25])
    deviation = to_array(run(lambda x: x.std())(tiny))
    assert abs(float(deviation) / 1.52752523e-25 - 1) < 1e-6
    huge = tensor_of([1e25, 2e25, 4e25])
    expect(run(lambda x: x.var())(huge), inf, "float32")
    assert abs(float(run(lambda x: x.std())(huge)) / 1.52752523e25 - 1) < 1e-6


def test_the_gradient_of_a_tiny_deviation_is_not_lost(run):
    x = tensor_of([1e-25, 2e-25, 4e-25]).requires_grad_()
    run(lambda x: x.std())(x).backward()
    values = np.array([1e-25, 2e-25, 4e-25])
    right = (values - values.mean()) / (2 * values.std(ddof=1))
    assert np.allclose(to_array(x.grad), right, rtol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_variance_far_from_zero_in_every_layout(run, layout):
    """E[x^2] - E[x]^2 in float32 would give 0 or worse here."""
    values = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]) + 4096.0
    x = tensor_of(values, "float32", layout)
    for dim in (0, 1, (0, 1)):
        found = to_array(run(lambda x, dim=dim: x.var(dim))(x))
        assert np.allclose(found, values.var(dim, ddof=1), rtol=1e-6)
    kept = run(lambda x: x.var(1, keepdim=True))(x)
    assert tuple(kept.shape) == (2, 1)


def test_variance_keeps_infinity_and_nan_apart(run):
    expect(run(lambda x: x.var())(tensor_of([1.0, inf, 2.0])), nan, "float32")
    expect(run(lambda x: x.var())(tensor_of([1.0, nan, 2.0])), nan, "float32")
    expect(run(lambda x: x.mean())(tensor_of([1.0, inf, 2.0])), inf, "float32")
