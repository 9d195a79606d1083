"""_C.merge and its relatives: strided loops that write where they have written before."""

import numpy as np
import pytest

from tensorplay import _C

rng = np.random.default_rng(0)
DTYPES = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8"]


def numbers(shape, dtype):
    return (rng.standard_normal(shape) * 50).astype(dtype)


def windows(x, size, step):
    count = (x.shape[-1] - size) // step + 1
    strides = tuple(s // x.itemsize for s in x.strides)
    return _C.view(x, (*x.shape[:-1], size, count), (*strides, step * strides[-1]), 0)


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "complex64", "complex128", "float16"])
def test_copies_of_any_dtype_and_layout(dtype):
    x = numbers((7, 5, 6), "float64").astype(dtype)
    for view in (x, x.transpose(2, 0, 1), x[::-2, :, ::2], x[:, :1].repeat(1, 1)):
        out = np.empty(view.shape, dtype)
        assert _C.merge("copy", view, out, view.ndim) is out
        np.testing.assert_array_equal(out, view)
    scalar = np.empty((), dtype)
    _C.merge("copy", x[0, 0, 0:1].reshape(()), scalar, 0)
    assert scalar == x[0, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [1, 2, 3])
def test_maxima_and_sums_of_windows(dtype, step):
    x = numbers((3, 40), dtype)
    view = windows(x, 4, step)
    out = view[:, 0].copy()
    target = _C.view(out, view.shape, (out.shape[-1], 0, 1), 0)
    _C.merge("maximum", view, target, 1)
    np.testing.assert_array_equal(out, view.max(1))
    out[...] = 0
    _C.merge("add", view, target, 1)
    right = np.zeros_like(out)
    for k in range(4):
        right += view[:, k]
    np.testing.assert_array_equal(out, right)


def test_sums_into_overlapping_windows_do_not_depend_on_threads():
    grads = numbers((64, 5, 300), "float32")
    found = []
    before = _C.get_num_threads()
    try:
        for threads in (1, 2, 3):
            _C.set_num_threads(threads)
            out = np.zeros((64, 304), np.float32)
            _C.merge("add", grads, windows(out, 5, 1), 1)
            found.append(out)
    finally:
        _C.set_num_threads(before)
    right = np.zeros((64, 304), np.float32)
    for k in range(5):
        right[:, k : k + 300] += grads[:, k]
    for each in found:
        np.testing.assert_array_equal(each, right)


def test_nan_is_the_largest_and_the_first_one_counts():
    x = np.array([[1.0, np.nan, 2.0, np.nan], [3.0, 3.0, 1.0, -np.inf]])
    best, found = np.full(2, -np.inf), np.zeros(2, np.int32)
    points = np.broadcast_to(np.arange(4, dtype=np.int32), (2, 4))
    wide = _C.view(best, (2, 4), (1, 0), 0), _C.view(found, (2, 4), (1, 0), 0)
    _C.merge_numbers(x, points, *wide, 1)
    assert np.isnan(best[0])
    assert found.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [1, 2, 3])
def test_numbers_of_the_first_maxima(dtype, step):
    x = (rng.integers(0, 4, (3, 50))).astype(dtype)
    view = windows(x, 5, step)
    best = np.full((3, view.shape[-1]), 0, dtype)
    found = np.zeros(best.shape, np.int32)
    points = np.broadcast_to(np.arange(5, dtype=np.int32)[:, None], view.shape)
    count = best.shape[-1]
    _C.merge_numbers(
        view, points, _C.view(best, view.shape, (count, 0, 1), 0), _C.view(found, view.shape, (count, 0, 1), 0), 1,
    )  # fmt: skip
    np.testing.assert_array_equal(found, view.argmax(1))
    np.testing.assert_array_equal(best, view.max(1))


def test_values_added_at_places():
    out = np.zeros((2, 6), np.float32)
    places = np.array([[0, 5, 0], [3, 3, 3]])
    values = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    _C.merge_at(values, places, _C.view(out, (2, 3), (6, 0), 0), 6, 1)
    assert out.tolist() == [[4, 0, 0, 0, 0, 2], [0, 0, 0, 15, 0, 0]]
    for outside in (-1, 6):
        places[1, 1] = outside
        with pytest.raises(IndexError, match="outside of the 6 elements"):
            _C.merge_at(values, places, _C.view(out, (2, 3), (6, 0), 0), 6, 1)
    assert out.tolist() == [[4, 0, 0, 0, 0, 2], [0, 0, 0, 15, 0, 0]]


def test_what_does_not_fit_is_refused():
    x = np.zeros((2, 3), np.float32)
    fixed = x.copy()
    fixed.flags.writeable = False
    for error, arguments in (
        (ValueError, ("copy", x, np.zeros((3, 2), np.float32), 1)),
        (ValueError, ("copy", x, fixed, 1)),
        (ValueError, ("copy", x, x.copy(), 3)),
        (ValueError, ("least", x, x.copy(), 1)),
        (TypeError, ("copy", x, np.zeros((2, 3)), 1)),
        (TypeError, ("add", x > 0, x > 0, 1)),
        (TypeError, ("add", [1], x, 1)),
        (TypeError, ("add", x)),
    ):
        with pytest.raises(error):
            _C.merge(*arguments)
    with pytest.raises(TypeError, match="int32"):
        _C.merge_numbers(x, np.zeros((2, 3)), x.copy(), np.zeros((2, 3), np.int32), 1)
    with pytest.raises(TypeError, match="int64"):
        _C.merge_at(x, np.zeros((2, 3), np.int32), x.copy(), 3, 1)
