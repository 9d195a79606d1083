"""Propositions 6.2 (views), 6.3 (merging loops) and 6.4 (intervals) as properties."""

from __future__ import annotations

import itertools
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplay.compiler.backends.stax.handlers.counting import CountingHandler
from tensorplay.compiler.backends.stax.handlers.recording import RecordingHandler
from tensorplay.compiler.backends.stax.handlers.symbolic import BufferFacts
from tensorplay.compiler.backends.stax.index import Symbol, from_symbol, linear_index, variable
from tensorplay.compiler.backends.stax.intervals import Interval
from tensorplay.compiler.backends.stax.ir import loop_variables
from tensorplay.compiler.backends.stax.loop_body import Load, LoopBody, Store
from tensorplay.compiler.backends.stax.loop_nodes import (
    SymbolSource,
    can_merge,
    make_node,
    merge_runs,
    unmerge,
)
from tensorplay.compiler.backends.stax.lowered import BufferDraft, Stored, strided_view
from tensorplay.core import dtypes
from tensorplay.core.device import CPU
from tensorplay.core.layout import contiguous_strides
from tensorplay.ops.values import NO_ATTRS, TABLE

# ---- Proposition 6.2 -----------------------------------------------------------------------------


def draw_view(rng, size):
    """A random affine view of a shape: its shape, and its index map on plain arithmetic."""
    kind = rng.choice(["permute", "slice", "expand", "unsqueeze", "squeeze", "flip", "select"])
    if not size or kind == "unsqueeze":
        place = rng.randint(0, len(size))
        shape = (*size[:place], 1, *size[place:])
        return shape, lambda i: [*i[:place], *i[place + 1 :]]
    d = rng.randrange(len(size))
    if kind == "permute":
        order = list(range(len(size)))
        rng.shuffle(order)
        return tuple(size[o] for o in order), lambda i: [
            i[order.index(k)] for k in range(len(size))
        ]
    if kind == "slice":
        start, step = rng.randrange(size[d]), rng.randint(1, 3)
        count = len(range(start, size[d], step))
        return (*size[:d], count, *size[d + 1 :]), lambda i: [
            e * step + start if k == d else e for k, e in enumerate(i)
        ]
    if kind == "flip":
        return size, lambda i: [size[d] - 1 - e if k == d else e for k, e in enumerate(i)]
    if kind == "select":
        place = rng.randrange(size[d])
        return (*size[:d], *size[d + 1 :]), lambda i: [*i[:d], place, *i[d:]]
    if kind == "squeeze" and size[d] == 1:
        return (*size[:d], *size[d + 1 :]), lambda i: [*i[:d], 0, *i[d:]]
    if size[d] == 1:  # expand
        return (*size[:d], 4, *size[d + 1 :]), lambda i: [
            0 if k == d else e for k, e in enumerate(i)
        ]
    return size, list


@settings(max_examples=150)
@given(st.integers(0, 10**6))
def test_proposition_6_2_views_compose_to_strides_and_an_offset(seed):
    rng = random.Random(seed)
    size = tuple(rng.choice([1, 2, 3, 5]) for _ in range(rng.randint(0, 3)))
    data = np.arange(int(np.prod(size)), dtype=np.int64)
    draft = BufferDraft("x", CPU, dtypes.int64, size, contiguous_strides(size))
    view, expected = Stored(draft), data.reshape(size)
    for _ in range(rng.randint(1, 4)):
        shape, source = draw_view(rng, size)
        found = strided_view(view, shape, source)
        assert found is not None
        expected = np.array(
            [expected[tuple(source(i))] for i in itertools.product(*map(range, shape))],
            dtype=np.int64,
        ).reshape(shape)
        view, size = found, shape
        layout = np.lib.stride_tricks.as_strided(
            data[view.offset :], size, [s * 8 for s in view.strides]
        )
        np.testing.assert_array_equal(layout, expected)


def test_a_reshape_is_affine_only_where_dimensions_are_contiguous():
    """Section 6.4: merging needs t_j = s_{j+1} t_{j+1}; else division and remainder stay."""
    plain = Stored(BufferDraft("x", CPU, dtypes.float32, (4, 6), (6, 1)))
    turned = Stored(BufferDraft("y", CPU, dtypes.float32, (4, 6), (1, 4)))

    def flatten(i):
        return [i[0] // 6, i[0] % 6]

    assert strided_view(plain, (24,), flatten).strides == (1,)
    assert strided_view(turned, (24,), flatten) is None
    assert (
        str(turned.address(tuple(flatten(loop_variables("i", (24,)))))) == "4*(i0 % 6) + (i0 // 6)"
    )


# ---- Proposition 6.3 -----------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.integers(0, 10**6))
def test_proposition_6_3_merged_loops_reach_the_same_addresses(seed):
    rng = random.Random(seed)
    extents = [rng.choice([2, 3, 4, 6]) for _ in range(rng.randint(2, 4))]
    loops = [Symbol(f"i{k}", 0, n - 1) for k, n in enumerate(extents)]
    exprs = []
    for _ in range(rng.randint(1, 3)):
        strides, step = [], rng.choice([1, 1, 2, 5])
        for n in reversed(extents):
            strides.append(step)
            step = step * n if rng.random() < 0.75 else step * n + rng.choice([1, 4])
        exprs.append(linear_index(map(from_symbol, loops), reversed(strides), rng.randint(0, 9)))
    for run in merge_runs(loops, exprs, None):
        if len(run) == 1:
            continue
        for outer, inner in itertools.pairwise(run):
            assert can_merge(outer, inner, exprs)
        total = int(np.prod([s.extent for s in run]))
        merged = Symbol("m", 0, total - 1)
        values = unmerge(run, from_symbol(merged))
        for e in exprs:
            new = e.substitute(values)
            assert new.is_affine
            rest = dict.fromkeys(loops, 0)
            old = [
                e.evaluate({**rest, **dict(zip(run, point, strict=True))})
                for point in itertools.product(*(range(s.extent) for s in run))
            ]
            assert old == [new.evaluate({**rest, merged: m}) for m in range(total)]


def body(stored, *loaded, loops):
    instructions = [Load("x", e, dtypes.float32) for e in loaded]
    instructions.append(Store("y", stored, 0))
    return LoopBody(tuple(s.as_symbol() for s in loops), (), tuple(instructions))


def test_contiguous_loops_become_one():
    i, j = variable("i0", 64), variable("i1", 128)
    e = 128 * i + j
    node = make_node("y", 0, "cpu", body(e, e, loops=(i, j)), (), SymbolSource())
    assert [s.extent for s in node.kept] == [8192]
    assert str(node.writes["y"].index) == "d0"


def test_loops_follow_the_strides_of_the_writes():
    i, j = variable("i0", 4), variable("i1", 8)
    node = make_node("y", 0, "cpu", body(i + 4 * j, 8 * i + j, loops=(i, j)), (), SymbolSource())
    assert [s.extent for s in node.kept] == [8, 4]
    node = make_node("y", 0, "cpu", body(i + 4 * j, i + 4 * j, loops=(i, j)), (), SymbolSource())
    assert [s.extent for s in node.kept] == [32]


def test_a_row_that_is_broadcast_keeps_its_loop():
    i, j = variable("i0", 4), variable("i1", 8)
    node = make_node("y", 0, "cpu", body(8 * i + j, j, loops=(i, j)), (), SymbolSource())
    assert [s.extent for s in node.kept] == [4, 8]


# ---- Proposition 6.4 -----------------------------------------------------------------------------

INTEGER_OPERATIONS = [
    "add", "sub", "mul", "floordiv", "remainder", "maximum", "minimum", "neg", "abs", "where",
]  # fmt: skip


@settings(max_examples=300)
@given(st.integers(0, 10**6), st.sampled_from(["int64", "int32", "int8", "uint8"]))
def test_proposition_6_4_intervals_hold_whatever_the_values_are(seed, name):
    """Random integer programs: symbolic folding and intervals against what NumPy computes."""
    rng = random.Random(seed)
    dtype = dtypes.dtype_named(name)
    handler = RecordingHandler({"x": BufferFacts(dtype, Interval(0, 10))})
    symbols = [Symbol("i0", 0, 6), Symbol("i1", 0, 3)]
    points = [dict(zip(symbols, p, strict=True)) for p in itertools.product(range(7), range(4))]
    memory = np.array([rng.choice([0, 1, -1, 5, 100, 127, -128, 3]) for _ in points])
    memory = memory.astype(dtype.numpy)
    values = [(handler.load("x", 0), memory)]
    for s in symbols:
        column = np.array([p[s] for p in points]).astype(dtype.numpy)
        values.append((handler.index_expr(from_symbol(s), dtype), column))
    with np.errstate(all="ignore"):
        for _ in range(8):
            op = rng.choice(INTEGER_OPERATIONS)
            picked = [rng.choice(values) for _ in range(TABLE[op].arity)]
            if op == "where":
                flag = handler.apply(TABLE["lt"], [picked[0][0], picked[1][0]], NO_ATTRS)
                picked[0] = (flag, picked[0][1] < picked[1][1])
            elif rng.random() < 0.4 and len(picked) == 2:
                number = rng.choice([1, 2, 3, 7, -2])
                number = number if dtype.kind == "i" else abs(number)
                picked[1] = (handler.constant(number, dtype), np.array(number, dtype.numpy))
            result = handler.apply(TABLE[op], [p[0] for p in picked], NO_ATTRS)
            array = np.asarray(TABLE[op].array(*(p[1] for p in picked)))
            array = np.broadcast_to(array, len(points))
            interval = handler.interval(result)
            assert interval.lower <= array.min()
            assert array.max() <= interval.upper
            if not isinstance(result.data, (int, bool)):
                found = [result.data.evaluate(p) for p in points]
                np.testing.assert_array_equal(np.array(found).astype(dtype.numpy), array)
                assert (np.array(found) == array).all()
            values.append((result, array))


def test_an_index_whose_range_is_proved_needs_no_check():
    facts = {
        "small": BufferFacts(dtypes.uint8, Interval(0, 9)),
        "x": BufferFacts(dtypes.float32, Interval(0, 255)),
    }
    handler = RecordingHandler(facts)
    place = handler.indirect(handler.load("small", 0), 256, "test")
    handler.load("x", place)
    assert handler.checks == []
    handler.indirect(handler.load("small", 0), 255, "test")
    assert handler.checks == ["test: an index is out of range for a dimension of 255 elements"]


def test_a_negative_index_that_is_known_is_shifted():
    handler = CountingHandler({})
    minus_one = handler.constant(-1, dtypes.int64)
    assert handler.indirect(minus_one, 10, "test") == 9
    assert handler.operations == 0


def test_wrapping_arithmetic_does_not_stay_symbolic():
    handler = RecordingHandler({})
    i = handler.index_expr(variable("i0", 100), dtypes.int8)
    doubled = i * 2
    assert isinstance(doubled.data, int)  # emitted: 198 doesn't fit int8
    assert handler.interval(doubled) == Interval(-128, 127)
