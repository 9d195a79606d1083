"""`x[mask] = value` without counting: where each true element takes the same value, the shape is known."""

import numpy as np
import pytest
from checks import expect, tensor_of

import tensorplay as tp

GRID = np.arange(12.0).reshape(3, 4)
ROWS = np.array([True, False, True])


def written(mask, value):
    right = GRID.copy()
    right[mask] = value
    return right


@pytest.mark.parametrize("value", [7.0, np.float64(2.0), [1.0, 2.0, 3.0, 4.0], [5.0]])
def test_a_mask_of_the_leading_dimensions(run, value):
    def f(x, rows, value):
        y = x.clone()
        y[rows] = value
        return y

    value = value if isinstance(value, float) else tensor_of(value, "float64")
    found = run(f)(tensor_of(GRID, "float64"), tensor_of(ROWS, "bool"), value)
    expect(found, written(ROWS, np.asarray(value)), "float64")


def test_a_mask_of_the_whole_with_its_gradients(run):
    def f(x, value):
        y = x * 1
        y[x > 5] = value
        return y

    x = tensor_of(GRID, "float64").requires_grad_()
    value = tensor_of(-1.0, "float64").requires_grad_()
    found = run(f)(x, value)
    expect(found, written(GRID > 5, -1.0), "float64")
    found.sum().backward()
    expect(x.grad, (GRID <= 5).astype(float), "float64")
    expect(value.grad, 6.0, "float64")


def test_what_is_written_must_fit(run):
    def f(x, rows):
        x[rows] = tp.ones(3)
        return x

    with pytest.raises(ValueError, match=r"a value of shape \(3,\) does not fit"):
        run(f)(tensor_of(GRID, "float32"), tensor_of(ROWS, "bool"))


def test_a_mask_of_no_dimension(run):
    def f(x, mask):
        y = x.clone()
        y[mask] = 5.0
        x[~mask] = 7.0
        return y

    x = tensor_of(1.5, "float64")
    expect(run(f)(x, tensor_of(True, "bool")), 5.0, "float64")
    expect(x, 1.5, "float64")
