"""The table of scalar instructions: dtype rules, derivatives, intervals, corner values."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from contract import ArrayHandler
from hypothesis import given

import tensorplay as tp
from tensorplay.core import dtypes
from tensorplay.core.errors import DTypeError, NotDifferentiableError
from tensorplay.ops import values as ops
from tensorplay.ops.expression import Recorder, differentiate, replay
from tensorplay.ops.instructions import dtype_range, propagate
from tensorplay.ops.values import TABLE, Undefined

INF, NAN = math.inf, math.nan
HANDLER = ArrayHandler()


def value(data, dtype=tp.float64):
    return HANDLER.of(np.atleast_1d(np.asarray(data)).astype(dtype.numpy))


def test_every_instruction_has_a_function():
    for name, record in TABLE.items():
        assert callable(getattr(ops, name)), name
        assert record.doc
        assert record.cost > 0
        for place in range(record.arity):
            assert f"{{{place}}}" in record.cpp
            assert record.triton is None or f"{{{place}}}" in record.triton


DOMAIN = {"acosh": (1.2, 3.0), "log1p": (-0.5, 2.0), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atanh": (-0.9, 0.9),
          "erfinv": (-0.9, 0.9), "tan": (-1.2, 1.2), "ndtri": (0.1, 0.9)}  # fmt: skip
POSITIVE = {
    "log",
    "log2",
    "log10",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "pow",
    "truediv",
    "hypot",
    "remainder",
    "fmod",
    *(
        "lgamma",
        "digamma",
        "polygamma",
        "zeta",
        "igamma",
        "igammac",
        "y0",
        "y1",
        "k0",
        "k1",
        "k0e",
        "k1e",
    ),
}
WHOLE = {"polygamma": 0, "hermite_h": 1, "hermite_he": 1}
"""Instructions that take a whole number, and which operand it is."""
DIFFERENTIABLE = sorted(
    name
    for name, record in TABLE.items()
    if record.partials is not None and name not in {"where", "copysign"}
)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_partials_are_the_slopes(name):
    record = TABLE[name]
    low, high = DOMAIN.get(name, (0.3, 2.0) if name in POSITIVE else (-2.0, 2.0))
    rng = np.random.default_rng(4)
    points = [rng.uniform(low, high, 50) for _ in range(record.arity)]
    if name in {"remainder", "fmod"}:
        points[0], points[1] = points[0] + 0.37, np.full(50, 0.9)
    if name in WHOLE:
        points[WHOLE[name]] = rng.integers(1, 5, 50).astype(float)
    if name == "zeta":
        points[0] = points[0] + 1
    recorder = Recorder()
    inputs = [recorder.input(f"x{i}", tp.float64) for i in range(record.arity)]
    program = recorder.finish(recorder.apply(record, inputs, {}))

    def evaluate(program, at, **more):
        known = {f"x{i}": value(x) for i, x in enumerate(at)} | {
            k: value(v) for k, v in more.items()
        }
        return replay(program, HANDLER, known).data

    partials = record.partials(inputs[0], inputs[0], *inputs)
    for i, part in enumerate(partials):
        if isinstance(part, Undefined):
            with pytest.raises(NotDifferentiableError, match=part.reason):
                differentiate(program, f"x{i}")
            continue
        derivative = differentiate(program, f"x{i}")
        step = 1e-6
        moved = [
            [x + sign * step if k == i else x for k, x in enumerate(points)] for sign in (1, -1)
        ]
        wanted = (evaluate(program, moved[0]) - evaluate(program, moved[1])) / (2 * step)
        if derivative is None:
            assert part is None
            assert np.allclose(wanted, 0, atol=1e-6)
            continue
        found = evaluate(derivative, points, grad=np.ones(50), result=evaluate(program, points))
        smooth = np.abs(wanted) < 1e4  # steps over a jump of remainder say nothing
        assert np.allclose(
            np.broadcast_to(found, (50,))[smooth], wanted[smooth], rtol=1e-6, atol=1e-6
        )


INTEGERS = st.integers(-(2**62), 2**62)
SMALL = st.integers(-40, 40)
WITH_INTERVAL = sorted(
    name
    for name, record in TABLE.items()
    if record.interval is not None
    and name
    in {
        "add",
        "sub",
        "mul",
        "neg",
        "abs",
        "square",
        "maximum",
        "minimum",
        "relu",
        "floordiv",
        "remainder",
        "sign",
    }
)


@pytest.mark.parametrize("name", WITH_INTERVAL)
@given(data=st.data())
def test_intervals_contain_every_result(name, data):
    """Proposition 6.4, on int64 with wrapping."""
    record = TABLE[name]
    numbers = data.draw(st.sampled_from([SMALL, INTEGERS]))
    operands, intervals = [], []
    for _ in range(record.arity):
        x, a, b = (data.draw(numbers) for _ in range(3))
        operands.append(x)
        intervals.append((min(x, a, b), max(x, a, b)))
    low, high = propagate(record, tp.int64, intervals)
    handler_values = [value([x], tp.int64) for x in operands]
    with np.errstate(all="ignore"):
        found = int(HANDLER.apply(record, handler_values, {}).data[0])
    assert low <= found <= high


def test_intervals_widen_where_the_dtype_wraps():
    add = TABLE["add"]
    assert propagate(add, tp.int8, [(0, 100), (0, 27)]) == (0, 127)
    assert propagate(add, tp.int8, [(0, 100), (0, 28)]) == (-128, 127)
    assert propagate(TABLE["remainder"], tp.int64, [(-(2**40), 2**40), (128, 128)]) == (0, 127)
    assert propagate(TABLE["lshift"], tp.uint8, [(0, 1), (0, 1)]) == dtype_range(tp.uint8)
    assert dtype_range(tp.bool) == (0, 1)


@pytest.mark.parametrize(
    "name, dtypes_given",
    [
        ("add", (tp.float32, tp.float64)), ("add", (tp.bool, tp.bool)), ("truediv", (tp.int32, tp.int32)),
        ("bitwise_and", (tp.float32, tp.float32)), ("logical_and", (tp.int8, tp.int8)), ("floor", (tp.int32,)),
        ("lt", (tp.complex64, tp.complex64)), ("isnan", (tp.int32,)), ("where", (tp.int8, tp.float32, tp.float32)),
        ("where", (tp.bool, tp.float32, tp.int32)), ("philox", (tp.int32, tp.int64, tp.int64)),
    ],
)  # fmt: skip
def test_operands_of_wrong_dtypes_are_refused(name, dtypes_given):
    recorder = Recorder()
    operands = [recorder.input(f"x{i}", dtype) for i, dtype in enumerate(dtypes_given)]
    with pytest.raises(DTypeError, match=f"ops.{name}: expected"):
        recorder.apply(TABLE[name], operands, {})


def test_a_value_has_no_truth():
    with pytest.raises(DTypeError, match=r"ops\.where"):
        bool(value([1.0]) > 0)
    with pytest.raises(DTypeError, match="at least one Value"):
        ops.add(1, 2)


@pytest.mark.parametrize(
    "source, dtype, wanted",
    [
        (
            [-1.0, -1.9, 255.9, 3.7, 256.0, NAN, INF, -INF, 3e9],
            tp.uint8,
            [255, 255, 255, 3, 0, 0, 0, 0, 0],
        ),
        ([-129.0, 127.9, 128.0, NAN, 3e9], tp.int8, [127, 127, -128, 0, 0]),
        (
            [2.0**31, -(2.0**31), NAN, 2.0**31 - 128],
            tp.int32,
            [-(2**31), -(2**31), -(2**31), 2**31 - 128],
        ),
        ([2.0**63, -(2.0**63), NAN, 2.0**62], tp.int64, [-(2**63), -(2**63), -(2**63), 2**62]),
        ([-1.0, 3e9, 2.0**32, NAN], tp.uint32, [2**32 - 1, 3_000_000_000, 0, 0]),
        ([-1.0, 2.0**63, 2.0**64, 1.5], tp.uint64, [2**64 - 1, 2**63, 2**63, 1]),
        ([0.0, -0.0, NAN, 0.3], tp.bool, [False, False, True, True]),
    ],
)
@pytest.mark.parametrize("floats", [tp.float32, tp.float64], ids=str)
def test_float_to_integer(source, dtype, wanted, floats):
    assert tp.tensor(source, dtype=floats).to(dtype).tolist() == wanted


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda: tp.sign(tp.tensor([NAN, -0.0, -3.0, INF])), [0.0, 0.0, -1.0, 1.0]),
        (lambda: tp.relu(tp.tensor([-INF, INF, -1.0])), [0.0, INF, 0.0]),
        (lambda: tp.tensor([1, 7, -7, -7]) // tp.tensor([-3, -2, 2, -2]), [-1, -4, -4, 3]),
        (lambda: tp.tensor([1, 7, -7, -7]) % tp.tensor([-3, -2, 2, -2]), [-2, -1, 1, -1]),
        (lambda: tp.tensor([5, -5]) // tp.tensor([0, 0]), [0, 0]),
        (lambda: tp.tensor([5, -5]) % tp.tensor([0, 0]), [0, 0]),
        (lambda: tp.tensor([2, -1, 1, 0, 3]) ** tp.tensor([-1, -3, -2, -1, 4]), [0, -1, 1, 0, 81]),
        (lambda: tp.tensor([1, -1]) << tp.tensor([63, 64]), [-(2**63), 0]),
        (lambda: tp.tensor([8, -8]) >> tp.tensor([2, 99]), [2, -1]),
        (lambda: tp.tensor([1]) << tp.tensor([-1]), [0]),
        (lambda: tp.round(tp.tensor([0.5, 1.5, 2.5, -0.5])), [0.0, 2.0, 2.0, -0.0]),
        (lambda: tp.fmax(tp.tensor([NAN, 1.0]), tp.tensor([2.0, NAN])), [2.0, 1.0]),
        (lambda: tp.clamp(tp.tensor([1.0, 5.0]), max=tp.tensor([3.0, 3.0])), [1.0, 3.0]),
        (lambda: tp.tensor([-(2**63)]).abs(), [-(2**63)]),
    ],
)
def test_corner_values(call, wanted):
    assert call().tolist() == wanted


def test_signed_zeros():
    found = tp.tensor([-4.0, 4.0]) % 2.0
    assert np.signbit(found.numpy()).tolist() == [True, False]
    assert np.signbit(tp.relu(tp.tensor([-0.0])).numpy())[0]
    first = tp.maximum(tp.tensor([-0.0, 0.0]), tp.tensor([0.0, -0.0]))
    assert np.signbit(first.numpy()).tolist() == [True, False]


def test_program_text_and_sharing():
    recorder = Recorder()
    x = recorder.input("x", tp.float32)
    program = recorder.finish((x * 2 + 1) * (x * 2 + 1))
    assert program.step_count == 3
    assert "t3 = add(t1, t2)" in program.text()
    assert recorder.apply(TABLE["mul"], [x, recorder.constant(1, tp.float32)], {}).data == x.data
    assert recorder.constant(0.0, tp.float32).data != recorder.constant(-0.0, tp.float32).data


def test_constants_fit_their_dtype():
    recorder = Recorder()
    assert recorder.nodes[recorder.constant(300, tp.uint8).data].number == 44
    assert recorder.nodes[recorder.constant(2**63, tp.int64).data].number == -(2**63)
    assert recorder.nodes[recorder.constant(2, tp.float32).data].number == 2.0
    with pytest.raises(DTypeError, match="complex"):
        recorder.constant(1j, tp.float32)


def test_names_cover_all_dtypes():
    assert {each.name for each in dtypes.ALL_DTYPES} >= {"bool", "bfloat16", "complex128"}


def test_the_default_dtype_is_asked_at_each_call():
    """Plans are kept by what they depend on: integers become the default dtype of now."""
    x = tp.tensor([1, 2])
    for dtype in (tp.float64, tp.float32, tp.float64):
        tp.set_default_dtype(dtype)
        assert {tp.div(x, 2).dtype, tp.exp(x).dtype, (x + 0.5).dtype} == {dtype}
