"""Element programs: any layout, truth values, scratch blocks that are used again, threads, errors."""

import numpy as np
import pytest

from tensorplay import _C
from tensorplay.core import dtypes
from tensorplay.ops import values as ops
from tensorplay.ops.expression import Recorder
from tensorplay.ops.native_code import native_program

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
GELU = (("mul", 0, 0), ("mul", 4, 1), ("add", 5, 2), ("mul", 6, 0), ("tanh", 7), ("where", 8, 8, 3))
RNG = np.random.default_rng(0)


def arrays(dtype, *shapes):
    return [RNG.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("size", [0, 1, 7, 511, 512, 513, 5000, 40_000])
def test_a_program_is_its_functions_one_after_the_other(dtype, size):
    (x,) = arrays(dtype, size)
    program = _C.ElementProgram(dtype, "f", (0.5, 2.0, -1.0), GELU, False)
    t = _C.unary("tanh", (x * x * dtype.type(0.5) + dtype.type(2)) * x)
    assert np.array_equal(program(x), np.where(t != 0, t, dtype.type(-1)))


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("size", [512, 513, 9000])
@pytest.mark.parametrize("place", [0, 1])
def test_one_function_of_a_constant_is_right_behind_the_first_block(dtype, size, place):
    (x,) = arrays(dtype, size)
    program = _C.ElementProgram(dtype, "f", (2.5,), (("hypot", *((0, 1), (1, 0))[place]),), False)
    assert np.array_equal(program(x), _C.binary("hypot", x, np.array(2.5, dtype)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (lambda x: x, lambda x: x.T),
        (lambda x: x.T, lambda x: x.T),
        (lambda x: x[::-1], lambda x: x[:, ::-1]),
        (lambda x: x[:1], lambda x: x[:, :1]),
        (lambda x: x, lambda x: x[0]),
        (lambda x: x, lambda x: x[0, 0, ...]),
        (lambda x: x[::2, ::3], lambda x: x[1::2, 1::3]),
        (lambda x: x[0, 0, ...], lambda x: x[0, 1, ...]),
    ],
)
def test_layouts(a, b):
    (x,) = arrays(F32, (90, 90))
    left, right = a(x), b(x)
    program = _C.ElementProgram(F32, "ff", (2.0,), (("mul", 0, 2), ("sub", 3, 1)), False)
    want = left * np.float32(2) - right
    assert np.array_equal(program(left, right), want)
    out = np.full((*want.shape, 2), 9, np.float32)[..., 1]
    if out.ndim:
        assert program(left, right, out) is out
    assert np.array_equal(program(left, right, out), want)


def test_truth_values_in_and_out():
    x, y = arrays(F32, (33, 70), (70,))
    mask = RNG.random((33, 1)) > 0.5
    pick = _C.ElementProgram(F32, "?ff", (), (("where", 0, 1, 2),), False)
    assert np.array_equal(pick(mask, x, y), np.where(mask, x, y))
    both = _C.ElementProgram(F32, "?ff", (), (("gt", 1, 2), ("logical_and", 3, 0)), True)
    found = both(mask, x, y)
    assert found.dtype == bool
    assert np.array_equal(found, (x > y) & mask)
    assert np.array_equal(both(mask, x.T.copy().T, y), (x > y) & mask)


SPECIAL = np.array([0.0, -0.0, 1, -1, 0.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-45, 3e38], F32)


@pytest.mark.parametrize("name", sorted(set(_C.ELEMENT_FUNCTIONS) - {"where", "truth"}))
def test_every_function_is_the_instruction_of_its_name(name):
    operands = [each.ravel() for each in np.meshgrid(SPECIAL, SPECIAL)][
        : _C.ELEMENT_FUNCTIONS[name]
    ]
    recorder = Recorder()
    values = [recorder.input(each, dtypes.float32) for each in "xy"[: len(operands)]]
    if name.startswith("logical"):
        values = [ops.ne(value, 0.0) for value in values]
        operands = [x != 0 for x in operands]
    native = native_program(recorder.finish(getattr(ops, name)(*values)))
    with np.errstate(all="ignore"):
        want = np.asarray(ops.TABLE[name].array(*operands))
    found = native(*[x.astype(F32) for x in operands])
    assert found.dtype == want.dtype
    assert np.array_equal(found, want, equal_nan=found.dtype == F32)
    if found.dtype == F32:
        numbers = ~np.isnan(want)
        assert np.array_equal(np.signbit(found[numbers]), np.signbit(want[numbers]))


@pytest.mark.parametrize("size", [1, 5, 64, 65, 511, 700, 3136])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_numbers_of_rows_and_channels(dtype, size):
    """One number along a run is right for every piece of the run, and for no other run."""
    x, channel, row, column = arrays(dtype, (3, 4, size), (4, 1), (3, 1, 1), (size,))
    steps = (("mul", 0, 1), ("add", 4, 2), ("sub", 5, 3))
    program = _C.ElementProgram(dtype, "ffff", (), steps, False)
    want = x * channel + row - column
    assert np.array_equal(program(x, channel, row, column), want)
    (before,) = arrays(dtype, (3, 4, 2 * size))
    strided = program(before[..., ::2], channel, row, column)
    assert np.array_equal(strided, before[..., ::2] * channel + row - column)


def test_one_number_of_all_rows_when_a_thread_begins_within_a_row():
    (base,) = arrays(F32, (300, 500))
    x, one = base[:, :491], np.array([[1.5]], F32)
    program = _C.ElementProgram(F32, "ff", (), (("mul", 0, 1), ("add", 2, 0)), False)
    before = _C.get_num_threads()
    try:
        for count in (1, 2, 3, 5):
            _C.set_num_threads(count)
            assert np.array_equal(program(x, one), x * one + x)
    finally:
        _C.set_num_threads(before)


def test_scratch_blocks_are_used_again():
    """A chain of 200 steps, each of which reads the last and the first."""
    (x,) = arrays(F64, 3000)
    steps = [("add", 0, 1), *(("mul" if k % 2 else "add", k + 1, 1) for k in range(1, 200))]
    want = x + 0.75
    for k in range(1, 200):
        want = want * 0.75 if k % 2 else want + 0.75
    assert np.array_equal(_C.ElementProgram(F64, "f", (0.75,), tuple(steps), False)(x), want)


def test_an_output_that_overlaps():
    x = np.arange(2000, dtype=F32)
    program = _C.ElementProgram(F32, "f", (1.0,), (("add", 0, 1), ("mul", 2, 0)), False)
    want = (x + 1) * x
    same, shifted = x.copy(), x.copy()
    assert program(same, same) is same
    assert np.array_equal(same, want)
    program(shifted[:-1], shifted[1:])
    assert np.array_equal(shifted[1:], want[:-1])


def test_threads_change_no_bit():
    x, y = arrays(F32, (300, 301), (301, 300))
    program = _C.ElementProgram(F32, "ff", (), (("mul", 0, 1), ("exp", 2), ("add", 3, 0)), False)
    before = _C.get_num_threads()
    try:
        results = []
        for count in (1, 2, 5):
            _C.set_num_threads(count)
            results.append(program(x, y.T))
    finally:
        _C.set_num_threads(before)
    assert all(np.array_equal(each, results[0]) for each in results)


ADD = (("add", 0, 1),)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: _C.ElementProgram(np.dtype(int), "ff", (), ADD, False), ValueError, "not a float program"),
        (lambda: _C.ElementProgram(F32, "f" * 13, (), ADD, False), ValueError, "too large"),
        (lambda: _C.ElementProgram(F32, "ff", (), (), False), ValueError, "not a float program"),
        (lambda: _C.ElementProgram(F32, "ff", (), (("add", 0),), False), ValueError, "of 1 operands"),
        (lambda: _C.ElementProgram(F32, "ff", (), (("add", 0, 2),), False), ValueError, "after its use"),
        (lambda: _C.ElementProgram(F32, "ff", (), (("add",),), False), TypeError, "a step is a name"),
        (lambda: _C.ElementProgram(F32, "ff", (), ADD, False)(np.ones(2, F32)), TypeError, "2 arrays"),
        (lambda: _C.ElementProgram(F32, "ff", (), ADD, False)(np.ones(2, F32), np.ones(2)), TypeError,
         "expected float32 for operand 1"),
        (lambda: _C.ElementProgram(F32, "ff", (), ADD, False)(np.ones(2, F32), np.ones(3, F32)), ValueError,
         r"shapes \(2,\) and \(3,\) do not broadcast"),
        (lambda: _C.ElementProgram(F32, "ff", (), ADD, False)(*[np.ones((2, 2), F32)] * 2, np.ones(2, F32)),
         ValueError, "result's shape"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_programs_that_are_not_native():
    recorder = Recorder()
    x, n = recorder.input("x", dtypes.float32), recorder.input("n", dtypes.int64)
    assert native_program(recorder.finish(x * ops.to_dtype(n, dtypes.float32))) is None
    recorder = Recorder()
    x = recorder.input("x", dtypes.float32)
    assert native_program(recorder.finish(x)) is None
    assert (
        native_program(
            recorder.finish(ops.to_dtype(ops.to_dtype(x, dtypes.float64), dtypes.float32))
        )
        is None
    )
