"""Reductions, scans and searches that threads share out give what one thread gives."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import _C
from tensorplay.ops.shares import WORTH, in_shares


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = _C.get_num_threads()
    _C.set_num_threads(request.param)
    yield request.param
    _C.set_num_threads(before)


SHAPES = [(700, 800), (2, 3, 100_000), (100_000, 3), (1, WORTH + 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_large_reductions(threads, shape, dim, keepdim):
    x = np.random.default_rng(0).integers(-5, 5, shape).astype(np.float32)
    t = tp.from_numpy(x)
    for layout in (t, t.mT):
        array = layout.numpy()
        for name, function in {
            "sum": np.sum,
            "amax": np.max,
            "any": np.any,
            "argmin": np.argmin,
        }.items():
            found = getattr(layout, name)(dim, keepdim=keepdim)
            assert np.array_equal(found.numpy(), function(array, axis=dim, keepdims=keepdim))
            assert found.is_contiguous()
        assert np.array_equal(layout.cumsum(dim).numpy(), np.cumsum(array, axis=dim))
    assert threads == _C.get_num_threads()


def test_ranges_cover_everything_and_errors_come_through(threads):
    seen = np.zeros(1001, int)

    def count(begin, end):
        seen[begin:end] += 1

    in_shares(1001, WORTH, count)
    assert seen.tolist() == [1] * 1001

    def fail(begin, end):
        if end == 1001:
            raise ValueError("the last share")

    with pytest.raises(ValueError, match="the last share"):
        in_shares(1001, WORTH, fail)
