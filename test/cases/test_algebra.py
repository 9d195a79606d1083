"""B07, B10, B12: no rewrite that is exact over the reals only."""

from math import inf, nan

import pytest
from checks import FLOATS, LAYOUTS, expect, tensor_of

import tensorplay as tp


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_adding_zero_turns_minus_zero_into_zero(run, dtype, layout):
    x = tensor_of([-0.25, -0.75], dtype, layout)

    def f(x):
        zeros = (tp.zeros_like(x), 0.0, 0)
        return (*(1 / (tp.ceil(x) + zero) for zero in zeros), 1 / (0.0 + tp.ceil(x)))

    for result in run(f)(x):
        expect(result, [inf, inf], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_exact_keeps_minus_zero(run, dtype):
    x = tensor_of([-0.0, 0.0], dtype)
    for result in run(lambda x: (x - 0.0, x * 1, x + (-0.0), x / 1.0))(x):
        expect(result, [-0.0, 0.0], dtype)


def test_signs_of_zero_through_sums_products_and_functions(run):
    x, y = tensor_of([-0.0, -0.0, 0.0]), tensor_of([-0.0, 0.0, -1.0])

    def f(x, y):
        return x + y, x - y, x * y, -x, tp.abs(x), tp.sqrt(x), tp.tanh(x)

    right = (
        [-0.0, 0.0, -1.0],
        [0.0, -0.0, 1.0],
        [0.0, -0.0, -0.0],
        [0.0, 0.0, -0.0],
        [0.0, 0.0, 0.0],
        [-0.0, -0.0, 0.0],
        [-0.0, -0.0, 0.0],
    )
    for result, values in zip(run(f)(x, y), right, strict=True):
        expect(result, values, "float32")
    rounded = run(tp.round)(tensor_of([-0.4, 0.4, -0.5, 0.5, 1.5, 2.5]))
    expect(rounded, [-0.0, 0.0, -0.0, 0.0, 2.0, 2.0], "float32")
    expect(run(lambda x: x.sum())(tensor_of([])), 0.0, "float32")


@pytest.mark.parametrize("dtype", FLOATS)
def test_zero_times_infinity_or_nan_is_nan(run, dtype):
    x, y = tensor_of([5.0, 5.0], dtype), tensor_of([inf, nan], dtype)
    expect(run(lambda x, y: x + y * 0.0)(x, y), [nan, nan], dtype)
    first, second = run(lambda x, y: (x + y * 0.0, y + 1))(x, y)
    expect(first, [nan, nan], dtype)
    expect(second, [inf, nan], dtype)
    expect(run(lambda x, y: (x + 0 * y).sum())(x, y), nan, dtype)
    expect(run(lambda x, y: x + tp.zeros_like(y) * y)(x, y), [nan, nan], dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_difference_of_equal_infinities_is_nan(run, dtype, layout):
    x = tensor_of([1.0, -2.0], dtype, layout)

    def f(x):
        a = x * inf
        return x * inf - x * inf, a - a

    for result in run(f)(x):
        expect(result, [nan, nan], dtype)
    ratio, equal, unequal = run(lambda x, y: (x / x, y == y, y != y))(
        tensor_of([0.0, inf, 2.0], dtype, layout), tensor_of([nan, 1.0], dtype, layout)
    )
    expect(ratio, [nan, nan, 1.0], dtype)
    expect(equal, [False, True], "bool")
    expect(unequal, [True, False], "bool")


def test_division_by_a_number_is_no_multiplication_by_its_inverse(run):
    """5 / 3 and 5 * (1/3) differ in float32; so do 65 of the first 200 integers."""
    values = [float(i) for i in range(200)]
    right = tensor_of(values).numpy() / tensor_of([3.0]).numpy()
    expect(run(lambda x: x / 3)(tensor_of(values)), right, "float32")


def test_sums_are_not_reassociated_in_pointwise_code(run):
    x = tensor_of([1.0])
    expect(run(lambda x: (x + 1e8) - 1e8)(x), [0.0], "float32")
    expect(run(lambda x: (x + 16777216.0) + 1.0 + 1.0)(x), [16777216.0], "float32")


def test_a_product_and_a_sum_are_rounded_separately(run):
    """With a fused multiply-add the result would be 2**-24 and not 0."""
    x, y = tensor_of([1.0 + 2.0**-12]), tensor_of([1.0 + 2.0**-11])
    expect(run(lambda x, y: x * x - y)(x, y), [0.0], "float32")


def test_empty_and_0d(run):
    expect(run(lambda x: x + x * 0.0)(tensor_of(inf)), nan, "float32")
    expect(run(lambda x: 1 / (x + 0.0))(tensor_of(-0.0)), inf, "float32")
    expect(run(lambda x: x * inf - x * inf)(tensor_of([])), [], "float32")
