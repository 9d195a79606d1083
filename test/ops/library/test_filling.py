"""A number alone becomes what the result's dtype can hold of it, not what the default dtype can."""

import pytest

import tensorplay as tp
from tensorplay.core.errors import NumberRangeError


def made(number, dtype):
    like = tp.zeros(2, dtype=dtype)
    yield tp.full((2,), number, dtype=dtype)
    yield tp.full_like(like, number)
    yield like.clone().fill_(number)
    yield tp.compile(lambda x: tp.full_like(x, number), strict_native=True)(like)


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0.1, tp.float64), (1e300, tp.float64), (2**53 + 1, tp.int64), (-7, tp.int8), (True, tp.bool)],
)
def test_a_number_is_held_as_exactly_as_the_dtype_can(number, dtype):
    for tensor in made(number, dtype):
        assert tensor.dtype is dtype
        assert tensor.tolist() == [number, number]


def test_other_categories_convert_as_tensors_do():
    assert tp.full((1,), 2.7, dtype=tp.int64).tolist() == [2]
    assert tp.full((1,), -1, dtype=tp.uint8).tolist() == [255]  # as in C, and in PyTorch
    assert tp.full((1,), 2, dtype=tp.bool).tolist() == [True]


@pytest.mark.parametrize(
    ("number", "dtype"),
    [
        (300, tp.int8), (-129, tp.int8), (256, tp.uint8), (-256, tp.uint8), (2**63, tp.int64), (2**64, tp.uint64),
        (2**70, tp.int64), (127.5, tp.int8), (float("inf"), tp.int64), (float("nan"), tp.int32),
    ],
)  # fmt: skip
def test_a_number_outside_the_range_of_integers_is_not_written(number, dtype):
    like = tp.zeros(2, dtype=dtype)
    calls = [
        lambda: tp.full((2,), number, dtype=dtype),
        lambda: tp.full_like(like, number),
        lambda: tp.full_like(like.expand(3, 2), number),
        lambda: like.fill_(number),
        lambda: like.masked_fill(like == 0, number),
        lambda: like.__setitem__(0, number),
        lambda: tp.tensor([0, number], dtype=dtype),
        tp.compile(lambda: tp.full((2,), number, dtype=dtype), backend="aot_eager"),
    ]
    for call in calls:
        with pytest.raises(NumberRangeError, match=r"outside the range|at most 64 bits"):
            call()
    assert like.tolist() == [0, 0]


def test_integers_of_more_than_64_bits_are_refused():
    x = tp.ones(2, dtype=tp.int64)
    for call in (lambda: x + 2**70, lambda: x == -(2**70), lambda: tp.tensor(2**70)):
        with pytest.raises(OverflowError):
            call()
    assert tp.tensor([2**70], dtype=tp.float64).tolist() == [2.0**70]
    assert (x.to(tp.float64) + 2**70).tolist() == [2.0**70] * 2
