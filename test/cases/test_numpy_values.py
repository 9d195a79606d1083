"""NumPy arrays and scalars beside tensors: operands, sizes, indices, eager and compiled."""

import operator

import numpy as np
import pytest
from checks import assert_same, expect, tensor_of

import tensorplay as tp

X = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]])
OPERATORS = ("add", "sub", "mul", "truediv", "eq", "lt", "ge", "floordiv")


@pytest.mark.parametrize("name", OPERATORS)
def test_an_array_on_either_side_is_a_tensor(name):
    """A result that were an array would have lost the gradient; `==` would compare identities."""
    op, array = getattr(operator, name), np.array([2.0, 3.0, 4.0])
    with np.errstate(all="ignore"):
        expect(op(tensor_of(X, "float64"), array), op(X, array), str(op(X, array).dtype))
        expect(op(array, tensor_of(X, "float64")), op(array, X), str(op(array, X).dtype))


def test_gradients_pass_beside_arrays(run):
    x = tensor_of(X, "float64").requires_grad_()
    array = np.array([2.0, 3.0, 4.0])
    run(lambda x: (array * x + array).sum())(x).backward()
    expect(x.grad, np.broadcast_to(array, X.shape), "float64")


def test_an_array_in_place():
    x = tensor_of(X, "float32")
    x += np.ones(3)
    expect(x, X + 1, "float32")


SCALARS = {
    "float64 operand": lambda x: x * np.float64(2.5),
    "infinite float64": lambda x: x + np.float64("-inf"),
    "float32 operand": lambda x: np.float32(0.1) * x,
    "int64 operand": lambda x: x - np.int64(3),
    "bounds": lambda x: x.clamp(np.float64(-0.5), np.int32(1)),
    "sizes": lambda x: tp.zeros(np.int64(2), np.int32(3)) + x.reshape(np.int64(2), -1),
    "dims": lambda x: x.sum(np.int64(1)) + x.amax((np.int8(1),)),
    "indices": lambda x: x[np.int64(1), np.int32(0) : np.uint8(2)],
}


@pytest.mark.parametrize("case", SCALARS)
def test_numpy_scalars_are_numbers(run, case):
    function = SCALARS[case]
    x = tensor_of(X, "float32")
    assert_same(run(function)(x), function(x))


def test_a_mask_that_is_known_needs_no_data(run):
    rows, columns = np.array([False, True]), [True, False, True]
    first, second = run(lambda x: (x[rows], x[:, columns] * 2))(tensor_of(X, "float64"))
    expect(first, X[rows], "float64")
    expect(second, X[:, columns] * 2, "float64")
    with pytest.raises(IndexError, match=r"the bool index has shape \(2,\)"):
        tensor_of(X)[:, rows]
