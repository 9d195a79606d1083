"""cat, stack, gather, scatter, index_select, index_add and cumsum against NumPy, in every layout, with gradients."""

import numpy as np
import pytest
from checks import FLOATS, LAYOUTS, REAL, expect, laid_out, same_bits, tensor_of, to_array

import tensorplay as tp
from tensorplay.core import errors

GRID = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REAL)
def test_cat_and_stack_equal_numpy(dtype, layout):
    a, b = tensor_of(GRID, dtype, layout), tensor_of(GRID[:, :2], dtype)
    arrays = [to_array(t) for t in (a, b)]
    assert same_bits(to_array(tp.cat([a, b, a], 1)), np.concatenate([*arrays, arrays[0]], 1))
    assert same_bits(to_array(tp.stack([a, a], -1)), np.stack([arrays[0]] * 2, -1))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_gather_and_index_select_equal_numpy(index_dtype, layout):
    x = laid_out(GRID, layout)
    places = np.array([[3, 0, 3], [1, 1, 2]])
    index = tensor_of(places, index_dtype)
    expect(x.gather(1, index), np.take_along_axis(GRID[:2], places, 1), "float32")
    expect(x.index_select(-1, index[0]), GRID[:, places[0]], "float32")
    expect(tp.take_along_dim(x, index[:1], 1), np.take_along_axis(GRID, places[:1], 1), "float32")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "uint8"])
def test_scatter_and_scatter_add_equal_a_loop(dtype, layout):
    x = tensor_of(GRID, dtype, layout)
    places = np.array([[0, 2], [1, 1], [2, 3]])
    values = np.array([[10, 20], [30, 40], [50, 60]])
    added, replaced = GRID.astype(np.float64).copy(), GRID.astype(np.float64).copy()
    for i in range(3):
        for j in range(2):
            added[i, places[i, j]] += values[i, j]
            replaced[i, places[i, j]] = values[i, j]
    index, source = tensor_of(places, "int64"), tensor_of(values, dtype)
    expect(x.scatter_add(1, index, source), added, dtype)
    expect(x.scatter(1, index, source), replaced, dtype)
    expect(x, GRID, dtype)


def test_only_the_part_of_src_that_the_index_covers_is_read():
    x = tp.zeros(3)
    expect(
        x.scatter_add(0, tensor_of([1], "int64"), tensor_of([5.0, 7.0])), [0.0, 5.0, 0.0], "float32"
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_cumsum_accumulates_in_the_compute_dtype(dtype):
    x = tensor_of([1.0] * 400, dtype)
    expect(x.cumsum(0), np.arange(1, 401, dtype=np.float64), dtype)


def test_cumsum_of_integers_and_with_a_dtype():
    expect(tensor_of([200, 100, 1], "uint8").cumsum(0), [200, 300, 301], "int64")
    expect(tensor_of([1, 2], "int32").cumsum(0, dtype=tp.float64), [1.0, 3.0], "float64")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_and_second_gradients(layout):
    def leaf(array):
        return laid_out(np.asarray(array, np.float64), layout).requires_grad_()

    x, y = leaf(GRID / 7 - 0.6), leaf(np.cos(GRID))
    index = tensor_of([[0, 2], [1, 1], [2, 0]], "int64")
    rows = tensor_of([2, 0, 2], "int64")
    for function in (
        lambda x, y: tp.cat([x, y.sin(), x], 1),
        lambda x, y: tp.stack([x * y, y], 0),
        lambda x, y: x.gather(1, index) * y.gather(1, index),
        lambda x, y: x.scatter_add(1, index, y),
        lambda x, y: x.scatter_add(1, index, y[:, :2].exp()),
        lambda x, y: x.scatter(1, tensor_of([[0, 2], [1, 3], [2, 0]], "int64"), y[:, :2]),
        lambda x, y: x.index_select(0, rows) * y,
        lambda x, y: x.index_add(0, rows, y, alpha=0.5),
        lambda x, y: (x * y).cumsum(1).sin(),
    ):
        assert tp.autograd.gradcheck(function, (x, y))
        assert tp.autograd.gradgradcheck(function, (x, y))


def test_what_does_not_fit_is_refused():
    x = tp.ones(3, 4)
    index = tensor_of([[0]], "int64")
    with pytest.raises(errors.ShapeError, match="dimensions"):
        x.gather(0, tensor_of([0], "int64"))
    with pytest.raises(errors.ShapeError, match="beyond"):
        x.gather(1, tensor_of([[0]] * 4, "int64"))
    with pytest.raises(errors.DTypeError, match="src"):
        x.scatter(1, index, tensor_of([[1]], "int64"))
    with pytest.raises(errors.ShapeError, match="src"):
        x.scatter_add(1, tensor_of([[0, 1]], "int64"), tp.ones(1, 1))
    with pytest.raises(errors.DimensionError):
        tp.stack([x, x], 3)
