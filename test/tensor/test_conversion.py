"""To and from Python, NumPy, DLPack, pickle; the same memory where it can be shared."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.core import dtypes
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DataNeededError,
    DTypeError,
    GradientError,
)


@pytest.mark.parametrize(
    "data, dtype",
    [
        (1, tp.int64), (1.5, tp.float32), (True, tp.bool), (1j, tp.complex64), ([], tp.float32),
        ([[1, 2], [3, 4]], tp.int64), ([1, 2.5], tp.float32), ((True, 2), tp.int64),
        (np.float64(2), tp.float64), (np.zeros(2, np.int8), tp.int8), ([2**63], tp.uint64),
    ],
)  # fmt: skip
def test_dtype_of_new_tensors(data, dtype):
    x = tp.tensor(data)
    assert x.dtype is dtype
    assert x.tolist() == np.array(data).tolist()


def test_new_tensors_copy_and_from_numpy_shares():
    array = np.arange(4)
    copied, shared = tp.tensor(array), tp.from_numpy(array)
    array[0] = 9
    assert copied[0].item() == 0
    assert shared[0].item() == 9
    shared.add_(1)
    assert array.tolist() == [10, 2, 3, 4]
    assert shared.numpy() is not None
    assert np.shares_memory(shared.numpy(), array)
    assert tp.as_tensor(array).data_ptr() == shared.data_ptr()
    assert tp.as_tensor(shared) is shared


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "bool", "complex64"])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_dlpack_shares_memory_both_ways(dtype, step):
    array = np.arange(6).astype(dtype)[::step]
    tensor = tp.from_dlpack(array)
    assert tensor.data_ptr() == array.__array_interface__["data"][0]
    back = np.from_dlpack(tensor)
    assert np.shares_memory(back, array)
    assert tensor.__dlpack_device__() == (1, 0)


def test_numpy_functions_take_tensors():
    x = tp.tensor([1.0, 4.0])
    assert np.array_equal(np.sqrt(np.asarray(x)), [1, 2])
    assert np.asarray(x, np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    total = np.ones(2, np.float32) + x
    assert isinstance(total, tp.Tensor)
    assert total.tolist() == [2.0, 5.0]


def test_gradients_stay_behind():
    x = tp.ones(2, requires_grad=True)
    with pytest.raises(GradientError, match="detach"):
        x.numpy()
    with pytest.raises(GradientError, match="detach"):
        np.from_dlpack(x)
    assert np.shares_memory(x.detach().numpy(), x.numpy(force=True))
    with pytest.raises(GradientError, match="floating-point"):
        tp.tensor([1], requires_grad=True)


def test_one_element_as_a_number():
    assert type(tp.tensor([[3]]).item()) is int
    assert type(tp.tensor(2.5, dtype=tp.bfloat16).item()) is float
    assert int(tp.tensor(2.9)) == 2
    assert float(tp.tensor(7)) == 7.0
    assert complex(tp.tensor(1j)) == 1j
    assert [1, 2, 3][tp.tensor(1)] == 2
    assert f"{tp.tensor(1.25):.1f}" == "1.2"
    with pytest.raises(ArgumentValueError, match="one element"):
        tp.ones(2).item()
    with pytest.raises(ArgumentValueError, match="ambiguous"):
        bool(tp.ones(2))
    with pytest.raises(DTypeError, match="integer"):
        [1, 2][tp.tensor(0.5)]


def test_iteration_and_length():
    x = tp.arange(6).reshape(2, 3)
    assert [row.tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    assert len(x) == 2
    assert 4 in x
    assert 9 not in x
    a, b = x
    assert a.storage is b.storage is x.storage
    for function in (len, iter):
        with pytest.raises(ArgumentError, match="0-d"):
            function(tp.tensor(1))


@pytest.mark.parametrize("dtype", dtypes.ALL_DTYPES, ids=lambda each: each.name)
def test_pickle_and_copy(dtype):
    x = tp.tensor([[0, 1], [2, 3]]).to(dtype).t()
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):  # noqa: S301  # our own bytes
        assert y.dtype is dtype
        assert y.tolist() == x.tolist()
    leaf = tp.ones(2, requires_grad=True)
    leaf.grad = tp.zeros(2)
    twin = copy.deepcopy(leaf)
    assert twin.requires_grad
    assert twin.grad.tolist() == [0, 0]
    assert twin.data_ptr() != leaf.data_ptr()
    with pytest.raises(GradientError, match="detach"):
        copy.deepcopy(leaf * 2)


def test_conversions_of_nothing_are_the_tensor_itself():
    x = tp.ones(2)
    assert x.to(tp.float32) is x
    assert x.float() is x
    assert x.to("cpu") is x
    assert x.contiguous() is x
    assert x.to(tp.float32, copy=True) is not x
    assert x.to(tp.ones(1, dtype=tp.int8)).dtype is tp.int8
    assert x.long().type_as(x).dtype is tp.float32


def test_ragged_and_strange_data_are_refused():
    with pytest.raises(ArgumentValueError, match="different lengths"):
        tp.tensor([[1], [2, 3]])
    with pytest.raises(ArgumentError, match="expected numbers"):
        tp.tensor(["a"])
    with pytest.raises(DTypeError, match="byte order"):
        tp.from_numpy(np.arange(3).astype(">i4"))


def test_tensors_without_data():
    x = tp.empty(2, 3, device="meta")
    y = (x + 1).t()
    assert (y.shape, y.stride(), y.device.type) == ((3, 2), (1, 3), "meta")
    assert repr(y) == "tensor(..., size=(3, 2), device='meta')"
    for ask in (y.numpy, y.tolist, y.item, lambda: bool(y.sum() > 0)):
        with pytest.raises(DataNeededError, match="needs the data"):
            ask()


def test_no_warnings_from_special_values():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = tp.tensor([0.0, -1.0, float("inf"), float("nan"), 1e38])
        for function in (tp.log, tp.sqrt, tp.exp, tp.reciprocal, tp.square, tp.abs):
            function(x)
        assert (x / 0 * 0).isnan().all()
        tp.tensor([2**31 - 1], dtype=tp.int32) + 1
        tp.tensor([1], dtype=tp.int32) // 0
    assert np.geterr()["divide"] == "warn"
