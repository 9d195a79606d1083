"""Products through OpenBLAS: shapes, strides, aliases."""

import itertools
import os

import numpy as np
import pytest

from tensorplay import _C

SIZES = [
    (1, 5, 7),
    (7, 5, 1),
    (1, 5, 1),
    (4, 0, 3),
    (0, 3, 2),
    (3, 1, 4),
    (33, 65, 17),
    (1, 300, 513),
    (513, 300, 1),
]
BATCHES = [((), ()), ((3,), ()), ((), (2,)), ((2, 1), (3,)), ((2, 3), (2, 3)), ((0,), ())]


def make(shape, dtype, kind, rng):
    match kind:
        case "contiguous":
            array = rng.standard_normal(shape)
        case "transposed":
            array = rng.standard_normal((*shape[:-2], shape[-1], shape[-2])).swapaxes(-1, -2)
        case "strided":
            array = rng.standard_normal((*shape[:-1], 2 * shape[-1]))[..., ::2]
        case "negative":
            array = rng.standard_normal(shape)[..., ::-1, :]
        case "broadcast":
            return np.broadcast_to(rng.standard_normal(shape[-1:]).astype(dtype), shape)
        case "unaligned":
            raw = np.empty(int(np.prod(shape)) * np.dtype(dtype).itemsize + 1, np.uint8)[1:]
            array = raw.view(dtype).reshape(shape)
            array[...] = rng.standard_normal(shape)
            return array
    return (
        array.astype(dtype, order="K")
        if kind != "negative"
        else array.astype(dtype)[..., ::-1, :][..., ::-1, :]
    )


KINDS = ["contiguous", "transposed", "strided", "negative", "broadcast", "unaligned"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("batch_a", "batch_b"), BATCHES)
def test_all_layouts(dtype, batch_a, batch_b):
    rng = np.random.default_rng(0)
    for (m, k, n), (kind_a, kind_b) in itertools.product(SIZES, itertools.product(KINDS, repeat=2)):
        a, b = (
            make((*batch_a, m, k), dtype, kind_a, rng),
            make((*batch_b, k, n), dtype, kind_b, rng),
        )
        want = a.astype(np.float64) @ b.astype(np.float64)
        bound = 2 * k * np.finfo(dtype).eps * (abs(a).astype(float) @ abs(b).astype(float)) + 1e-300
        found = _C.matmul(a, b)
        assert (found.shape, found.dtype) == (want.shape, dtype)
        assert (abs(found - want) <= bound).all()
        out = make(want.shape, dtype, "transposed" if kind_a == "contiguous" else "strided", rng)
        assert _C.matmul(a, b, out) is out
        assert (abs(out - want) <= bound).all()


@pytest.mark.parametrize("threads_used", [1, 2, 3, 8])
def test_cuts(threads_used, threads):
    threads(threads_used)
    rng = np.random.default_rng(0)
    for m, k, n, batch in [
        (512, 200, 512, ()),
        (3000, 20, 20, ()),
        (20, 20, 3000, ()),
        (1, 900, 900, ()),
        (900, 900, 1, ()),
        (64, 64, 64, (37,)),
        (100, 90, 80, (3,)),
    ]:
        a, b = rng.standard_normal((*batch, m, k)), rng.standard_normal((*batch, k, n))
        first = _C.matmul(a, b)
        assert np.allclose(first, a @ b, 1e-12, 1e-12 * k)
        assert (_C.matmul(a, b) == first).all()  # the same bits at each call


def test_no_sum_is_zero_and_old_contents_do_not_matter():
    out = np.full((2, 3), np.nan)
    assert (_C.matmul(np.ones((2, 0)), np.ones((0, 3)), out) == 0).all()
    out[...] = np.inf
    assert (_C.matmul(np.ones((2, 4)), np.ones((4, 3)), out) == 4).all()
    vector = np.full((300, 1), np.nan)
    assert (_C.matmul(np.ones((300, 400)), np.ones((400, 1)), vector) == 400).all()


def test_special_values():
    a = np.array([[np.inf, 0.0], [np.nan, 1.0]])
    with np.errstate(invalid="ignore"):
        assert np.array_equal(
            _C.matmul(a, np.eye(2)), [[np.inf, np.nan], [np.nan, np.nan]], equal_nan=True
        )


def test_outputs_that_overlap_inputs():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 50, 50))
    want = a @ b
    for out in (a, a.T, a[::-1]):
        mine = a.copy()
        target = {id(a): mine, id(out): mine.T if out.flags.f_contiguous else mine[::-1]}[id(out)]
        _C.matmul(mine, b, target)
        assert np.allclose(target, want)


def test_other_dtypes():
    assert _C.matmul(np.arange(4).reshape(2, 2), np.arange(4).reshape(2, 2)).tolist() == [
        [2, 3],
        [6, 11],
    ]
    assert (
        _C.matmul(np.ones((2, 2), np.complex64), np.ones((2, 2), np.complex64)).dtype
        == np.complex64
    )
    assert _C.matmul(np.ones((2, 2), ">f8"), np.ones((2, 2))).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (4, 2)), ((2, 2, 3), (3, 3, 2)), ((3,), (3, 3)), ((3, 3), (3,))]
)
def test_shapes_that_do_not_fit(a, b):
    with pytest.raises(ValueError, match="matmul"):
        _C.matmul(np.ones(a), np.ones(b))


def test_a_wrong_out():
    with pytest.raises(ValueError, match="result's shape"):
        _C.matmul(np.ones((2, 3)), np.ones((3, 2)), np.ones((3, 2)))
    read_only = np.ones((2, 2))
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        _C.matmul(np.ones((2, 3)), np.ones((3, 2)), read_only)
    with pytest.raises(TypeError, match="NumPy arrays"):
        _C.matmul([[1]], np.ones((1, 1)))


def test_after_fork(threads):
    threads(2)
    a = np.random.default_rng(0).standard_normal((300, 300))
    want = _C.matmul(a, a)
    child = os.fork()
    if child == 0:
        os._exit(0 if (_C.matmul(a, a) == want).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_openblas_keeps_its_threads():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def counts():
        return [
            each["num_threads"]
            for each in threadpoolctl.threadpool_info()
            if "openblas" in each["filepath"]
        ]

    before = counts()
    _C.matmul(np.ones((200, 200)), np.ones((200, 200)))
    assert counts() == before
