"""Booleans are a type of their own in generated code: every comparison, reduction and mixture of them."""

import numpy as np
import pytest
from checks import assert_same, expect, tensor_of

import tensorplay as tp

BITS = np.random.default_rng(0).random((19, 37)) < 0.5
OTHER = np.random.default_rng(1).random(37) < 0.5


def combined(x, y):
    compared = x == y, x != y, x < y, x <= y, x > y, x >= y
    logical = x & y, x | y, x ^ y, ~x, x.logical_xor(y), x + y, x * y
    return (*compared, *logical, tp.maximum(x, y), tp.minimum(x, y), tp.where(x, y, ~y))


def reduced(x, y):
    whole = x.amax(), x.amin(), x.any(), x.all(), x.sum(), x.argmax(), x.argmin()
    rows = x.amax(-1), x.amin(-1), x.any(-1), x.all(-1), x.prod(-1), x.argmax(-1), x.cumsum(-1)
    columns = x.amax(0), x.amin(0), x.any(0), x.all(0), x.sum(0), x.argmin(0)
    mixed = x == x.amax(-1, keepdim=True), x.any(-1, keepdim=True) < x, y.all() >= x
    return (*whole, *rows, *columns, *mixed)


@pytest.mark.parametrize("function", [combined, reduced])
@pytest.mark.parametrize(
    "x",
    [BITS, BITS[:, :1], BITS[0], BITS.T[:, :3].T, np.ones((3, 37), bool), np.zeros((3, 37), bool)],
)
def test_booleans(function, x):
    x, y = tensor_of(x, "bool"), tensor_of(OTHER, "bool")
    assert_same(tp.compile(function, strict_native=True)(x, y), function(x, y))


def test_sums_at_places(run):
    """Truth values that meet in one place are joined by or."""
    mask = tensor_of([[True, False], [False, False], [True, True]], "bool")
    places = tensor_of([[0, 1], [1, 1], [1, 0]], "int64")

    def f(mask, places):
        base = tp.zeros(2, 2, dtype=tp.bool)
        return base.scatter_add(0, places, mask), base.index_add(0, places[:, 0], mask)

    for found, right in zip(run(f)(mask, places), f(mask, places), strict=True):
        assert_same(found, right)
    expect(f(mask, places)[0], [[True, True], [True, False]], "bool")
