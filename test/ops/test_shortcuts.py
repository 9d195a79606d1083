"""Composites that have a kernel of their own compute with it what their parts compute."""

import numpy as np
import pytest
from contract import build_call, good_samples, operators

import tensorplay as tp
from tensorplay import _C
from tensorplay.ops.kinds.composite import Composite
from tensorplay.ops.registry import tp as ops

SHORTCUTS = [each for each in operators() if each.shortcut_kernel is not None]
ROWS = ("softmax", "softmax_or_zeros", "log_softmax", "softmax_grad", "log_softmax_grad")
SIZES = (1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 200)
INF, NAN = float("inf"), float("nan")


def assert_same(operator, args, kwargs=None):
    """The shortcut, if it serves, and the parts agree; return whether it serves."""
    values = operator.signature.bind(args, kwargs or {})
    with tp.no_grad():
        parts = operator.kind.decompose(operator, values)
        found = operator(*args, **(kwargs or {}))
    tolerance = {tp.float32: 3e-6, tp.float64: 1e-14}.get(found.dtype, 0)
    wanted = parts.numpy()
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=tolerance * largest)
    assert (found.dtype, found.strides) == (parts.dtype, parts.strides)
    arrays = [each.array if isinstance(each, tp.Tensor) else each for each in values]
    return operator.shortcut_kernel(*arrays) is not None


@pytest.mark.parametrize("operator", SHORTCUTS, ids=lambda each: each.name)
def test_a_shortcut_is_its_parts(operator):
    assert isinstance(operator.kind, Composite)
    serves = [assert_same(operator, *build_call(operator, each)) for each in good_samples(operator)]
    assert any(serves), "no sample takes the shortcut"


@pytest.mark.parametrize("dtype", [tp.float32, tp.float64])
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_any_length(name, dtype):
    operator = getattr(ops, name)
    tp.manual_seed(0)
    for size in SIZES:
        count = 2 if name.endswith("grad") else 1
        assert assert_same(operator, (*(tp.randn(3, size, dtype=dtype) for _ in range(count)), -1))


@pytest.mark.parametrize("name", ["softmax", "softmax_or_zeros", "log_softmax"])
@pytest.mark.parametrize("size", [3, 40])
def test_rows_with_what_is_no_number(name, size):
    rows = np.zeros((5, size), np.float32)
    rows[0], rows[1, 2], rows[2, -1], rows[3, 0], rows[4, 1:] = -INF, -INF, NAN, INF, -INF
    assert assert_same(getattr(ops, name), (tp.from_numpy(rows), 1))


def test_other_layouts_take_the_parts():
    x = tp.randn(4, 6)
    for given, dim in ((x.t(), 1), (x, 0), (x[:, ::2], -1), (x.half(), -1), (x[0, 0], 0)):
        assert not assert_same(ops.softmax, (given, dim))


def test_threads_change_no_bit():
    x = np.random.default_rng(0).standard_normal((300, 97)).astype(np.float32)
    before = _C.get_num_threads()
    try:
        results = []
        for count in (1, 2, 5):
            _C.set_num_threads(count)
            results.append(_C.map_rows("softmax", x))
    finally:
        _C.set_num_threads(before)
    assert all(np.array_equal(results[0], each) for each in results)


def test_every_instruction_set_gives_one_result_a_row():
    x = np.random.default_rng(0).standard_normal((3, 97))
    chosen = _C.elementwise_isa()
    try:
        for isa in ("generic", chosen):
            _C.elementwise_isa(isa)
            assert np.allclose(_C.map_rows("log_softmax", x), np.log(_C.map_rows("softmax", x)))
    finally:
        _C.elementwise_isa(chosen)


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((), TypeError, "name"),
        (("sinh", np.ones(3)), ValueError, "'sinh'"),
        (("softmax", np.ones(3, int)), TypeError, "takes 1 contiguous"),
        (("softmax", np.ones((4, 4)).T[:2]), TypeError, "contiguous"),
        (("softmax_grad", np.ones(3)), TypeError, "takes 2"),
        (("softmax_grad", np.ones(3), np.ones(4)), TypeError, "one shape"),
        (("softmax", np.array(1.0)), TypeError, "contiguous"),
    ],
)
def test_what_is_refused(args, error, message):
    with pytest.raises(error, match=message):
        _C.map_rows(*args)
