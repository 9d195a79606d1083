"""Indexing against NumPy over random indices; writes; the errors."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import tensorplay as tp
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DTypeError,
    IndexRangeError,
    ShapeError,
)

SHAPE = (3, 4, 5)


def data():
    return np.arange(60, dtype=np.float32).reshape(SHAPE)


@st.composite
def basic_items(draw, size):
    kind = draw(st.sampled_from(["int", "slice", "all"]))
    if kind == "int":
        return draw(st.integers(-size, size - 1))
    if kind == "all":
        return slice(None)
    bound = st.none() | st.integers(-size - 1, size + 1)
    return slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3)))


@st.composite
def basic_indices(draw):
    items = [draw(basic_items(size)) for size in SHAPE[: draw(st.integers(0, 3))]]
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()):
        items.append(Ellipsis)
    return tuple(items)


@st.composite
def advanced_indices(draw):
    """One or two integer arrays in place of leading dimensions, slices elsewhere."""
    size = draw(st.integers(1, 4))
    items = []
    for dim, length in enumerate(SHAPE[: draw(st.integers(1, 3))]):
        if dim == 0 or draw(st.booleans()):
            items.append(
                np.array(
                    draw(st.lists(st.integers(-length, length - 1), min_size=size, max_size=size))
                )
            )
        else:
            items.append(slice(None))
    return tuple(items)


def as_tensors(index):
    return tuple(tp.from_numpy(item) if isinstance(item, np.ndarray) else item for item in index)


@given(basic_indices(), basic_indices())
def test_basic_indices_are_views(first, second):
    array, tensor = data(), tp.from_numpy(data())
    found = tensor[first]
    assert np.array_equal(found.numpy(), array[first])
    assert found.storage is tensor.storage
    wanted = np.asarray(array[first])
    if found.numel():
        pairs = zip(found.shape, found.stride(), wanted.strides, strict=True)
        assert all(size == 1 or stride * 4 == step for size, stride, step in pairs)
    try:
        wanted = array[first][second]
    except IndexError:
        with pytest.raises(IndexError):
            found[second]
        return
    assert np.array_equal(found[second].numpy(), wanted)


@given(advanced_indices())
def test_advanced_indices_gather(index):
    found = tp.from_numpy(data())[as_tensors(index)]
    assert np.array_equal(found.numpy(), data()[index])
    assert found.is_contiguous()


@given(basic_indices(), st.booleans())
def test_writes_through_basic_indices(index, use_number):
    array, tensor = data(), tp.from_numpy(data())
    value = (
        -1.0
        if use_number
        else np.asarray(-np.arange(array[index].size, dtype=np.float32).reshape(array[index].shape))
    )
    version = tensor._version
    array[index] = value
    tensor[index] = value if use_number else tp.from_numpy(value)
    assert np.array_equal(tensor.numpy(), array)
    assert tensor._version == version + 1


@settings(max_examples=50)
@given(advanced_indices())
def test_writes_through_advanced_indices(index):
    array, tensor = data(), tp.from_numpy(data())
    array[index] = 7
    tensor[as_tensors(index)] = 7
    assert np.array_equal(tensor.numpy(), array)


@given(st.integers(0, 59))
def test_masks(limit):
    array, tensor = data(), tp.from_numpy(data())
    assert np.array_equal(tensor[tensor > limit].numpy(), array[array > limit])
    rows = array[:, :, 0] > limit
    assert np.array_equal(tensor[tp.from_numpy(rows)].numpy(), array[rows])
    tensor[tensor > limit] = 0
    assert np.array_equal(tensor.numpy(), np.where(array > limit, 0, array))


def test_integers_among_arrays_select_as_pytorch_does():
    """NumPy counts the integer as an array and moves the result's dimension to the front; PyTorch selects."""
    x = tp.from_numpy(data())
    assert x[0, None, [1, 2]].shape == (1, 2, 5)
    assert x[:, 0, [1, 2]].shape == (3, 2)
    assert x[[0, 1], :, [0, 1]].shape == (2, 4)


def test_truth_values_add_a_dimension():
    x = tp.from_numpy(data())
    assert x[True].shape == (1, 3, 4, 5)
    assert x[False].shape == (0, 3, 4, 5)
    assert x[tp.tensor(True)].shape == (1, 3, 4, 5)


def test_zero_dimensional_integer_tensors_select():
    x = tp.from_numpy(data())
    assert tp.equal(x[tp.tensor(1)], x[1])
    assert tp.equal(x[np.int64(-1)], x[2])
    assert x[()].shape == SHAPE


def test_values_broadcast_and_convert():
    x = tp.zeros(2, 3, dtype=tp.int32)
    x[0] = tp.tensor([1.7, 2.2, -3.9])
    x[1] = [[4, 5, 6]]
    assert x.tolist() == [[1, 2, -3], [4, 5, 6]]
    x[:, 1] = True
    assert x.tolist() == [[1, 1, -3], [4, 1, 6]]
    with pytest.raises(ShapeError, match="does not fit the indexed shape"):
        x[0] = tp.ones(2)
    with pytest.raises(DTypeError, match="complex"):
        x[0] = 1j


def test_overlapping_reads_and_writes():
    x = tp.arange(6)
    x[1:] = x[:-1].clone()
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    x = tp.tensor([1.0, 3.0])
    x[[1, 1]] += x[[1, 1]]
    assert x.tolist() == [1.0, 6.0]


@pytest.mark.parametrize(
    "index, error, words",
    [
        (3, IndexRangeError, "index 3 is out of bounds for dimension 0 with size 3"),
        ((0, -5), IndexRangeError, "index -5 is out of bounds"),
        ((0, 0, 0, 0), IndexRangeError, "too many indices: 4 for a 3-d tensor"),
        ((..., ...), IndexRangeError, "one ellipsis"),
        (slice(None, None, 0), ArgumentValueError, "must not be 0"),
        ([3], IndexRangeError, "out of bounds for dimension 0"),
        ([0.5], DTypeError, "integers or bools"),
        ("a", ArgumentError, "cannot index with str"),
    ],
)
def test_indices_that_do_not_fit(index, error, words):
    with pytest.raises(error, match=words):
        tp.from_numpy(data())[index]


def test_masks_of_another_shape():
    with pytest.raises(IndexRangeError, match="bool index has shape"):
        tp.ones(3, 4)[tp.tensor([True, False])]
