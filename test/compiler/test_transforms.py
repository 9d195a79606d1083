"""Rewrites of operator graphs: what is folded, what must stay, and that every bit stays."""

import math

import numpy as np
import pytest
from checks import assert_same, tensor_of

import tensorplay as tp
from tensorplay.compiler.aot.trace import InputSpec, trace_function
from tensorplay.compiler.backends.interpreted import interpret
from tensorplay.compiler.phases import OperatorGraph
from tensorplay.compiler.transforms.dead_code import eliminate_dead_code
from tensorplay.compiler.transforms.equal_values import merge_equal_values
from tensorplay.compiler.transforms.fixpoint import measure, transform
from tensorplay.compiler.transforms.simplify import holds_all_values

inf, nan = math.inf, math.nan
SPECIAL = [0.0, -0.0, 1.0, -1.5, inf, -inf, nan, 1e-45, -1e-40, 3.4e38]


def recorded(f, *args):
    """The operator graph of `f`, before any rewrite."""

    def run(_recorder, tensors):
        result = f(*tensors)
        return result if isinstance(result, tuple) else (result,)

    specs = [InputSpec(t.tensor_meta, "x") for t in args]
    return trace_function(run, specs, gradients=False).graph


def calls(f, *args):
    """The operators that are left after all rewrites."""
    graph = recorded(f, *args)
    transform(graph)
    OperatorGraph(graph).graph.verify()
    return [node.target.operator.name for node in graph.nodes if node.op == "call_function"]


def check_bits(f, *args):
    """The rewritten graph gives what eager execution gives."""
    graph = recorded(f, *args)
    transform(graph)
    right = f(*args)
    found = interpret(OperatorGraph(graph))(args)
    assert_same(found, right if isinstance(right, tuple) else (right,))


@pytest.fixture
def x():
    return tensor_of(SPECIAL)


IDENTITIES = {
    "x*1": lambda x: x * 1,
    "1*x": lambda x: 1.0 * x,
    "x*ones": lambda x: x * tp.ones(10),
    "x/1": lambda x: x / 1,
    "x-0": lambda x: x - 0.0,
    "x-int 0": lambda x: x - 0,
    "x+(-0.0)": lambda x: x + (-0.0),
    "(-0.0)+x": lambda x: -0.0 + x,
    "x**1": lambda x: x**1,
    "neg neg": lambda x: tp.neg(tp.neg(x)),
    "clone": lambda x: x.clone(),
    "where same": lambda x: tp.where(x > 0, x, x),
    "max same": lambda x: tp.maximum(x, x),
    "same dtype": lambda x: x.to(tp.float64).to(tp.float32),
    "view": lambda x: x.reshape(10),
    "view of view": lambda x: x.reshape(2, 5).reshape(10),
    "t t": lambda x: x.reshape(2, 5).t().t().reshape(10),
    "expand": lambda x: x.expand(10),
    "permute": lambda x: x.reshape(2, 5).permute(0, 1).reshape(10),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_exact_identities_vanish(x, name):
    f = IDENTITIES[name]
    assert calls(lambda x: tp.sin(f(x)), x) == ["sin"]
    check_bits(lambda x: tp.sin(f(x)), x)
    check_bits(lambda x: f(x) * 3, x)


STAY = {
    "x*0": (lambda x: x * 0.0, ["mul"]),
    "x-x": (lambda x: x - x, ["sub"]),
    "x+0": (lambda x: x + 0.0, ["add"]),
    "0+x": (lambda x: 0.0 + x, ["add"]),
    "x+zeros": (lambda x: x + tp.zeros(10), ["full", "add"]),
    "x-(-0.0)": (lambda x: x - (-0.0), ["sub"]),
    "x/3": (lambda x: x / 3, ["div"]),
    "x/0": (lambda x: x / 0.0, ["div"]),
    "x*-1": (lambda x: x * -1, ["mul"]),
    "(x+1)-1": (lambda x: (x + 1) - 1, ["add", "sub"]),
    "inf-inf": (lambda x: x * inf - x * inf, ["mul", "sub"]),
    "to bf16": (lambda x: x.to(tp.bfloat16).to(tp.float32), ["to_copy", "to_copy"]),
    "to int": (
        lambda x: x.clamp(-9, 9).to(tp.int32).to(tp.float32),
        ["clamp", "to_copy", "to_copy"],
    ),
    "sqrt square": (lambda x: tp.sqrt(x * x), ["mul", "sqrt"]),
    "x*2/2": (lambda x: x * 2 / 2, ["mul", "mul"]),
}


@pytest.mark.parametrize("name", STAY)
def test_inexact_identities_stay(x, name):
    f, left = STAY[name]
    assert calls(f, x) == left
    check_bits(f, x)


def test_division_by_a_power_of_two_is_a_product(x):
    assert calls(lambda x: x / 2, x) == ["mul"]
    assert calls(lambda x: x / -0.25, x) == ["mul"]
    assert calls(lambda x: x / 2.0**127, x) == ["div"]
    assert calls(lambda x: x / 6, x) == ["div"]
    assert calls(lambda x: x / 2, tensor_of([1, 2], "int32")) == ["div"]
    for divisor in (2, -0.25, 2.0**-126, 2.0**126, 2.0**127, 2.0**-149, 3):
        check_bits(lambda x, d=divisor: x / d, x)
    check_bits(lambda x: x / 1024, tensor_of(SPECIAL[:-1], "float16"))
    check_bits(lambda x: x / 2, tensor_of(SPECIAL, "bfloat16"))


def test_plus_zero_vanishes_only_where_the_sign_of_zero_is_known(x):
    assert calls(lambda x: x.abs() + 0.0, x) == ["abs"]
    assert calls(lambda x: x.exp() + 0, x) == ["exp"]
    assert calls(lambda x: x * x + 0, x) == ["mul"]
    assert calls(lambda x: x.abs() + x + 0.0, x) == ["abs", "add"]
    assert calls(lambda x: x.abs() - (-0.0), x) == ["abs"]
    assert calls(lambda x: (x + 0.0) + 0.0, x) == ["add"]
    assert calls(lambda x: x.ceil() + 0.0, x) == ["ceil", "add"]
    assert calls(lambda i: tp.bitwise_not(i) + 0, tensor_of([1, 2], "int32")) == ["bitwise_not"]
    for f in (lambda x: x.abs() + 0.0, lambda x: x.ceil() + 0.0, lambda x: (x + 0.0) + 0.0):
        check_bits(f, x)


def test_a_zero_with_a_factor_is_not_neutral(x):
    check_bits(lambda x: tp.sub(x, tp.zeros(10), alpha=-1), x)
    check_bits(lambda x: tp.add(x, -0.0, alpha=-1), x)
    assert calls(lambda x: tp.sub(x, tp.zeros(10), alpha=-1), x) == ["full", "sub"]


def test_the_dtype_of_a_neutral_number_counts():
    i = tensor_of([1, 2], "int32")
    check_bits(lambda i: i * 1.0, i)
    check_bits(lambda i: i + 0, i)
    check_bits(lambda i: i / 1, i)
    check_bits(lambda b: b + 0, tensor_of([True, False], "bool"))
    check_bits(lambda x: x * tp.ones(3, 1), tensor_of([1.0, 2.0]))
    check_bits(lambda x: x.t() * 1, tensor_of([[1.0, 2.0], [3.0, 4.0]]))
    check_bits(lambda x: x[:, ::2] * 1, tensor_of([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]))


def test_constants_fold_with_eager_bits(x):
    def f(x):
        third = tp.full((10,), 1.0) / 3
        return x * (third.exp() * 2 + tp.zeros(10)).reshape(2, 5).reshape(10)

    assert calls(f, x) == ["full", "mul"]
    check_bits(f, x)


@pytest.mark.parametrize("number", [nan, inf, -inf, -0.0, 1e-45])
def test_special_constants_fold(x, number):
    def f(x):
        c = tp.full((10,), number)
        return x + tp.maximum(c, tp.zeros(10)), x * (c * 0), x - c.abs()

    check_bits(f, x)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int64", "bool"]
)
def test_constants_fold_in_every_dtype(dtype):
    t = getattr(tp, dtype)

    def f(x):
        c = tp.full((3,), 1, dtype=t)
        return x + (c + c + c).to(tp.float32), (c * 200 + 100).to(t)

    check_bits(f, tensor_of([1.0, 2.0, 3.0]))


def test_values_that_depend_on_the_index_are_no_constants():
    assert calls(lambda x: x + tp.arange(3.0), tensor_of([1.0] * 3)) == ["iota", "add"]
    check_bits(lambda x: x + tp.tril(tp.ones(3, 3)), tensor_of([1.0] * 3))


def test_integer_division_by_a_constant_zero_is_left_to_run_time():
    i = tensor_of([1, 2], "int32")
    check_bits(lambda i: i + tp.full((2,), 3, dtype=tp.int32) // 0, i)


def test_equal_calls_merge(x):
    assert calls(lambda x: tp.sin(x) * tp.sin(x), x) == ["sin", "mul"]
    y = tensor_of([1.0])
    assert calls(lambda x, y: (x + y) * (y + x), x, y) == ["add", "mul"]
    assert calls(lambda x, y: (x - y) * (y - x), x, y) == ["sub", "sub", "mul"]
    assert calls(lambda x, y: tp.add(x, y, alpha=2) * tp.add(y, x, alpha=2), x, y) == [
        "add",
        "add",
        "mul",
    ]


@pytest.mark.parametrize(("a", "b"), [(1, 1.0), (0.0, -0.0), (True, 1)])
def test_numbers_that_are_equal_but_not_the_same_do_not_merge(x, a, b):
    check_bits(lambda x: (x * a, x * b), x)
    f = lambda x: tp.copysign(tp.ones(10), x * a) + tp.copysign(tp.ones(10), x * b)  # noqa: E731  # a formula in a line
    check_bits(f, x)


def test_returned_values_do_not_merge(x):
    assert calls(lambda x: (tp.sin(x), tp.sin(x)), x) == ["sin", "sin"]
    assert calls(lambda x: (tp.sin(x), tp.sin(x) * 2), x) == ["sin", "mul"]
    assert calls(lambda x: (x * 1, x + 1), x) == ["mul", "add"]


def test_random_calls_are_neither_merged_nor_dropped(x):
    def f(x):
        tp.rand(3)
        return x + tp.rand(10) + tp.rand(10)

    graph = recorded(f, x)
    transform(graph)
    states = [n for n in graph.nodes if n.op == "call_function" and n.name.startswith("rng_state")]
    assert len(states) == 3


def test_dead_code_is_dropped(x):
    def f(x):
        y = tp.exp(x)
        for _ in range(10):
            y = y + 1
        return tp.sin(x)

    graph = recorded(f, x)
    assert eliminate_dead_code(graph) == 11
    assert eliminate_dead_code(graph) == 0
    assert merge_equal_values(graph) == 0


def test_the_measure_falls(x):
    graph = recorded(lambda x: tp.sin(x * 1 / 2) + tp.sin(x / 2), x)
    before = measure(graph)
    transform(graph)
    assert measure(graph) < before
    after = measure(graph)
    transform(graph)
    assert measure(graph) == after


@pytest.mark.parametrize(
    "wide", ["bool", "uint8", "int8", "int16", "int64", "float16", "bfloat16", "float32", "float64"]
)
@pytest.mark.parametrize(
    "narrow", ["bool", "uint8", "int8", "int16", "float16", "bfloat16", "float32"]
)
def test_what_a_dtype_holds(wide, narrow):
    """Checked on all values of the narrow dtype (a sample of float32)."""
    if narrow == "float32":
        bits = np.random.default_rng(0).integers(0, 2**32, 4096, np.uint32)
        values = bits.view(np.float32)
        values = values[np.isfinite(values)]
    elif narrow == "bool":
        values = np.array([False, True])
    else:
        size = 8 if narrow in {"uint8", "int8"} else 16
        values = np.arange(2**size).astype(f"uint{size}").view(getattr(tp, narrow).numpy)
        with np.errstate(invalid="ignore"):
            values = values[np.isfinite(values.astype(np.float64))]
    if not holds_all_values(getattr(tp, wide), getattr(tp, narrow)):
        return
    x = tp.from_numpy(values)
    back = x.to(getattr(tp, wide)).to(getattr(tp, narrow))
    assert back.numpy().tobytes() == values.tobytes()


def test_what_a_dtype_does_not_hold():
    for wide, narrow in [
        ("float32", "int32"),
        ("bfloat16", "float16"),
        ("float16", "bfloat16"),
        ("int8", "uint8"),
        ("uint16", "int8"),
        ("float16", "int16"),
        ("float64", "int64"),
        ("bool", "uint8"),
    ]:
        assert not holds_all_values(getattr(tp, wide), getattr(tp, narrow))


def test_long_graphs_are_rewritten_in_linear_time():
    def f(x):
        for k in range(3000):
            x = tp.sin(x * 1) + (0.0 if k % 2 else -0.0)
        return x

    assert len(calls(f, tensor_of([1.0]))) == 3000 + 1500
