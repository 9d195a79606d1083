"""B06, B24: half precision is rounded after every operator, and an explicit cast is never removed."""

import numpy as np
import pytest
from checks import LAYOUTS, array_of, assert_same, expect, numpy_dtype, tensor_of

import tensorplay as tp

HALVES = ("bfloat16", "float16")


def ties(x):
    y = x / 3
    return (y == y.amax(1, keepdim=True)).sum(1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", HALVES)
def test_every_row_equals_its_own_maximum_somewhere(run, dtype, layout):
    x = tensor_of([[1, 2, 7, 7], [3, 3, 3, 1]], dtype, layout)
    expect(run(ties)(x), [2, 3], "int64")


@pytest.mark.parametrize("dtype", HALVES)
def test_no_numerator_gives_a_row_without_a_maximum(run, dtype):
    x = tensor_of([[n, n / 2, n / 4] for n in range(1, 258)], dtype)
    expect(run(ties)(x), [1] * 257, "int64")


@pytest.mark.parametrize("dtype", HALVES)
def test_the_result_of_each_operator_is_rounded(run, dtype):
    """1 + e - 1 is 0 where e is half an ulp of 1: keeping float32 in between would give e."""
    small = 2.0**-9 if dtype == "bfloat16" else 2.0**-12
    x = tensor_of([small], dtype)
    expect(run(lambda x: x + 1.0 - 1.0)(x), [0.0], dtype)
    expect(run(lambda x: (x * 3.0) / 3.0)(tensor_of([1.0078125], dtype)), [1.0078125], dtype)


def test_float16_overflows_between_two_operators(run):
    x = tensor_of([60000.0, -60000.0], "float16")
    expect(run(lambda x: (x * 2.0) * 0.5)(x), [float("inf"), -float("inf")], "float16")


def test_a_round_trip_through_bfloat16_stays(run):
    x = tensor_of([1.003, 3.14159])
    expect(run(lambda x: x.to(tp.bfloat16).float())(x), [1.0, 3.140625], "float32")
    scaled = run(lambda x: ((x * 1.7).to(tp.bfloat16).float() * 3).sum())(x)
    expect(scaled, 21.140625, "float32")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_casts_there_and_back_in_other_dtypes(run, layout):
    x = tensor_of([[1.9, -1.9, 300.5], [0.1, 7.0, 2049.0]], "float32", layout)
    expect(
        run(lambda x: x.to(tp.float16).float())(x),
        array_of(array_of([[1.9, -1.9, 300.5], [0.1, 7.0, 2049.0]], "float32"), "float16"),
        "float32",
    )
    expect(run(lambda x: x.to(tp.int32).float())(x), [[1, -1, 300], [0, 7, 2049]], "float32")
    expect(run(lambda x: x.to(tp.bool).float())(x), [[1.0] * 3] * 2, "float32")


def test_casts_of_0d_and_empty_tensors(run):
    expect(run(lambda x: x.to(tp.bfloat16).float())(tensor_of(3.14159)), 3.140625, "float32")
    expect(run(lambda x: x.to(tp.bfloat16).float())(tensor_of([])), [], "float32")


def test_a_bfloat16_sum_does_not_stick_at_256(run):
    """Accumulation happens in float32, the result is rounded once."""
    x = tensor_of([1.0] * 1000, "bfloat16")
    expect(run(lambda x: x.sum())(x), 1000.0, "bfloat16")
    assert numpy_dtype("bfloat16").type(1000.0) == 1000.0


def embedded(weight, places):
    return tp.nn.functional.embedding(places, weight).sin()


def gathered(weight, places):
    return weight.gather(0, places) * 1.5


def added(weight, places):
    return weight.index_add(0, places[:, 0], weight[: places.shape[0]]).exp()


def put(weight, places):
    return weight.index_put((places[:, 0],), weight[0], accumulate=True)


def scattered(weight, places):
    return (weight * 2).scatter_add(0, places, weight)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("function", [embedded, gathered, added, put, scattered])
def test_sums_at_equal_places_round_once(run, function, dtype):
    """What meets in one place adds up in float32: forward, and in the gradients of reads."""
    values = np.random.default_rng(0).uniform(-1, 1, (6, 3))
    places = tensor_of(np.array([[0, 2, 2], [2, 2, 2], [0, 2, 1], [2, 0, 2], [5, 2, 2]]), "int64")
    weight = tensor_of(values, dtype).requires_grad_()
    right = function(weight, places)
    found = run(function)(weight, places)
    assert_same(found.detach(), right.detach())
    pull = [tp.autograd.grad(y, weight, tp.ones_like(y))[0] for y in (found, right)]
    assert_same(*pull)
