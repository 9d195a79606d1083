"""Special pointwise functions, rot90 and splits, grids, repeats, take, masks and index writes against NumPy."""

import math

import numpy as np
import pytest
from checks import LAYOUTS, expect, laid_out, tensor_of, to_array

import tensorplay as tp
from tensorplay.core import errors

RNG = np.random.default_rng(11)
GRID = np.arange(12, dtype=np.float32).reshape(3, 4)
CUBE = RNG.normal(size=(4, 6, 2))
INF, NAN = math.inf, math.nan


def test_special_functions_equal_numpy():
    a, b = RNG.normal(size=(50,)) * 20, RNG.normal(size=(50,)) * 20
    x, y = tp.from_numpy(a), tp.from_numpy(b)
    for name, args in (
        ("logaddexp", (x, y)), ("logaddexp2", (x, y)), ("sinc", (x,)), ("deg2rad", (x,)), ("rad2deg", (x,)),
        ("heaviside", (x, y)),
    ):  # fmt: skip
        right = getattr(np, name)(*(each.numpy() for each in args))
        np.testing.assert_allclose(getattr(tp, name)(*args).numpy(), right, 1e-12, 1e-14)
    n = np.arange(-25, 25)
    np.testing.assert_array_equal(
        tp.ldexp(x, tp.from_numpy(n)).float().numpy(), np.ldexp(a, n).astype("f4")
    )
    assert tp.float_power(tp.tensor([2, 3]), 0.5).dtype is tp.float64
    np.testing.assert_allclose(
        tp.float_power(2, tp.tensor([2, -1])).numpy(), np.float_power(2, [2, -1]), 1e-15
    )


def test_logaddexp_of_infinities_equals_numpy():
    values = [INF, -INF, NAN, 0.0, 1e30]
    a, b = (each.reshape(-1) for each in np.meshgrid(values, values))
    with np.errstate(invalid="ignore"):
        for name in ("logaddexp", "logaddexp2"):
            found = getattr(tp, name)(tensor_of(a, "float64"), tensor_of(b, "float64"))
            expect(found, getattr(np, name)(a, b), "float64")


def test_xlogy_is_zero_at_zero_unless_the_other_is_nan():
    x, y = tp.tensor([0.0, 0.0, 0.0, 2.0]), tp.tensor([0.0, INF, NAN, 1.0])
    expect(tp.xlogy(x, y), [0.0, 0.0, NAN, 0.0], "float32")
    expect(tp.xlog1py(x, y), [0.0, 0.0, NAN, np.float32(2) * np.log1p(np.float32(1))], "float32")
    z = tp.tensor(0.0, requires_grad=True)
    assert tp.autograd.grad(tp.sinc(z), z)[0].item() == 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_nan_to_num_takes_the_limits_of_the_dtype(dtype):
    x = tensor_of([NAN, INF, -INF, -0.0, 2.0], dtype)
    limit = float(tp.finfo(x.dtype).max)
    expect(x.nan_to_num(), [0.0, limit, -limit, -0.0, 2.0], dtype)
    expect(x.nan_to_num(1.0, 2.0, 3.0), [1.0, 2.0, 3.0, -0.0, 2.0], dtype)


def test_gcd_and_lcm_equal_numpy():
    a, b = RNG.integers(-30, 30, (4, 1)), RNG.integers(-30, 30, 5)
    for name in ("gcd", "lcm"):
        expect(
            getattr(tp, name)(tp.from_numpy(a), tp.from_numpy(b)), getattr(np, name)(a, b), "int64"
        )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("turns", [-3, -2, -1, 0, 1, 2, 3, 4])
def test_rot90_and_flips_equal_numpy(layout, turns):
    x = laid_out(CUBE, layout)
    expect(tp.rot90(x, turns), np.rot90(CUBE, turns), "float64")
    expect(x.rot90(turns, (2, 1)), np.rot90(CUBE, turns, (2, 1)), "float64")
    expect(x.fliplr(), np.fliplr(CUBE), "float64")
    expect(x.flipud(), np.flipud(CUBE), "float64")


@pytest.mark.parametrize("how", [1, 3, 5, [2], [1, 3], [3, 1, -1], [9], []])
def test_splits_equal_numpy_and_share_memory(how):
    x = tp.from_numpy(CUBE)
    for dim in (0, 1, -1):
        parts = tp.tensor_split(x, how, dim)
        right = np.array_split(CUBE, how, dim)
        assert len(parts) == len(right)
        for part, wanted in zip(parts, right, strict=True):
            expect(part, wanted, "float64")
            assert part.storage is x.storage
    for name in ("hsplit", "vsplit", "dsplit"):
        for part, wanted in zip(getattr(x, name)(2), getattr(np, name)(CUBE, 2), strict=True):
            expect(part, wanted, "float64")


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid_equals_numpy(indexing):
    arrays = [np.arange(2), np.arange(3), np.arange(4)]
    found = tp.meshgrid([tp.from_numpy(each) for each in arrays], indexing=indexing)
    for one, right in zip(found, np.meshgrid(*arrays, indexing=indexing), strict=True):
        expect(one, right, "int64")
    rows = tp.cartesian_prod([tp.from_numpy(each) for each in arrays])
    expect(rows, np.stack(np.meshgrid(*arrays, indexing="ij"), -1).reshape(-1, 3), "int64")


def test_repeat_interleave_equals_numpy():
    x = tp.from_numpy(GRID)
    expect(x.repeat_interleave(2), np.repeat(GRID, 2), "float32")
    expect(x.repeat_interleave(3, 1), np.repeat(GRID, 3, 1), "float32")
    counts = np.array([2, 0, 3])
    expect(x.repeat_interleave(tp.from_numpy(counts), 0), np.repeat(GRID, counts, 0), "float32")
    with pytest.raises(errors.ArgumentValueError, match="negative"):
        x.repeat_interleave(tp.tensor([1, -1, 1]), 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_take_and_masks_equal_numpy(layout):
    x = laid_out(GRID, layout)
    places = np.array([[0, -1], [7, 7]])
    expect(x.take(tp.from_numpy(places)), np.take(GRID, places), "float32")
    mask = GRID % 3 == 0
    expect(x.masked_select(tp.from_numpy(mask)), GRID[mask], "float32")
    expect(x.masked_select(tp.from_numpy(mask[0])), GRID[:, mask[0]].reshape(-1), "float32")
    right = GRID.copy()
    right[mask] = 50 + np.arange(mask.sum())
    expect(x.masked_scatter(tp.from_numpy(mask), 50 + tp.arange(9.0)), right, "float32")


def test_masked_select_has_a_gradient():
    x = tp.tensor([1.0, 2.0, 3.0], requires_grad=True)
    found = x.masked_select(tp.tensor([True, False, True]))
    assert tp.autograd.grad((found * found).sum(), x)[0].tolist() == [2.0, 0.0, 6.0]


def test_index_fill_and_index_copy_equal_numpy():
    x, places = tp.from_numpy(GRID), tp.tensor([2, 0])
    right = GRID.copy()
    right[:, [2, 0]] = 7
    expect(x.index_fill(1, places, 7), right, "float32")
    expect(x.index_fill(-1, places, tp.tensor(7.0)), right, "float32")
    source = np.array([[10, 20, 30, 40], [50, 60, 70, 80]], np.float32)
    right = GRID.copy()
    right[[2, 0]] = source
    expect(x.index_copy(0, places, tp.from_numpy(source)), right, "float32")
    changed = x.clone()
    assert changed.index_copy_(0, places, tp.from_numpy(source)) is changed
    expect(changed, right, "float32")
    expect(x, GRID, "float32")


def test_sizes_that_depend_on_data_are_refused_without_data():
    def f(x, mask):
        return x.masked_select(mask) * 2

    x, mask = tp.arange(4.0), tp.tensor([True, False, True, False])
    assert f(x, mask).tolist() == [0.0, 4.0]
    meta = tp.dispatch.tensor_of_meta(mask.tensor_meta)
    for call in (tp.bincount, tp.unique, lambda t: tp.masked_select(x, t)):
        with pytest.raises(errors.DataNeededError, match="depends on data"):
            call(meta)
    assert to_array(x.unique()).tolist() == [0.0, 1.0, 2.0, 3.0]
