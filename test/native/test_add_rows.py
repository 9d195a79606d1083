"""`add_rows`: the sums of a serial loop, bit for bit, whatever the dtype and the threads."""

import numpy as np
import pytest

from tensorplay import _C
from tensorplay.ops.add_at import add_at

RNG = np.random.default_rng(0)
DTYPES = [
    "float32",
    "float64",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("height", "count", "width"), [(3, 50, 4), (300, 9000, 3), (1, 5, 1), (4, 0, 2), (4, 3, 0)]
)
def test_rows_add_up_in_order(dtype, height, count, width):
    target = (RNG.standard_normal((height, width)) * 100).astype(np.int64).astype(dtype)
    values = (RNG.standard_normal((count, width)) * 1e4).astype(np.int64).astype(dtype)
    rows = RNG.integers(0, height, count)
    want = target.copy()
    for row, value in zip(rows, values, strict=True):
        want[row] += value
    _C.add_rows(target, rows, values)
    assert np.array_equal(target, want)


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_outside_changes_nothing(row):
    target = np.zeros((3, 2))
    with pytest.raises(IndexError, match=f"row {row} of 3"):
        _C.add_rows(target, np.array([0, row]), np.ones((2, 2)))
    assert not target.any()


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros((3, 4))[:, ::2], np.array([0]), np.ones((1, 2))),
        (np.zeros((3, 2)), np.array([0], np.int32), np.ones((1, 2))),
        (np.zeros((3, 2)), np.array([0]), np.ones((1, 2), np.float32)),
        (np.zeros((3, 2), complex), np.array([0]), np.ones((1, 2), complex)),
    ],
)
def test_what_it_does_not_take(arguments):
    with pytest.raises(TypeError, match="add_rows"):
        _C.add_rows(*arguments)


@pytest.mark.parametrize(
    "where",
    [
        (np.array([1, -1, 1]),),
        (slice(None), np.array([[0, 2], [-3, 0]])),
        (np.array([[1], [0]]), np.array([0, 2, 2])),
        (slice(None), slice(None), np.array([0, 1, 1, 0])),
        (np.array([0, 1]), slice(None), np.array([1, 1])),
        (np.array(2),),
        (np.array([], np.int64),),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int16", "float16", "complex64", "bool"])
def test_add_at_is_numpys(where, dtype):
    target = RNG.integers(0, 3, (3, 3, 2)).astype(dtype)
    values = RNG.integers(0, 3, target[where].shape).astype(dtype)
    want = target.copy()
    if dtype == "bool":
        np.logical_or.at(want, where, values)
    else:
        np.add.at(want, where, values)
    add_at(target, where, values)
    assert np.array_equal(target, want)


def test_add_at_names_an_index_outside():
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        add_at(np.zeros((3, 2)), (np.array([0, 3]),), np.ones((2, 2)))
