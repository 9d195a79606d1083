"""B14, B16, B18, B21: integer division, overflow, and casts to integers give one documented rule.

Floor division and remainder round towards minus infinity, arithmetic wraps in the dtype of the operator,
a division by zero never ends the process, and floats are truncated and then wrapped, as PyTorch's are.
"""

import numpy as np
import pytest
from checks import INTEGERS, LAYOUTS, SIGNED, UNSIGNED, array_of, expect, tensor_of

import tensorplay as tp

LENGTHS = (0, 1, 3, 8, 33)


def limits(dtype):
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", SIGNED)
def test_the_least_integer_divided_by_minus_one_wraps(run, dtype, length):
    low, _ = limits(dtype)
    a, b = tensor_of([low] * length, dtype), tensor_of([-1] * length, dtype)
    quotients = run(lambda a, b: (a // b, a // -1))(a, b)
    remainders = run(lambda a, b: (a % b, a % -1))(a, b)
    for quotient, remainder in zip(quotients, remainders, strict=True):
        expect(quotient, [low] * length, dtype)
        expect(remainder, [0] * length, dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", SIGNED)
def test_floor_division_rounds_down_for_every_sign(run, dtype, layout):
    a = tensor_of([1, 7, -7, -7, 7, 0], dtype, layout)
    b = tensor_of([-3, -2, 2, -2, 2, -5], dtype, layout)
    quotient, remainder = run(lambda a, b: (a // b, a % b))(a, b)
    expect(quotient, [-1, -4, -4, 3, 3, 0], dtype)
    expect(remainder, [-2, -1, 1, -1, 1, 0], dtype)


@pytest.mark.parametrize("dtype", SIGNED)
def test_floor_division_rounds_down_inside_a_fused_chain(run, dtype):
    def fold(a):
        for divisor in (-3, 2, -2):
            a = a // divisor
        return a + 0, (a * 3) // 2 % 5

    a = np.arange(-100, 100)
    folded = a // -3 // 2 // -2
    first, second = run(fold)(tensor_of(a, dtype))
    expect(first, folded, dtype)
    expect(second, folded * 3 // 2 % 5, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_an_integer_division_by_zero_leaves_the_process_alive(run, dtype):
    """The quotient is unspecified, as it is elsewhere; the divisions beside it are right."""
    a, b = tensor_of([8, 9, 10], dtype), tensor_of([2, 0, 5], dtype)

    def divide(a, b):
        return a // b, a % b

    try:
        quotient, remainder = run(divide)(a, b)
    except (ZeroDivisionError, RuntimeError):
        return
    assert [int(quotient[0]), int(quotient[2])] == [4, 2]
    assert [int(remainder[0]), int(remainder[2])] == [0, 0]


def test_float_floor_division_and_remainder(run):
    a = tensor_of([1.0, 7.0, -7.0, -7.0, 5.5, float("inf")])
    b = tensor_of([-3.0, -2.0, 2.0, -2.0, 0.0, 2.0])
    nan = float("nan")
    expect(run(lambda a, b: a // b)(a, b), [-1.0, -4.0, -4.0, 3.0, float("inf"), nan], "float32")
    expect(run(lambda a, b: a % b)(a, b), [-2.0, -1.0, 1.0, -1.0, nan, nan], "float32")


def test_a_power_wraps_before_the_next_operator(run):
    expect(run(lambda x: tp.cos(x**5))(tensor_of([4], "uint8")), [1.0], "float32")
    expect(
        run(lambda x: (x**5).float())(tensor_of([4, 3, 2], "uint8")), [0.0, 243.0, 32.0], "float32"
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_operator_of_a_chain_wraps(run, dtype, layout):
    low, high = limits(dtype)
    values = [low, low + 1, 0, 1, high - 1, high, 5]
    x = tensor_of(values, dtype, layout)

    def wrapped(function):
        return np.array([function(v) for v in values], dtype=object) % (high - low + 1)

    def right(function):
        bits = wrapped(function)
        return np.where(bits > high, bits - (high - low + 1), bits).astype(dtype)

    chains = (
        lambda v: (v + 1) * 2,
        lambda v: (v - 1) - 1,
        lambda v: v * v,
        lambda v: -v,
        lambda v: v * 3 - v,
    )

    def all_chains(x):  # one function: one compilation
        return tuple(f(x) for f in chains), ((x + 1) // 2).double(), (x + 1) > x

    found, halved, grows = run(all_chains)(x)
    for result, chain in zip(found, chains, strict=True):
        expect(result, right(chain), dtype)
    expect(halved, (right(lambda v: v + 1) // 2).astype("float64"), "float64")
    expect(grows, right(lambda v: v + 1) > np.array(values, dtype), "bool")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_wrap_in_their_own_dtype(run, dtype):
    x = tensor_of([1, 3, 100], dtype)
    right = np.array([1, 3, 100], dtype) << np.array(3, dtype)
    expect(run(lambda x: (x << 3) + 0)(x), right, dtype)
    expect(run(lambda x: (x << 3) >> 3)(x), right >> np.array(3, dtype), dtype)


def test_integer_sums_are_int64(run):
    expect(run(lambda x: x.sum())(tensor_of([200, 100], "uint8")), 300, "int64")
    expect(run(lambda x: x.prod())(tensor_of([2**30, 2**30, 8], "int32")), -(2**63), "int64")
    expect(run(lambda x: x.sum())(tensor_of([True, True, False], "bool")), 2, "int64")
    expect(run(lambda x: x.sum(0))(tensor_of([[]] * 3, "int32")), [], "int64")


@pytest.mark.parametrize("repeats", [1, 5, 16])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_floats_become_uint8_by_truncation_and_wrapping(run, layout, repeats):
    x = tensor_of([-1.0, -1.9, 255.9, 3.7] * repeats, "float32", layout)
    expect(run(lambda x: x.to(tp.uint8))(x), [255, 255, 255, 3] * repeats, "uint8")
    expect(run(lambda x: (x * 1.0).to(tp.uint8) + 1)(x), [0, 0, 0, 4] * repeats, "uint8")


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_floats_in_range_are_truncated_towards_zero(run, dtype, source):
    values = [0.9, 1.5, 2.5, 99.99] + ([-0.9, -1.5, -2.5, -99.99] if dtype in SIGNED else [])
    expect(
        run(lambda x: x.to(getattr(tp, dtype)))(tensor_of(values, source)), np.trunc(values), dtype
    )


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("dtype", UNSIGNED)
def test_negative_floats_wrap_in_unsigned_dtypes(run, dtype, source):
    x = tensor_of([-1.0, -2.5, -0.5] * 7, source)
    right = np.array([-1, -2, 0] * 7).astype(dtype)
    expect(run(lambda x: x.to(getattr(tp, dtype)))(x), right, dtype)


def test_integers_wrap_in_narrower_dtypes(run):
    x = tensor_of([-1, 256, 300, 2**40 + 5], "int64")
    expect(run(lambda x: x.to(tp.uint8))(x), [255, 0, 44, 5], "uint8")
    expect(run(lambda x: x.to(tp.int8))(x), [-1, 0, 44, 5], "int8")
    expect(run(lambda x: x.to(tp.int32))(x), [-1, 256, 300, 5], "int32")
    expect(
        run(lambda x: x.to(tp.bool))(tensor_of([0.0, 0.5, float("nan")])),
        [False, True, True],
        "bool",
    )


def test_0d_integers(run):
    expect(run(lambda a, b: a // b)(tensor_of(-7, "int32"), tensor_of(2, "int32")), -4, "int32")
    expect(run(lambda x: x.to(tp.uint8))(tensor_of(-1.9)), 255, "uint8")
    expect(run(lambda x: tp.cos(x**5))(tensor_of(4, "uint8")), 1.0, "float32")


def test_scalars_are_weak_and_dimensions_win(run):
    x = tensor_of([250], "uint8")
    expect(run(lambda x: x + 10)(x), [4], "uint8")
    expect(run(lambda x: x + 1.5)(x), [251.5], "float32")
    expect(run(lambda x, y: x + y)(x, tensor_of(10, "int64")), [4], "uint8")
    expect(run(lambda x, y: x + y)(x, tensor_of([10], "int64")), [260], "int64")
    expect(run(lambda x: x / 2)(x), [125.0], "float32")
    assert array_of([4], "uint8")[0] == 4
