"""Printed kernels, run in Triton's interpreter on NumPy memory, against eager execution."""

import numpy as np
import pytest
from stax.triton.programs import execute, meta, print_schedule, printed, record, schedule_for_gpu

import tensorplay as tp

U = 2.0**-24


def example_1_1(x, w):
    return (tp.relu(x + w) * 2).sum(-1)


def softmax(x):
    return tp.softmax(x, -1)


def scaled(x):
    return x / x.sum(-1, keepdim=True)


def two_reductions(x):
    return tp.exp(x).sum(-1), tp.exp(x).amax(-1)


def layer_norm(x, w, b):
    return tp.layer_norm(x, (x.shape[-1],), w, b)


POINTWISE = {
    "6.1": (lambda x, y: x.t() + y, (51, 25), (25, 51)),
    "broadcast": (lambda x, y: x * y + 1, (7, 1, 5), (3, 1)),
    "scalars": (lambda x, y: x + y, (), ()),
    "one element": (lambda x: x + 1, (1, 1)),
    "flip": (lambda x: x.flip(0) - 1, (300,)),
    "roll": (lambda x: x.roll(3, 0) + x, (10, 3)),
    "cat": (lambda x, y: tp.cat([x, y * 2, x]), (3, 5), (4, 5)),
    "tril": (tp.tril, (9, 9)),
    "reshape": (lambda x: x.t().reshape(6, 10) + 1, (12, 5)),
    "relu": (lambda x: tp.relu(x) * 2, (100,)),
    "where": (lambda x: tp.where(x > 0, x, -0.5), (100,)),
    "three dimensions": (lambda x, y: x.permute(2, 0, 1) + y, (9, 10, 11), (11, 9, 10)),
}
ROWS = {
    "1.1": (example_1_1, (64, 128), (64, 128)),
    "7.1": (scaled, (20, 100)),
    "7.2": (two_reductions, (20, 100)),
    "softmax": (softmax, (20, 1000)),
    "layer_norm": (layer_norm, (20, 100), (100,), (100,)),
    "long rows": (lambda x: x.sum(-1), (5, 5000)),
    "columns": (lambda x: x.sum(0), (3000, 10)),
    "all": (lambda x: x.sum(), (300, 100)),
    "6.2": (lambda x: (x * x).sum(-1), (8, 16384)),
    "two dimensions": (lambda x: x.sum((0, 2)), (5, 6, 70)),
    "variance": (lambda x: x.var(-1), (5, 100)),
    "long variance": (lambda x: x.var(-1), (5, 3000)),
    "mean of rows": (lambda x: tp.log_softmax(x, -1).mean(), (13, 10)),
    "extremes": (lambda x: (x.amax(-1), x.amin(0)), (30, 40)),
    "prod": (lambda x: (1 + x / 100).prod(-1), (5, 40)),
    "any, all": (lambda x: ((x > 3).any(-1), (x > -1).all(0)), (30, 40)),
    "chain of rows": (lambda x: (x - x.mean(-1, keepdim=True)).sum(0), (6, 33)),
}


def inputs(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def eager(function, arrays):
    found = function(*map(tp.from_numpy, arrays))
    return [t.numpy() for t in (found if isinstance(found, tuple) else (found,))]


def run(interpreter, function, arrays, **given):
    metas = [meta(*a.shape, dtype=tp.from_numpy(a).dtype) for a in arrays]
    found = printed(function, *metas)
    return execute(interpreter, found.schedule, found.kernels, arrays, **given)


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_programs_have_the_bits_of_eager(interpreter, name):
    function, *shapes = POINTWISE[name]
    arrays = inputs(shapes)
    for found, right in zip(
        run(interpreter, function, arrays), eager(function, arrays), strict=True
    ):
        assert found.dtype == right.dtype
        assert found.strides == right.strides or 1 in right.shape
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_within_the_bound_of_summation(interpreter, name):
    function, *shapes = ROWS[name]
    arrays = inputs(shapes)
    length = max(a.size for a in arrays)
    for found, right in zip(
        run(interpreter, function, arrays), eager(function, arrays), strict=True
    ):
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found, right, rtol=2 * length**0.5 * U, atol=length * U)


@pytest.mark.parametrize("blocks", [{"XBLOCK": 1}, {"XBLOCK": 4}, {"XBLOCK": 64}])
def test_any_size_of_block_gives_the_same(interpreter, blocks):
    arrays = inputs([(33, 70)])
    for function in (softmax, lambda x: tp.exp(x) - x):
        (found,) = run(interpreter, function, arrays, blocks=blocks)
        np.testing.assert_allclose(found, eager(function, arrays)[0], rtol=1e-6)


def test_a_tile_larger_than_the_grid_is_masked(interpreter):
    arrays = inputs([(33, 35), (35, 33)])
    blocks = {"XBLOCK": 16, "YBLOCK": 8}
    function = POINTWISE["6.1"][0]
    (found,) = run(interpreter, function, arrays, blocks=blocks)
    np.testing.assert_array_equal(found, eager(function, arrays)[0])


SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38, 1.5, -2.5, 1e-38],
    np.float32,
)


@pytest.mark.parametrize("length", [12, 11, 4])
def test_special_values_in_reductions(interpreter, length):
    x = np.stack([np.roll(SPECIAL, k)[:length] for k in range(12)])
    for function in (lambda x: (x.amax(-1), x.amin(-1)), lambda x: (x.argmax(-1), x.argmin(-1))):
        for found, right in zip(run(interpreter, function, [x]), eager(function, [x]), strict=True):
            np.testing.assert_array_equal(found, right)


def test_ties_and_infinities_in_argmax(interpreter):
    x = np.array([[1, 2, 2, 1, 2], [-np.inf] * 5, [np.nan, 1, np.nan, 2, 3]], np.float32)
    x = np.concatenate([x, np.full((3, 1500), -np.inf, np.float32)], axis=1)
    for array in (x, x[:, :5].copy()):
        (found,) = run(interpreter, lambda x: x.argmax(-1), [array])
        assert found.tolist() == [1, 0, 0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.bool_])
def test_reductions_of_integers(interpreter, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (7, 50)).astype(dtype) if dtype == np.bool_ else rng.integers(
        np.iinfo(dtype).min, np.iinfo(dtype).max, (7, 50), dtype, endpoint=True
    )  # fmt: skip
    for function in (
        lambda x: x.sum(-1),
        lambda x: x.amax(-1),
        lambda x: x.amin(0),
        lambda x: x.prod(-1),
    ):
        for found, right in zip(run(interpreter, function, [x]), eager(function, [x]), strict=True):
            assert found.dtype == right.dtype
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("dtype", [tp.float16, tp.bfloat16])
def test_half_types_round_after_every_operator(interpreter, dtype):
    x, y = (a.astype(dtype.numpy) for a in inputs([(20, 30), (20, 30)]))

    def function(x, y):
        return (x * y + x) * 3 - y

    (found,) = run(interpreter, function, [x, y])
    (right,) = eager(function, [x, y])
    assert found.dtype == right.dtype
    np.testing.assert_array_equal(found.view(np.uint16), right.view(np.uint16))


def test_an_index_from_memory_is_corrected_and_checked(interpreter):
    """Example 6.3, g1."""
    x = inputs([(128,)])[0]
    index = np.array([0, 127, -1, -128, 5], np.int64)

    def g1(x, index):
        return x[index] * 2

    found = printed(g1, meta(128), meta(5, dtype=tp.int64))
    assert "error_ptr" in found.kernels[0].source
    (result,) = execute(interpreter, found.schedule, found.kernels, [x, index])
    np.testing.assert_array_equal(result, x[index] * 2)
    for outside in (128, -129, 2**40):
        index[3] = outside
        with pytest.raises(IndexError, match="128"):
            execute(interpreter, found.schedule, found.kernels, [x, index])


def test_an_index_from_the_loop_needs_no_check(interpreter):
    """Example 6.3, g2."""

    def g2(x):
        return x[(tp.arange(128) * 3) % 128] * 2

    found = printed(g2, meta(128))
    (kernel,) = found.kernels
    assert "error_ptr" not in kernel.source
    assert "in_ptr0 + (((3*x0) % 128))" in kernel.source
    x = inputs([(128,)])[0]
    (result,) = execute(interpreter, found.schedule, found.kernels, [x])
    np.testing.assert_array_equal(result, x[(np.arange(128) * 3) % 128] * 2)


def test_the_backward_of_example_5_1(interpreter):
    """One kernel recomputes erf from h (Listing 5.4)."""

    def backward(tangent, h):
        return tp.ops.tp.gelu_backward(tangent.expand(32, 64), h)

    graph = record(backward, meta(), meta(32, 64))
    found = print_schedule(schedule_for_gpu(graph))
    (kernel,) = found.kernels
    assert kernel.source.count("libdevice.erf(") == 1
    assert kernel.source.count("tl.load(") == 2
    assert "tl.load(in_ptr0 + (0))" in kernel.source
    tangent, h = np.array(0.7, np.float32), inputs([(32, 64)])[0]
    (result,) = execute(interpreter, found.schedule, found.kernels, [tangent, h])
    right = eager(backward, [tangent, h])[0]
    np.testing.assert_allclose(result, right, rtol=1e-5, atol=1e-7)


def test_scatter_add_adds_every_time(interpreter):
    index = np.array([[0, 0, 1], [2, 0, 1]], np.int64)
    source = inputs([(2, 3)])[0]

    def function(target, index, source):
        return target.scatter_add(0, index, source)

    target = np.ones((3, 3), np.float32)
    metas = [meta(3, 3), meta(2, 3, dtype=tp.int64), meta(2, 3)]
    found = printed(function, *metas)
    (result,) = execute(interpreter, found.schedule, found.kernels, [target, index, source])
    np.testing.assert_allclose(result, eager(function, [target, index, source])[0], rtol=1e-6)


@pytest.mark.parametrize("length", [10, 1000, 3000])
def test_running_sums(interpreter, length):
    x = np.random.default_rng(0).integers(-9, 9, (3, length)).astype(np.float32)
    (found,) = run(interpreter, lambda x: x.cumsum(-1), [x])
    np.testing.assert_array_equal(found, np.cumsum(x, -1))
