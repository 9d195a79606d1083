"""The memory pool and the arrays made from it."""

import os
import threading

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import _C

BIG = (1 << 19,)  # 2 MiB of float32


@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 0, 7), (2, 3, 4), (1000, 3), BIG])
@pytest.mark.parametrize("dtype", [tp.float32, tp.bool, tp.bfloat16, tp.complex128])
def test_empty(shape, dtype):
    array = _C.empty(shape, dtype)
    assert (array.shape, array.dtype) == (shape, dtype.numpy)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    if array.nbytes >= 4096:
        assert array.ctypes.data % 64 == 0
    array[...] = 1
    assert (array == 1).all()


def test_dtypes_by_code_and_by_numpy():
    assert _C.empty((2,), tp.float64.code).dtype == _C.empty([2], np.dtype("f8")).dtype
    with pytest.raises(TypeError, match="expected a TensorPlay dtype"):
        _C.empty((2,), "f8")


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((3, 4), (1, 3)),
        ((3, 4), (0, 1)),
        ((3, 4), (-4, 1)),
        ((2, 2, 2), (7, 20, 1)),
        ((1, 3), (1, 1)),
        ((3, 1), (1, 7)),
        ((), ()),
        ((0, 3), (9, 9)),
    ],
)
def test_empty_strided(shape, strides):
    array = _C.empty_strided(shape, strides, tp.int32)
    assert array.shape == shape
    if array.size:
        assert array.strides == tuple(4 * s for s in strides)
    array[...] = 7
    assert (array == 7).all()


def test_bad_sizes():
    with pytest.raises(ValueError, match="must not be negative"):
        _C.empty((2, -1), tp.float32)
    with pytest.raises(MemoryError, match="2\\^63"):
        _C.empty((2**40, 2**40), tp.float32)
    with pytest.raises(MemoryError):
        _C.empty_strided((2**40, 2), (2**40, 1), tp.float32)
    with pytest.raises(MemoryError, match="cannot allocate"):
        _C.empty((2**45,), tp.float64)
    with pytest.raises(ValueError, match="differ in length"):
        _C.empty_strided((2, 2), (1,), tp.float32)
    with pytest.raises(TypeError, match="sequence of integers"):
        _C.empty(3, tp.float32)
    with pytest.raises(TypeError):
        _C.empty((2.5,), tp.float32)


def test_a_freed_block_is_used_again_and_a_live_one_is_not():
    _C.pool_trim()
    first = _C.empty(BIG, tp.float32)
    place = first.ctypes.data
    view = first[10:]
    del first
    assert _C.empty(BIG, tp.float32).ctypes.data != place
    del view
    hits = _C.pool_stats()["hits"]
    assert _C.empty(BIG, tp.float32).ctypes.data == place
    assert _C.pool_stats()["hits"] > hits


def test_idle_blocks_are_bounded_and_given_back():
    before = _C.pool_stats()["limit"]
    try:
        _C.pool_trim()
        _C.pool_set_limit(5 << 20)
        blocks = [_C.empty(BIG, tp.float32) for _ in range(6)]
        used = _C.pool_stats()["used_bytes"]
        del blocks
        stats = _C.pool_stats()
        assert stats["idle_bytes"] == 4 << 20
        assert stats["used_bytes"] == used - 6 * (2 << 20)
        _C.pool_set_limit(0)
        assert _C.pool_stats()["idle_blocks"] == 0
    finally:
        _C.pool_set_limit(before)


def test_every_size_class_gives_room_enough():
    for bits in range(12, 25):
        for delta in (-1, 0, 1, 1 << (bits - 2)):
            n = (1 << bits) + delta
            array = _C.empty((n,), tp.uint8)
            array[0] = array[-1] = 1
    _C.pool_trim()


def test_threads_allocate_side_by_side():
    wrong = []

    def work(mark):
        for size in (1 << 12, 1 << 16, 1 << 21):
            for _ in range(30):
                array = _C.empty((size,), tp.uint8)
                array[:] = mark
                if not (array == mark).all():
                    wrong.append(size)

    workers = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_the_pool_works_after_fork():
    kept = _C.empty(BIG, tp.float32)
    kept[:] = 1
    _C.empty(BIG, tp.float32)[:] = 2
    child = os.fork()
    if child == 0:
        other = _C.empty(BIG, tp.float32)
        other[:] = 3
        os._exit(0 if (kept == 1).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (kept == 1).all()
