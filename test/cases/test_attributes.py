"""What a function reads of a tensor by its attributes is the same compiled: nothing passes capture by."""

import numpy as np
import pytest
from checks import assert_same, tensor_of

import tensorplay as tp

UNREADABLE = {"array", "storage", "meta", "grad", "grad_fn", "_view", "_base", "imag"}
PROPERTIES = sorted(
    name
    for name in dir(tp.Tensor)
    if isinstance(getattr(tp.Tensor, name), property) and not name.startswith("__")
)


@pytest.mark.parametrize("name", [name for name in PROPERTIES if name not in UNREADABLE])
def test_properties(run, name):
    x = tensor_of(np.arange(6.0).reshape(2, 3))
    right = getattr(x, name)
    found = run(lambda x: getattr(x, name))(x)
    if isinstance(right, tp.Tensor):
        assert_same(found, right)
    else:
        assert found == right


def test_transposes_of_a_batch(run):
    x = tensor_of(np.arange(24.0).reshape(2, 3, 4))
    reversed_dims, matrices = run(lambda x: (x.T, x.mT * 2))(x)
    assert_same(reversed_dims, x.permute(2, 1, 0))
    assert_same(matrices, x.transpose(1, 2) * 2)


def test_the_conjugate_transpose_conjugates():
    x = tp.from_numpy(np.array([[1 + 2j, 3j], [4, 5 - 1j]]))
    assert np.array_equal(x.H.numpy(), x.numpy().conj().T)
    with pytest.raises(IndexError, match=r"use \.mT"):
        tp.ones(2, 3, 4).H  # the property refuses
