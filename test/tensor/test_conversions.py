"""asarray and frombuffer: memory is shared where it can be, and copied where it was asked for."""

import array

import numpy as np
import pytest

import tensorplay as tp


@pytest.mark.parametrize(
    "source",
    [
        np.zeros((2, 3)),
        np.zeros((3, 2)).T,
        tp.zeros(2, 3, dtype=tp.float64),
        bytearray(48),
        array.array("i", [0] * 12),
    ],
    ids=["array", "transposed array", "tensor", "bytearray", "another buffer"],
)
def test_memory_is_shared_unless_a_copy_is_asked_for(source):
    shared = tp.asarray(source, dtype=tp.float64)
    copied = tp.asarray(source, dtype=tp.float64, copy=True)
    shared.fill_(1)
    assert tp.asarray(source, dtype=tp.float64, copy=False).sum() == 6
    assert copied.sum() == 0


@pytest.mark.parametrize("source", [[1, 2], 3, (1.0,), np.float32(2)])
def test_what_holds_no_memory_is_copied(source):
    assert tp.equal(tp.asarray(source), tp.tensor(source))
    with pytest.raises(ValueError, match="leave copy=False away"):
        tp.asarray(source, copy=False)


def test_another_dtype_is_a_copy():
    source = np.zeros(2)
    assert tp.asarray(source, dtype=tp.float32).dtype is tp.float32
    with pytest.raises(ValueError, match="becomes"):
        tp.asarray(source, dtype=tp.float32, copy=False)


def test_the_result_is_detached_unless_it_is_to_require_a_gradient():
    x = tp.ones(2, requires_grad=True)
    assert tp.asarray(x * 2, requires_grad=True).grad_fn is not None
    assert tp.asarray(np.ones(2), requires_grad=True).is_leaf
    assert not tp.asarray(x).requires_grad
    assert x.requires_grad


def test_buffers_count_from_an_offset():
    numbers = array.array("i", [1, 2, 3, 4])
    assert tp.frombuffer(numbers, dtype=tp.int32, count=2, offset=4).tolist() == [2, 3]
    tp.frombuffer(numbers, dtype=tp.int32)[0] = 9
    assert numbers[0] == 9


def test_memory_that_only_can_be_read_is_copied():
    tp.frombuffer(b"\x01\x02", dtype=tp.uint8).fill_(0)
    assert tp.frombuffer(b"\x01\x02", dtype=tp.uint8).tolist() == [1, 2]


@pytest.mark.parametrize("options", [{"count": 9}, {"offset": 1}, {"offset": 99}])
def test_buffers_that_are_too_short_are_refused(options):
    with pytest.raises(ValueError, match="frombuffer"):
        tp.frombuffer(bytearray(8), dtype=tp.int32, **options)


def test_what_is_no_buffer_is_refused():
    with pytest.raises(TypeError, match="buffer protocol"):
        tp.frombuffer(3, dtype=tp.int32)
