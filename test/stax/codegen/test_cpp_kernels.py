"""Whole kernels by hand: loops, vectors and their rest, accumulators, row-local values, indirect access."""

import dataclasses

import numpy as np
import pytest
from stax.codegen.kernels import (
    TARGETS,
    Inner,
    Outer,
    Role,
    buffers_of,
    build,
    check,
    pointwise,
    run_kernel,
    symbol,
    var,
)

from tensorplay.compiler.backends.stax.loop_body import (
    CheckBounds,
    Compute,
    Constant,
    IndexExpr,
    Load,
    LoadLocal,
    Reduce,
    Scan,
    Store,
    StoreLocal,
    indirect_symbol,
)
from tensorplay.compiler.backends.stax.schedule import Group, Local, Segment
from tensorplay.core import dtypes
from tensorplay.ops import instructions  # fills the table

del instructions
f32, f64, i64, i32, u8, b8 = (
    dtypes.float32,
    dtypes.float64,
    dtypes.int64,
    dtypes.int32,
    dtypes.uint8,
    dtypes.bool_,
)
pytestmark = pytest.mark.timeout(600)  # every test builds dozens of kernels
SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 200, 1000]


def normal(rng, *shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def group(name, outer, segments, reads, writes, locals=(), **rest):
    return Group(
        name,
        "cpu",
        tuple(outer),
        tuple(locals),
        tuple(segments),
        tuple(reads),
        tuple(writes),
        **rest,
    )


# ---- pointwise -----------------------------------------------------------------------------------


def test_pointwise_of_every_size():
    rng = np.random.default_rng(0)
    work = []
    for n in SIZES:
        arrays = {
            "a": normal(rng, n),
            "b": normal(rng, n, dtype=np.float64),
            "out": np.zeros(n, np.float32),
            "mask": np.zeros(n, bool),
        }

        def body(x0):
            i = var(x0)
            return [
                Load("a", i, f32),
                Load("b", i, f64),
                Compute("to_dtype", (1,), f32),
                Compute("lt", (0, 2), b8),
                Constant(2.5, f32),
                Compute("mul", (0, 4), f32),
                Compute("where", (3, 5, 2), f32),
                Store("out", i, 6),
                Store("mask", i, 3),
            ]

        work.append((pointwise(f"whole_{n}", body, ["a", "b"], ["out", "mask"], n), arrays))
        if n > 8:
            work.append((pointwise(f"tiles_{n}", body, ["a", "b"], ["out", "mask"], n, 7), arrays))
            work.append(
                (pointwise(f"wide_tiles_{n}", body, ["a", "b"], ["out", "mask"], n, 48), arrays)
            )
    check(work, pieces=2)


def test_rows_of_several_loops_broadcast_and_constants():
    rng = np.random.default_rng(0)
    a, b, c = 3, 5, 37
    x, y, z = symbol("x0", a), symbol("x1", b), symbol("x2", c)
    arrays = {
        "m": normal(rng, a, b, c),
        "row": normal(rng, c),
        "column": normal(rng, b, 1),
        "out": np.zeros((a, b, c), np.float32),
    }
    i = var(x) * (b * c) + var(y) * c + var(z)
    body = (
        Load("m", i, f32),
        Load("row", var(z), f32),
        Load("column", var(y), f32),
        Compute("add", (0, 1), f32),
        Compute("mul", (3, 2), f32),
        IndexExpr(var(z) * 3 + var(y), f32),
        Compute("sub", (4, 5), f32),
        Store("out", i, 6),
    )
    whole = group(
        "three",
        [Outer(x, a), Outer(y, b)],
        [Segment((Inner(z, c),), body, (), z)],
        ["m", "row", "column"],
        ["out"],
    )
    inner = group(
        "nested",
        [Outer(x, a)],
        [Segment((Inner(y, b), Inner(z, c)), body, (), z)],
        ["m", "row", "column"],
        ["out"],
    )
    once = group(
        "once",
        [],
        [Segment((Inner(x, a), Inner(y, b), Inner(z, c)), body, (), z)],
        ["m", "row", "column"],
        ["out"],
    )
    scalar = group(
        "scalar",
        [Outer(x, a)],
        [Segment((Inner(y, b), Inner(z, c)), body)],
        ["m", "row", "column"],
        ["out"],
    )
    across = group(
        "across",
        [Outer(x, a)],
        [Segment((Inner(z, c), Inner(y, b)), body, (), y)],
        ["m", "row", "column"],
        ["out"],
    )
    check([(g, arrays) for g in (whole, inner, once, scalar, across)])


def test_transposed_tiles():
    """Example 6.1: x.t() + y, tiles on both axes, sizes that tiles don't divide."""
    rng = np.random.default_rng(0)
    work = []
    for n, m in ((64, 96), (37, 70)):
        x0, x1 = symbol("x0", n), symbol("x1", m)
        arrays = {
            "x": normal(rng, m, n),
            "y": normal(rng, n, m),
            "out": np.zeros((n, m), np.float32),
        }
        body = (
            Load("x", var(x0) + var(x1) * n, f32),
            Load("y", var(x0) * m + var(x1), f32),
            Compute("add", (0, 1), f32),
            Store("out", var(x0) * m + var(x1), 2),
        )
        loops = (Inner(x0, n), Inner(x1, m))
        work.append(
            (
                group(
                    f"transposed_{n}",
                    [Outer(x0, n, 32), Outer(x1, m, 32)],
                    [Segment(loops, body, (), x1)],
                    ["x", "y"],
                    ["out"],
                ),
                arrays,
            )
        )
    check(work, pieces=3)


def test_division_in_addresses():
    """Listing 6.6: out[i] = x[(3*i) % 128] * 2, and a reshape that is not affine."""
    rng = np.random.default_rng(0)
    n = 128
    arrays = {"x": normal(rng, n), "out": np.zeros(n, np.float32)}

    def body(x0):
        return [
            Load("x", (var(x0) * 3) % 128, f32),
            Constant(2.0, f32),
            Compute("mul", (0, 1), f32),
            IndexExpr(var(x0) // 7 - 20, f32),
            Compute("add", (2, 3), f32),
            IndexExpr((var(x0) - 50) // 3, i64),
            Compute("to_dtype", (5,), f32),
            Compute("add", (4, 6), f32),
            Store("out", var(x0), 7),
        ]

    check([(pointwise("modular", body, ["x"], ["out"], n, 50), arrays)])


# ---- reductions ----------------------------------------------------------------------------------

KINDS = {"sum": 1e-5, "prod": 1e-4, "max": 0, "min": 0}


def test_row_reductions_of_every_length():
    rng = np.random.default_rng(0)
    work, close = [], {}
    for n in SIZES:
        rows = 3
        x0, r = symbol("x0", rows), symbol("r0_0", n)
        arrays = {"x": (1 + normal(rng, rows, n) / 64).astype(np.float32)}
        body = [Load("x", var(x0) * n + var(r), f32)]
        after = []
        for kind, tolerance in KINDS.items():
            arrays[kind] = np.zeros(rows, np.float32)
            close[kind] = tolerance
            body.append(Reduce(kind, (0,), f32))
        for k, kind in enumerate(KINDS):
            after.append(Store(kind, var(x0), k + 1))
        role = Role.REDUCED
        work.append(
            (
                group(
                    f"row_{n}",
                    [Outer(x0, rows)],
                    [Segment((Inner(r, n, role),), tuple(body), tuple(after), r)],
                    ["x"],
                    list(KINDS),
                ),
                arrays,
            )
        )
        work.append(
            (
                group(
                    f"scalar_row_{n}",
                    [Outer(x0, rows)],
                    [Segment((Inner(r, n, role),), tuple(body), tuple(after))],
                    ["x"],
                    list(KINDS),
                ),
                arrays,
            )
        )
    check(work, close=close)


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL_DTYPES if d.kind in "iub"], ids=str)
def test_integer_reductions(dtype):
    rng = np.random.default_rng(0)
    rows, n = 2, 203
    x0, r = symbol("x0", rows), symbol("r0_0", n)
    kinds = ["any", "all"] if dtype.kind == "b" else ["sum", "prod", "max", "min", "xor_sum"]
    low, high = (0, 2) if dtype.kind == "b" else (-3 if dtype.kind == "i" else 0, 100)
    x = rng.integers(low, high, (rows, n)).astype(dtype.numpy)
    if dtype.kind == "b":
        x[0] = True
        x[1] = False
    arrays = {"x": x, **{k: np.zeros(rows, dtype.numpy) for k in kinds}}
    loops = (Inner(r, n, Role.REDUCED),)
    body = (Load("x", var(x0) * n + var(r), dtype), *(Reduce(k, (0,), dtype) for k in kinds))
    after = tuple(Store(k, var(x0), j + 1) for j, k in enumerate(kinds))
    whole = group("integers", [Outer(x0, rows)], [Segment(loops, body, after, r)], ["x"], kinds)
    # Every row a lane: the vector loop is kept and lies inside the reduced one.
    columns = group(
        "integer_columns",
        [],
        [Segment((Inner(r, n, Role.REDUCED), Inner(x0, rows)), body, after, x0)],
        ["x"],
        kinds,
    )
    check([(whole, arrays), (columns, arrays)])


def test_column_reductions():
    rng = np.random.default_rng(0)
    work, close = [], {"total": 1e-5, "top": 0}
    for n, m, step in ((50, 70, 32), (9, 64, 64), (40, 5, 5), (33, 200, 100)):
        x0, r = symbol("x0", m), symbol("r0_0", n)
        arrays = {
            "x": normal(rng, n, m) + 3,
            "total": np.zeros(m, np.float32),
            "top": np.zeros(m, np.float32),
        }
        body = (
            Load("x", var(r) * m + var(x0), f32),
            Constant(2.0, f32),
            Compute("mul", (0, 1), f32),
            Reduce("sum", (2,), f32),
            Reduce("max", (0,), f32),
        )
        after = (Compute("add", (3, 4), f32), Store("total", var(x0), 5), Store("top", var(x0), 4))
        for order, name in (((r, x0), "across"), ((x0, r), "lanes")):
            loops = tuple(Inner(s, s.extent, Role.REDUCED if s is r else Role.KEPT) for s in order)
            work.append(
                (
                    group(
                        f"columns_{name}_{m}",
                        [Outer(x0, m, step)],
                        [Segment(loops, body, after, x0)],
                        ["x"],
                        ["total", "top"],
                    ),
                    arrays,
                )
            )
    check(work, close=close, pieces=2)


def test_reduction_over_two_loops_keeps_one():
    """Mean over batch and row for each channel: a kept loop between, values of the body read afterwards."""
    rng = np.random.default_rng(0)
    a, b, c = 4, 6, 21
    n, ch, r = symbol("r0_0", a), symbol("x0", b), symbol("r0_1", c)
    arrays = {"x": normal(rng, a, b, c) + 4, "w": normal(rng, b), "out": np.zeros(b, np.float32)}
    body = (
        Load("x", var(n) * (b * c) + var(ch) * c + var(r), f32),
        Load("w", var(ch), f32),
        Compute("mul", (0, 1), f32),
        Reduce("sum", (2,), f32),
    )
    after = (Compute("sub", (3, 1), f32), Store("out", var(ch), 4))
    red = Role.REDUCED
    by_channel = group(
        "channel",
        [Outer(ch, b)],
        [Segment((Inner(n, a, red), Inner(r, c, red)), body, after, r)],
        ["x", "w"],
        ["out"],
    )
    between = group(
        "between",
        [],
        [Segment((Inner(n, a, red), Inner(ch, b), Inner(r, c, red)), body, after, r)],
        ["x", "w"],
        ["out"],
    )
    inside = group(
        "inside",
        [],
        [Segment((Inner(ch, b), Inner(n, a, red), Inner(r, c, red)), body, after, r)],
        ["x", "w"],
        ["out"],
    )
    want = (arrays["x"] * arrays["w"][:, None]).sum((0, 2), dtype=np.float64) - arrays["w"]
    for target in TARGETS:
        groups = (by_channel, between, inside)
        kernels = build(groups, {g.name: buffers_of(arrays) for g in groups}, target)
        for g in groups:
            got, _ = run_kernel(kernels[g.name], g, arrays)
            np.testing.assert_allclose(got["out"], want, rtol=1e-5)


@pytest.mark.parametrize("dtype", [f32, f64, i32, dtypes.int8], ids=str)
def test_argmax_and_argmin(dtype):
    """NaN wins, the first of several; then the first extreme; also where all are the identity."""
    rng = np.random.default_rng(0)
    work = []
    for n in (1, 2, 5, 16, 33, 64, 100, 257):
        rows = 8
        x = rng.integers(-5, 5, (rows, n)).astype(dtype.numpy)
        if dtype.kind == "f":
            x[1, n // 2] = np.nan
            x[2, [n - 1, n // 3]] = np.nan
            x[3] = -np.inf
            x[4] = np.inf
            x[5] = np.nan
        else:
            x[3] = dtypes.iinfo(dtype).min
            x[4] = dtypes.iinfo(dtype).max
        x0, r = symbol("x0", rows), symbol("r0_0", n)
        arrays = {"x": x, "top": np.zeros(rows, np.int64), "bottom": np.zeros(rows, np.int64)}
        at = var(x0) * n + var(r)
        body = (
            Load("x", at, dtype),
            IndexExpr(var(r), i64),
            Reduce("argmax", (0, 1), i64),
            Reduce("argmin", (0, 1), i64),
        )
        after = (Store("top", var(x0), 2), Store("bottom", var(x0), 3))
        red = Role.REDUCED
        work.append(
            (
                group(
                    f"row_{n}",
                    [Outer(x0, rows)],
                    [Segment((Inner(r, n, red),), body, after, r)],
                    ["x"],
                    ["top", "bottom"],
                ),
                arrays,
            )
        )
        work.append(
            (
                group(
                    f"scalar_{n}",
                    [Outer(x0, rows)],
                    [Segment((Inner(r, n, red),), body, after)],
                    ["x"],
                    ["top", "bottom"],
                ),
                arrays,
            )
        )
        work.append(
            (
                group(
                    f"lanes_{n}",
                    [],
                    [Segment((Inner(x0, rows), Inner(r, n, red)), body, after, x0)],
                    ["x"],
                    ["top", "bottom"],
                ),
                arrays,
            )
        )
        work.append(
            (
                group(
                    f"across_{n}",
                    [],
                    [Segment((Inner(r, n, red), Inner(x0, rows)), body, after, x0)],
                    ["x"],
                    ["top", "bottom"],
                ),
                arrays,
            )
        )
    check(work)


def test_nan_wins_in_max_and_min():
    rows, n = 4, 37
    x = np.ones((rows, n), np.float32)
    x[0, 36] = np.nan
    x[1, 0] = np.nan
    x[2, 20] = np.nan
    arrays = {"x": x, "max": np.zeros(rows, np.float32), "min": np.zeros(rows, np.float32)}
    x0, r = symbol("x0", rows), symbol("r0_0", n)
    body = (
        Load("x", var(x0) * n + var(r), f32),
        Reduce("max", (0,), f32),
        Reduce("min", (0,), f32),
    )
    after = (Store("max", var(x0), 1), Store("min", var(x0), 2))
    g = group(
        "nan",
        [Outer(x0, rows)],
        [Segment((Inner(r, n, Role.REDUCED),), body, after, r)],
        ["x"],
        ["max", "min"],
    )
    check([(g, arrays)])


# ---- rows ----------------------------------------------------------------------------------------


def softmax(n, dtype=f32):
    rows = 5
    x0, r = symbol("x0", rows), symbol("r0_0", n)
    at = var(x0) * n + var(r)
    red = Role.REDUCED
    segments = (
        Segment(
            (Inner(r, n, red),),
            (Load("x", at, dtype), Compute("to_dtype", (0,), f32), Reduce("max", (1,), f32)),
            (StoreLocal("m", 2),),
            r,
        ),
        Segment(
            (Inner(r, n, red),),
            (
                Load("x", at, dtype),
                Compute("to_dtype", (0,), f32),
                LoadLocal("m", f32),
                Compute("sub", (1, 2), f32),
                Compute("exp", (3,), f32),
                StoreLocal("e", 4),
                Reduce("sum", (4,), f32),
            ),
            (StoreLocal("s", 6),),
            r,
        ),
        Segment(
            (Inner(r, n),),
            (
                LoadLocal("e", f32),
                LoadLocal("s", f32),
                Compute("truediv", (0, 1), f32),
                Compute("to_dtype", (2,), dtype),
                Store("out", at, 3),
            ),
            (),
            r,
        ),
    )
    locals_ = (Local("m", f32), Local("e", f32, (r,)), Local("s", f32))
    return group(f"softmax_{n}_{dtype.name}", [Outer(x0, rows)], segments, ["x"], ["out"], locals_)


def test_softmax_rows():
    rng = np.random.default_rng(0)
    sizes = (1, 3, 16, 50, 128, 1000, 20_000)  # the last row is too long for the stack
    work = [
        (softmax(n), {"x": normal(rng, 5, n), "out": np.zeros((5, n), np.float32)}) for n in sizes
    ]
    check(work, close={"out": 1e-6}, pieces=2)


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16], ids=str)
def test_half_rows(dtype):
    rng = np.random.default_rng(0)
    work = []
    for n in (1, 3, 16, 50):
        x = normal(rng, 5, n).astype(dtype.numpy)
        work.append((softmax(n, dtype), {"x": x, "out": np.zeros((5, n), dtype.numpy)}))
    check(work, close={"out": 1e-2})


def test_rows_written_past_the_cache():
    """A machine with hardly any cache: rows that begin at any place, in vectors and what is left."""
    rng = np.random.default_rng(0)
    work = []
    for n in (1, 7, 16, 24, 45, 64, 131, 1001):
        work.append((softmax(n), {"x": normal(rng, 5, n), "out": np.zeros((5, n), np.float32)}))

        def body(x0):
            return [Load("a", var(x0), f32), Compute("neg", (0,), f32), Store("out", var(x0), 1)]

        arrays = {"a": normal(rng, n), "out": np.zeros(n, np.float32)}
        work.append((pointwise(f"negated_{n}", body, ["a"], ["out"], n, 60), arrays))
    targets = [dataclasses.replace(t, l3_bytes=0) for t in TARGETS]
    check(work, close={"out": 1e-6}, pieces=2, targets=targets)


def test_local_over_two_axes_of_a_tile():
    rng = np.random.default_rng(0)
    n, m = 19, 45
    x0, r = symbol("x0", n), symbol("r0_0", m)
    at = var(x0) * m + var(r)
    arrays = {"x": normal(rng, n, m), "out": np.zeros((n, m), np.float32)}
    loops = (Inner(x0, n), Inner(r, m))
    for vector, turned in ((r, False), (x0, True)):
        order = (loops[1], loops[0]) if turned else loops
        axes = (r, x0) if turned else (x0, r)
        segments = (
            Segment(
                order,
                (Load("x", at, f32), Compute("exp", (0,), f32), StoreLocal("e", 1)),
                (),
                vector,
            ),
            Segment(
                order,
                (LoadLocal("e", f32), Compute("neg", (0,), f32), Store("out", at, 1)),
                (),
                vector,
            ),
        )
        g = group(
            f"tile_{turned}", [Outer(x0, n, 8)], segments, ["x"], ["out"], (Local("e", f32, axes),)
        )
        check([(g, arrays)])


# ---- indirect access -----------------------------------------------------------------------------


def gather(n, table, check_number=0):
    """Listing 6.5: out[i] = x[idx[i]] * 2 with negative indices counted from the end."""
    j = indirect_symbol(0, table)

    def body(x0):
        return [
            Load("idx", var(x0), i64),
            Constant(table, i64),
            Compute("add", (0, 1), i64),
            Constant(0, i64),
            Compute("lt", (0, 3), b8),
            Compute("where", (4, 2, 0), i64),
            CheckBounds(5, table, check_number),
            Load("x", var(j), f32, (5,)),
            Constant(2.0, f32),
            Compute("mul", (7, 8), f32),
            Store("out", var(x0), 9),
        ]

    return pointwise(
        f"gather_{n}",
        body,
        ["idx", "x"],
        ["out"],
        n,
        min(n, 40),
        checks=("first", "second"),
    )


def test_gather_and_its_check():
    rng = np.random.default_rng(0)
    table = 10
    work = []
    for n in (1, 5, 16, 37, 100):
        arrays = {
            "idx": rng.integers(-table, table, n),
            "x": normal(rng, table),
            "out": np.zeros(n, np.float32),
        }
        work.append((gather(n, table), arrays))
    check(work)
    for target in TARGETS:
        for n in (1, 5, 37, 100):
            g = gather(n, table, check_number=1)
            for bad in (table, -table - 1):
                arrays = {
                    "idx": rng.integers(-table, table, n),
                    "x": normal(rng, table),
                    "out": np.zeros(n, np.float32),
                }
                arrays["idx"][n - 1] = bad
                kernel = build([g], {g.name: buffers_of(arrays)}, target)[g.name]
                assert run_kernel(kernel, g, arrays)[1] == 2


def test_embedding_rows():
    """The index is one number for the whole vector: rows of the table are read as they lie."""
    rng = np.random.default_rng(0)
    n, table, width = 6, 9, 37
    x0, x1, j = symbol("x0", n), symbol("x1", width), indirect_symbol(0, table)
    arrays = {
        "idx": rng.integers(0, table, n),
        "w": normal(rng, table, width),
        "out": np.zeros((n, width), np.float32),
    }
    body = (
        Load("idx", var(x0), i64),
        CheckBounds(0, table, 0),
        Load("w", var(j) * width + var(x1), f32, (0,)),
        Store("out", var(x0) * width + var(x1), 2),
    )
    g = group(
        "embedding",
        [Outer(x0, n)],
        [Segment((Inner(x1, width),), body, (), x1)],
        ["idx", "w"],
        ["out"],
        checks=("bad",),
    )
    check([(g, arrays)])


def test_masked_loads():
    """A concatenation: below 20 from one array, else from the other; nothing is read past either."""
    rng = np.random.default_rng(0)
    n, cut = 50, 20
    arrays = {"a": normal(rng, cut), "b": normal(rng, n - cut), "out": np.zeros(n, np.float32)}

    def body(x0):
        return [
            IndexExpr(var(x0), i64),
            Constant(cut, i64),
            Compute("lt", (0, 1), b8),
            Load("a", var(x0), f32, (), 2),
            Compute("logical_not", (2,), b8),
            Load("b", var(x0) - cut, f32, (), 4),
            Compute("where", (2, 3, 5), f32),
            Store("out", var(x0), 6),
        ]

    check(
        [
            (pointwise(f"cat_{step}", body, ["a", "b"], ["out"], n, step), arrays)
            for step in (7, 16, 50)
        ]
    )


@pytest.mark.parametrize("mode", ["add", "overwrite", "prod", "max", "min"])
@pytest.mark.parametrize("dtype", [f32, i32], ids=str)
def test_scatter(mode, dtype):
    rng = np.random.default_rng(0)
    n, table, width = 40, 6, 5
    source = rng.integers(-3, 4, (n, width)).astype(dtype.numpy)
    start = rng.integers(-3, 4, (table, width)).astype(dtype.numpy)
    arrays = {"idx": rng.integers(0, table, n), "src": source, "out": start}
    x0, x1, j = symbol("x0", n), symbol("x1", width), indirect_symbol(0, table)
    body = (
        Load("idx", var(x0), i64),
        Load("src", var(x0) * width + var(x1), dtype),
        Store("out", var(j) * width + var(x1), 1, mode, (0,)),
    )
    rest = {"updates": ("out",), "parallel": False}
    loops = (Inner(x0, n), Inner(x1, width))
    g1 = group("rows", [], [Segment(loops, body, (), x1)], ["idx", "src"], [], **rest)
    g2 = group(
        "serial", [Outer(x0, n)], [Segment((Inner(x1, width),), body)], ["idx", "src"], [], **rest
    )
    check([(g1, arrays), (g2, arrays)])


# ---- scans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sum", "prod", "max"])
@pytest.mark.parametrize("dtype", [f64, i64], ids=str)
def test_scans(kind, dtype):
    rng = np.random.default_rng(0)
    rows, n = 21, 35
    x = rng.integers(-2, 3, (rows, n)).astype(dtype.numpy)
    arrays = {"x": x, "out": np.zeros((rows, n), dtype.numpy)}
    x0, r = symbol("x0", rows), symbol("r0_0", n)
    at = var(x0) * n + var(r)
    body = (
        Load("x", at, dtype),
        Scan(kind, 0, dtype),
        Compute("neg", (1,), dtype),
        Store("out", at, 2),
    )
    scanned = Role.SCANNED
    along = group(
        "along", [Outer(x0, rows)], [Segment((Inner(r, n, scanned),), body, (), r)], ["x"], ["out"]
    )
    lanes = group(
        "lanes",
        [],
        [Segment((Inner(x0, rows), Inner(r, n, scanned)), body, (), x0)],
        ["x"],
        ["out"],
    )
    across = group(
        "across",
        [],
        [Segment((Inner(r, n, scanned), Inner(x0, rows)), body, (), x0)],
        ["x"],
        ["out"],
    )
    check([(along, arrays), (lanes, arrays), (across, arrays)])
