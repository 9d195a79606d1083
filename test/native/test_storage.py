"""Storages and the C part of tensors."""

import gc
import weakref

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import _C


def test_arrays_of_one_owner_share_a_storage():
    owner = np.arange(12, dtype=np.float32)
    whole, part, back = _C.wrap(owner), _C.wrap(owner[3:]), _C.wrap(owner.reshape(3, 4).T[::-1])
    assert whole.storage is part.storage is back.storage
    assert whole.storage.owner is owner
    assert _C.wrap(owner.copy()).storage is not whole.storage


def test_a_storage_is_found_again_only_while_it_lives():
    owner = np.arange(4)
    first = _C.wrap(owner)
    first.storage.bump()
    assert _C.wrap(owner[1:]).storage.version == 1
    del first
    gc.collect()
    assert _C.wrap(owner).storage.version == 0


def test_memory_of_other_owners():
    memory = bytearray(16)
    a, b = np.frombuffer(memory, np.float32), np.frombuffer(memoryview(memory)[4:12], np.int32)
    assert _C.wrap(a).storage is not None
    first, second = _C.wrap(a), _C.wrap(b)
    assert first.storage is second.storage
    assert first.storage.owner is memory


def test_many_storages_in_the_table():
    arrays = [np.zeros(1) for _ in range(2000)]
    tensors = [_C.wrap(a) for a in arrays]
    del tensors[::3]
    again = [_C.wrap(a[:]) for a in arrays[1::3]]
    assert all(a.storage is b.storage for a, b in zip(tensors[::2], again, strict=True))


def test_members():
    tensor = _C.wrap(np.zeros((2, 3), np.int64))
    assert type(tensor) is tp.Tensor
    assert (tensor.dtype, tensor.requires_grad, tensor.output_nr) == (tp.int64, False, 0)
    assert tensor.grad is None
    assert tensor.grad_fn is None
    tensor.requires_grad = 1
    assert tensor.requires_grad is True
    with pytest.raises(TypeError, match="array must be a NumPy array"):
        tensor.array = [1]
    with pytest.raises(TypeError, match="storage must be a Storage"):
        tensor.storage = 3
    tensor.array = None
    assert tensor.array is None


def test_a_base_tensor_may_be_subclassed_freely():
    class Mine(_C.TensorBase):
        def __init__(self, a, b=2):
            self.sum = a + b

    mine = Mine(1, b=5)
    assert mine.sum == 6
    assert mine.array is None
    with pytest.raises(AttributeError, match="neither an array nor a meta"):
        _ = mine.shape


def test_cycles_are_collected():
    tensor = _C.wrap(np.zeros(3))
    tensor.grad_fn = [tensor]
    dead = weakref.ref(tensor)
    storage = weakref.ref(tensor.storage)
    del tensor
    gc.collect()
    assert dead() is None
    assert storage() is None


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros(3, ">f4"), TypeError, "byte order"),
        (np.zeros(3, "S4"), TypeError, "cannot hold"),
        (np.zeros(3, "i4,f8")["f1"], ValueError, "no multiple of the item size"),
        ([1, 2], TypeError, "expected a NumPy array, got list"),
    ],
)
def test_arrays_that_cannot_be_tensors(array, error, message):
    with pytest.raises(error, match=message):
        _C.wrap(array)


def test_wrap_view_takes_the_storage_of_its_base():
    base = _C.wrap(np.arange(6.0))
    view = _C.wrap_view(base.array[2:], base)
    assert view.storage is base.storage
    with pytest.raises(TypeError, match="wrap_view"):
        _C.wrap_view(base.array, 3)


def test_a_dtype_has_one_code():
    with pytest.raises(ValueError, match="already"):
        _C.register_dtype(np.dtype(np.float32), object(), 60)
    with pytest.raises(ValueError, match="already"):
        _C.register_dtype(np.dtype(np.void), object(), tp.float32.code)
    with pytest.raises(ValueError, match="code must be in"):
        _C.register_dtype(np.dtype(np.void), object(), 64)


@pytest.mark.parametrize("name", ["longlong", "ulonglong", "long", "intc"])
def test_both_c_names_of_an_integer_are_one_dtype(name):
    array = np.zeros(2, np.dtype(getattr(np, name)))
    assert _C.wrap(array).dtype.itemsize == array.itemsize


def test_view_and_reach():
    array = np.arange(12.0)
    assert _C.view(array, (2, 3), (1, 4), 1).tolist() == [[1, 5, 9], [2, 6, 10]]
    assert _C.view(array[4:], (3,), (-1,), 0).tolist() == [4, 3, 2]
    assert _C.view(array[4:8], (2,), (0,), -4).tolist() == [0, 0]
    assert _C.view(array, (0, 3), (5, 5), 1000).shape == (0, 3)
    assert _C.reach(array[4:8]) == (-4, 7)
    assert _C.reach(array[::-1]) == (-11, 0)
    for shape, strides, offset in [
        ((13,), (1,), 0),
        ((2,), (-1,), 0),
        ((1,), (1,), 12),
        ((3,), (2**62,), 0),
    ]:
        with pytest.raises(ValueError, match="leaves the memory"):
            _C.view(array, shape, strides, offset)
    with pytest.raises(ValueError, match="negative"):
        _C.view(array, (-1,), (1,), 0)
