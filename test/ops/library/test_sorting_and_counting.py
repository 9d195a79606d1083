"""sort, topk, medians, quantiles, searchsorted, isin, bincount, histc and unique against NumPy, NaN and ties included."""

import numpy as np
import pytest
from checks import LAYOUTS, REAL, expect, laid_out, tensor_of, to_array

import tensorplay as tp
from tensorplay.core import errors

RNG = np.random.default_rng(5)
GRID = RNG.permutation(24).reshape(4, 6).astype(np.float32)
HOLES = np.where(RNG.random((5, 7)) < 0.25, np.nan, RNG.normal(size=(5, 7)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REAL)
def test_sort_equals_numpy(dtype, layout):
    x = tensor_of(GRID, dtype, layout)
    values, places = tp.sort(x, 0)
    wide = to_array(x).astype(np.float64)
    expect(places, np.argsort(wide, 0, kind="stable"), "int64")
    expect(values, np.sort(wide, 0), dtype)
    expect(tp.sort(x, 1, descending=True).values, -np.sort(-wide, 1), dtype)


def test_equal_elements_keep_their_order_both_ways_and_nan_is_the_largest():
    x = tp.tensor([1.0, float("nan"), 1.0, -1.0, float("nan")])
    assert tp.argsort(x).tolist() == [3, 0, 2, 1, 4]
    assert tp.argsort(x, descending=True).tolist() == [1, 4, 0, 2, 3]


def test_topk_and_kthvalue_read_the_sorted_row():
    x = laid_out(GRID, "reversed")
    values, places = x.topk(3, 1)
    expect(values, np.sort(GRID, 1)[:, ::-1][:, :3], "float32")
    expect(x.gather(1, places), values.numpy(), "float32")
    expect(x.topk(2, 0, largest=False).values, np.sort(GRID, 0)[:2], "float32")
    expect(x.kthvalue(2, 1).values, np.sort(GRID, 1)[:, 1], "float32")
    assert x.kthvalue(2, 1, keepdim=True).indices.shape == (4, 1)


def test_medians_equal_numpy_lower_medians():
    for data in (GRID, HOLES[:, :5]):
        x = tp.from_numpy(data)
        lower = np.quantile(data, 0.5, axis=1, method="lower")
        found = x.median(1)
        np.testing.assert_array_equal(found.values.numpy(), lower)
        np.testing.assert_array_equal(
            found.values.numpy(), np.take_along_axis(data, found.indices.numpy()[:, None], 1)[:, 0]
        )
        np.testing.assert_array_equal(
            x.nanmedian(0).values.numpy(), np.nanquantile(data, 0.5, axis=0, method="lower")
        )
    assert tp.tensor([4, 1, 3, 2]).median().item() == 2
    assert np.isnan(tp.tensor([float("nan")] * 2).nanmedian().item())


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_equal_numpy(how):
    q = np.array([0.0, 0.21, 0.5, 0.87, 1.0])
    full = GRID.astype(np.float64)
    for name, data in (("quantile", full), ("quantile", HOLES), ("nanquantile", HOLES)):
        numpy_function, ours = getattr(np, name), getattr(tp, name)
        for keep in (True, False):
            found = ours(tp.from_numpy(data), tp.from_numpy(q), 1, keep, interpolation=how)
            right = numpy_function(data, q, axis=1, keepdims=keep, method=how)
            np.testing.assert_allclose(found.numpy(), right, 1e-12)
    found = tp.quantile(tp.from_numpy(full), 0.3, interpolation=how)
    np.testing.assert_allclose(found.numpy(), np.quantile(full, 0.3, method=how), 1e-12)


def test_searchsorted_and_bucketize_equal_numpy():
    keys = np.sort(RNG.integers(0, 9, (3, 5)), 1)
    asked = RNG.integers(-1, 10, (3, 4))
    for right, side in ((False, "left"), (True, "right")):
        rows = [np.searchsorted(a, b, side) for a, b in zip(keys, asked, strict=True)]
        expect(
            tp.searchsorted(tp.from_numpy(keys), tp.from_numpy(asked), right=right), rows, "int64"
        )
        found = tp.bucketize(
            tp.from_numpy(asked), tp.from_numpy(keys[0]), right=right, out_int32=True
        )
        expect(found, np.searchsorted(keys[0], asked, side), "int32")
    mixed = tp.tensor([3, 1, 2])
    assert tp.searchsorted(mixed, 2, sorter=tp.argsort(mixed), side="right").item() == 2
    assert tp.searchsorted(tp.zeros(3, 0), tp.zeros(3, 2)).tolist() == [[0, 0]] * 3
    with pytest.raises(errors.ArgumentValueError, match="contradicts"):
        tp.searchsorted(mixed, 2, side="left", right=True)


@pytest.mark.parametrize("count", [0, 3, 40])
def test_isin_equals_numpy(count):
    a, b = RNG.integers(0, 60, (5, 6)), RNG.integers(0, 60, count)
    expect(tp.isin(tp.from_numpy(a), tp.from_numpy(b)), np.isin(a, b), "bool")
    expect(tp.isin(tp.from_numpy(a), tp.from_numpy(b), invert=True), ~np.isin(a, b), "bool")


def test_bincount_and_histc_equal_numpy():
    x = RNG.integers(0, 7, 30)
    w = RNG.random(30)
    expect(tp.bincount(tp.from_numpy(x)), np.bincount(x), "int64")
    expect(tp.bincount(tp.from_numpy(x), tp.from_numpy(w), 9), np.bincount(x, w, 9), "float64")
    with pytest.raises(errors.ArgumentValueError, match="negative"):
        tp.bincount(tp.tensor([-1]))
    with pytest.raises(errors.DTypeError, match="integers"):
        tp.bincount(tp.tensor([1.0]))
    y = RNG.normal(size=50)
    expect(tp.histc(tp.from_numpy(y), 8), np.histogram(y, 8)[0], "float64")
    expect(tp.histc(tp.from_numpy(y), 5, -1, 1), np.histogram(y, 5, (-1, 1))[0], "float64")
    assert tp.histc(tp.tensor([2.0, 2.0]), 2).tolist() == [0.0, 2.0]
    assert tp.histc(tp.tensor([0.5, float("nan"), 3.0]), 2, 0, 1).tolist() == [0.0, 1.0]


def test_unique_equals_numpy():
    x = RNG.integers(0, 4, (5, 3))
    t = tp.from_numpy(x)
    values, inverse, counts = t.unique(return_inverse=True, return_counts=True)
    right = np.unique(x, return_counts=True)
    expect(values, right[0], "int64")
    expect(counts, right[1], "int64")
    expect(values[inverse], x, "int64")
    rows, places = t.unique(return_inverse=True, dim=0)
    expect(rows, np.unique(x, axis=0), "int64")
    expect(rows[places], x, "int64")
    assert tp.tensor([float("nan"), 1.0, float("nan")]).unique().shape == (3,)


def test_gradients_go_to_the_places_that_were_read():
    x = tp.tensor([3.0, 1.0, 2.0], requires_grad=True)
    weights = tp.tensor([10.0, 20.0, 30.0])
    (grad,) = tp.autograd.grad((tp.sort(x).values * weights).sum(), x)
    assert grad.tolist() == [30.0, 10.0, 20.0]
    (grad,) = tp.autograd.grad(tp.quantile(x, 0.25), x)
    assert grad.tolist() == [0.0, 0.5, 0.5]


def test_compiled_sorting_equals_eager():
    def f(x):
        values, places = tp.topk(x * 2, 2, 1)
        return values, places, tp.median(x, 0).values

    x = tp.from_numpy(GRID)
    for a, b in zip(tp.compile(f, strict_native=True)(x), f(x), strict=True):
        expect(a, b.numpy(), b.dtype.name)
