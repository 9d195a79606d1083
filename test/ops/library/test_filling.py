"""A number alone becomes what the result's dtype can hold of it, not what the default dtype can."""

import pytest

import tensorplay as tp


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
    assert tp.full((1,), 300, dtype=tp.uint8).tolist() == [44]
    assert tp.full((1,), 2, dtype=tp.bool).tolist() == [True]
